package idem

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// What a guard holds is nobody else's: not the bytes of an answer, not the identity
// of a claim. And what the application's own functions do, a codec's among them,
// leaves nothing of the guard's behind.

// asIs keeps answers as they are, in the very bytes.
type asIs struct{}

func (asIs) Encode(v []byte) (Payload, error) { return Payload{Bytes: v}, nil }
func (asIs) Decode(p Payload) ([]byte, error) { return p.Bytes, nil }

// Given an outcome that this process holds, as the store does not take it, when
// everybody who gets the answer writes into its bytes, then each next one gets it
// as it was, and so does the store. The same where many share one look at what
// another process has done.
func TestI4_AnAnswerIsItsCallersToChange(t *testing.T) {
	for name, seal := range map[string]bool{"clear": false, "sealed": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				with := func(c *Config) {
					c.Policies[0].OnDuplicate, c.Policies[0].Wait = Wait, 20*time.Second
					if seal {
						c.Sealer = sealerOf(t, 1)
					}
				}
				here, there := guardOn(t, s, with), guardOn(t, s, with)
				ask := func(g *Guard, want Verdict, takes time.Duration) {
					got, v, err := Do(context.Background(), g, testIntent("k"), asIs{}, func(context.Context) ([]byte, error) {
						pass(takes)
						return []byte("the answer"), nil
					})
					if v != want || err != nil || string(got) != "the answer" {
						t.Errorf("%v, %v: %q", v, err, got)
					}
					clear(got)
				}
				s.script(only("settle", fault{refuse: true}))
				for _, want := range []Verdict{Executed, Replayed, Replayed, Replayed} {
					ask(here, want, 0)
				}
				s.script(nil)
				pass(time.Minute) // the janitor has written it
				ask(there, Replayed, 0)

				s = newShelf()
				here, there = guardOn(t, s, with), guardOn(t, s, with)
				var waiters sync.WaitGroup
				waiters.Go(func() { ask(here, Executed, time.Second) })
				pass(100 * time.Millisecond)
				for range 20 {
					waiters.Go(func() { ask(there, Replayed, 0) })
					waiters.Go(func() { ask(here, Replayed, 0) })
				}
				waiters.Wait()
			})
		})
	}
}

// Given an authorizer that keeps the intents it was asked about, when the claims
// they were asked for are over and used again, then an intent that was kept is still
// that of its own key.
func TestI1_AnAuthorizerHoldsNoIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept []Intent
		g := guardOn(t, newShelf(), policy(func(p *Policy) { p.OnDuplicate = Force }), func(c *Config) {
			c.ForceAuthorizer = func(_ context.Context, in Intent) bool { kept = append(kept, in); return false }
		})
		for i := range 100 {
			run := func(context.Context) (int, error) { return i, nil }
			in := testIntent(fmt.Sprint("mine ", i))
			_, _, _ = Do(context.Background(), g, in, JSON[int](), run)
			in.Force = true
			if got, v, err := Do(context.Background(), g, in, JSON[int](), run); got != i || v != Replayed || err != nil {
				t.Fatalf("%d, %v, %v", got, v, err)
			}
			_, _, _ = Do(context.Background(), g, testIntent(fmt.Sprint("another's ", i)), JSON[int](), func(context.Context) (int, error) { return -1, nil })
		}
		for i, in := range kept {
			func() {
				defer func() {
					if p := recover(); p != nil {
						t.Fatalf("the intent of %q: %v", in.Key, p)
					}
				}()
				if got, v, err := Do(context.Background(), g, in, JSON[int](), func(context.Context) (int, error) { return 0, nil }); got != i || v != Replayed || err != nil {
					t.Fatalf("the intent of %q is answered with %d, %v, %v", in.Key, got, v, err)
				}
			}()
		}
	})
}

// panics is a codec with a fault.
type panics struct {
	asIs
	at string
}

func (p panics) fail(at string) {
	switch p.at {
	case at:
		panic("the codec's " + at)
	case at + " exits":
		runtime.Goexit()
	}
}

func (p panics) Encode(v []byte) (Payload, error) { p.fail("encode"); return p.asIs.Encode(v) }

// judges is one that says how a run ends, too.
type judges struct{ panics }

func (j judges) Outcome(p *Policy, v []byte) Outcome {
	j.fail("outcome")
	return p.OutcomeOf(200)
}

// oddError is an error whose own methods panic.
type oddError struct{}

func (oddError) Error() string { return "strange" }
func (oddError) Is(error) bool { panic("the error's is") }
func (oddError) As(any) bool   { panic("the error's as") }
func (oddError) Unwrap() error { return nil }

// Given a run that returned, when what reads its answer panics, then the panic goes
// on, and the claim has ended by what is known: done where the run says so, else in
// doubt. Nothing renews it, and Close does not wait for it.
func TestP10_ACodecThatPanicsLeavesNoClaimBehind(t *testing.T) {
	for name, c := range map[string]struct {
		codec Codec[[]byte]
		err   error
		want  State
	}{
		"encode":                      {panics{at: "encode"}, nil, StateSucceeded},
		"encode exits":                {panics{at: "encode exits"}, nil, StateSucceeded},
		"outcome":                     {judges{panics{at: "outcome"}}, nil, StateUncertain},
		"encode, behind its outcome":  {judges{panics{at: "encode"}}, nil, StateSucceeded},
		"the error's own":             {asIs{}, oddError{}, StateUncertain},
		"the error's own, by a codec": {judges{}, oddError{}, StateUncertain},
	} {
		for how, do := range map[string]func(g *Guard){
			"alone": func(g *Guard) {
				_, _, _ = Do(context.Background(), g, testIntent("k"), c.codec, func(context.Context) ([]byte, error) { return []byte("done"), c.err })
			},
			"in a batch": func(g *Guard) {
				_, _ = DoBatch(context.Background(), g, []Intent{testIntent("k"), testIntent("l")}, c.codec, func(context.Context, []Item) []Answer[[]byte] {
					return []Answer[[]byte]{{Value: []byte("done"), Err: c.err}, {Value: []byte("done")}}
				})
			},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newShelf()
					g := guardOn(t, s)
					var said any
					done := make(chan struct{})
					go func() {
						defer close(done)
						defer func() { said = recover() }()
						do(g)
					}()
					<-done
					if exits := name == "encode exits"; exits != (said == nil) {
						t.Errorf("the panic says %v", said)
					}
					r, err := g.Record(context.Background(), g.RecordName(testOperation, "alice", KindKey, "k"))
					if r.State != c.want || err != nil {
						t.Errorf("it is %v, %v, want %v", r.State, err, c.want)
					}
					ctx, stop := context.WithTimeout(context.Background(), time.Second)
					defer stop()
					if err := g.Close(ctx); err != nil {
						t.Errorf("close: %v", err)
					}
				})
			})
		}
	}
}

// Given a claim that is on its way while Close gives up, when it is won after that,
// then its run finds its context ended: nobody renews it, nor would see its MaxRun.
func TestP7_ARunThatBeginsWhenCloseHasGivenUpFindsItsContextEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		s.first(1, "claim", fault{slow: 8 * time.Millisecond})
		ran := make(chan error)
		go func() {
			_, _, _ = Do(context.Background(), g, testIntent("k"), JSON[int](), func(ctx context.Context) (int, error) {
				ran <- context.Cause(ctx)
				return 1, nil
			})
		}()
		synctest.Wait() // it is on its way
		over, stop := context.WithTimeout(context.Background(), time.Millisecond)
		defer stop()
		if err := g.Close(over); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("close: %v", err)
		}
		if err := <-ran; !errors.Is(err, ErrClosed) {
			t.Errorf("its context has ended by %v", err)
		}
	})
}

// Given the same claim twice, and others who mark the same claims in another order,
// marking many at once comes to an end.
func TestS8_MarksOfManyWaitForNobodyInACircle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		claims, err := g.ClaimBatch(context.Background(), []Intent{testIntent("a"), testIntent("b"), testIntent("a")})
		if err != nil || claims[0] != claims[2] {
			t.Fatal(claims, err)
		}
		s.script(only("renew", fault{slow: time.Millisecond}))
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				list := claims
				if i%2 == 1 {
					list = []*Claim{claims[1], claims[0], claims[1]}
				}
				if err := g.MarkBatch(context.Background(), list, "note"); err != nil {
					t.Error(err)
				}
			})
		}
		done := make(chan struct{})
		go func() { all.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatal("they wait for each other")
		}
		if n := s.count("renew"); n != 40 {
			t.Errorf("%d renewals for 20 marks of two claims", n)
		}
		for _, c := range claims[:2] {
			if err := c.Complete(context.Background(), Payload{}); err != nil {
				t.Error(err)
			}
		}
	})
}

// Given a store that goes away between the claims of a batch and their start, what
// cannot be started is given back at once: the batch waits for one exchange and not
// for one of each item.
func TestS8_WhatCannotBeStartedIsGivenBackTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		s.script(func(c shelfCall) fault {
			switch c.step {
			case "renew":
				return fault{refuse: true}
			case "settle":
				return fault{slow: time.Hour}
			}
			return fault{}
		})
		intents := make([]Intent, 40)
		for i := range intents {
			intents[i] = testIntent(fmt.Sprint(i))
		}
		begin := time.Now()
		answers, err := DoBatch(context.Background(), g, intents, JSON[int](), func(context.Context, []Item) []Answer[int] {
			t.Error("it ran")
			return nil
		}, Atomic())
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range answers {
			if a.Verdict != Unavailable {
				t.Errorf("item %d: %v", i, a.Verdict)
			}
		}
		// Eight calls at once, each given up after SettleWait.
		if took, most := time.Since(begin), 5*settleWait+time.Second; took > most {
			t.Errorf("it took %v, at most %v", took, most)
		}
		s.script(nil)
	})
}

// Given a run without a record, a mark without a note leaves the note that was
// there.
func TestAMarkWithoutANoteLeavesTheNote(t *testing.T) {
	for name, away := range map[string]bool{"with a record": false, "without one": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				g := guardOn(t, s, policy(func(p *Policy) { p.OnOutage = Open }))
				if away {
					s.script(only("claim", fault{refuse: true}))
				}
				in := testIntent("k")
				in.Note = "order 7"
				_, _, err := Do(context.Background(), g, in, JSON[int](), func(ctx context.Context) (int, error) {
					return 1, MarkEffects(ctx)
				})
				if err != nil {
					t.Fatal(err)
				}
				s.script(nil)
				pass(time.Minute)
				if r, _ := s.record(t); string(r.note) != "order 7" || r.state != StateSucceeded {
					t.Errorf("%v with the note %q", r.state, r.note)
				}
			})
		})
	}
}

// Given a run that followed a record with a note, when its context is asked long
// after it, then it still says so.
func TestAContextRemembersWhatItsRunFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guardOn(t, newShelf())
		var old context.Context
		for i := range 2 {
			_, _, _ = Do(context.Background(), g, testIntent("k"), JSON[int](), func(ctx context.Context) (int, error) {
				if old = ctx; i == 0 {
					_ = Note(ctx, "order 7")
					return 0, errShelf
				}
				return 1, nil
			})
		}
		if c, ok := ClaimFrom(old); !ok || c.Followed() != "order 7" {
			t.Errorf("it followed %q", c.Followed())
		}
	})
}

// Given a handler that leaves the end of its claim to a goroutine, when it returns
// while that is at it, then its caller is told the verdict all the same.
func TestI6_AnEndThatSomebodyElseBeganHasAVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		s.script(only("settle", fault{slow: 5 * time.Millisecond}))
		end := func(c *Claim) {
			go func() { _ = c.Complete(context.Background(), Payload{Bytes: []byte("7")}) }()
			synctest.Wait()
		}
		got, v, err := Do(context.Background(), g, testIntent("k"), JSON[int](), func(ctx context.Context) (int, error) {
			c, _ := ClaimFrom(ctx)
			end(c)
			return 7, nil
		})
		if got != 7 || v != Executed || err != nil {
			t.Errorf("%d, verdict %q, %v", got, v, err)
		}
		answers, err := DoBatch(context.Background(), g, []Intent{testIntent("l")}, JSON[int](), func(_ context.Context, won []Item) []Answer[int] {
			end(won[0].Claim)
			return []Answer[int]{{Value: 7}}
		})
		if err != nil || answers[0].Verdict != Executed {
			t.Errorf("in a batch: %+v, %v", answers, err)
		}
	})
}

// Given an item that is held, when it is renewed while its batch asks whether it was
// won too late, then nobody reads what another is writing (the race detector sees it).
func TestAHeldItemMayBeRenewedWhileItIsStarted(t *testing.T) {
	c := won(t, guardOn(t, newShelf(), policy(func(p *Policy) { p.Lease = time.Minute })), testIntent("k"))
	var renews sync.WaitGroup
	renews.Go(func() {
		for range 50 {
			_ = c.MarkEffects(context.Background())
		}
	})
	for range 1000 {
		if c.late() {
			t.Error("a lease of a minute is over")
		}
	}
	renews.Wait()
	_ = c.Complete(context.Background(), Payload{})
}
