package idem

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Faults that others' users have reported, each with the input that shows it, and
// what is to happen instead. Most of them are shown by the tests of the rules; see
// docs/explanation/faults.md.

// Given a handler of ten seconds and two that wait for it for one, when they give
// up, then the run goes on and its answer is kept.
//
// Faults: 7.
func TestAWaiterThatGivesUpLeavesTheRunAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		second := policy(func(p *Policy) { p.OnDuplicate, p.Wait = Wait, time.Second })
		here, there := guardOn(t, s, second), guardOn(t, s, second)
		c := won(t, here, testIntent("k"))
		gone := make(chan Verdict, 2)
		for _, g := range []*Guard{here, there} {
			go func() {
				w, _ := g.Claim(context.Background(), testIntent("k"))
				gone <- w.Verdict()
			}()
		}
		pass(2 * time.Second)
		for range cap(gone) {
			if v := <-gone; v != InFlight {
				t.Errorf("who gave up is told %s", v)
			}
		}
		pass(8 * time.Second)
		if c.Context().Err() != nil {
			t.Error("the run was ended")
		}
		if err := c.Complete(context.Background(), Payload{Bytes: []byte("1")}); err != nil {
			t.Error(err)
		}
		wantVerdict(t, claimed(t, there, testIntent("k")), Replayed)
	})
}

// Faults: 16.
func TestARunThatIsStoppedAfterItsMarkIsInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s, policy(func(p *Policy) { p.OnDisconnect = Cancel }))
		ctx, leave := context.WithCancel(context.Background())
		_, verdict, _ := Do(ctx, g, testIntent("k"), JSON[int](), func(ctx context.Context) (int, error) {
			if err := MarkEffects(ctx); err != nil {
				return 0, err
			}
			leave() // charged, and the client is gone
			<-ctx.Done()
			return 0, ctx.Err()
		})
		if verdict != Uncertain {
			t.Errorf("it is %s", verdict)
		}
		wantVerdict(t, claimed(t, guardOn(t, s), testIntent("k")), Uncertain)
	})
}

// Given a store that tells what stands in a claim's way but not for how long yet,
// when that run ends before the look, then its answer is given.
//
// Faults: 25.
func TestARunThatEndsBetweenClaimAndLookIsReplayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.untold = true
		c := won(t, guardOn(t, s), testIntent("k"))
		s.script(func(call shelfCall) fault {
			if call.step == "load" && !c.isEnded() {
				_ = c.Complete(context.Background(), Payload{Bytes: []byte(`"done"`)})
			}
			return fault{}
		})
		other := claimed(t, guardOn(t, s), testIntent("k"))
		wantVerdict(t, other, Replayed)
		if kept, _ := other.Kept(); string(kept.Bytes) != `"done"` {
			t.Errorf("kept %s", kept.Bytes)
		}
	})
}

// Faults: 19, 26.
func TestAMessageThatFailedRunsAgainWhenItComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		runs := 0
		deliver := func() (Verdict, error) {
			_, verdict, err := Do(context.Background(), guardOn(t, s), testIntent("message 7"), JSON[int](), func(context.Context) (int, error) {
				if runs++; runs == 1 {
					return 0, errors.New("the mail server is busy")
				}
				return runs, nil
			})
			return verdict, err
		}
		if verdict, err := deliver(); verdict != Released || err == nil {
			t.Errorf("the first delivery: %s, %v", verdict, err)
		}
		if verdict, err := deliver(); verdict != Executed || err != nil {
			t.Errorf("the second: %s, %v", verdict, err)
		}
		if verdict, err := deliver(); verdict != Replayed || err != nil || runs != 2 {
			t.Errorf("the third: %s, %v, after %d runs", verdict, err, runs)
		}
	})
}

// Faults: 53.
func TestAnOutageIsAChoiceOfEachOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		const comments = "blog:comment:create"
		g := guardOn(t, s, func(c *Config) {
			c.Policies = append(c.Policies, Policy{Operation: comments, Preset: API, OnOutage: Open, Lease: time.Second})
		})
		s.script(func(shelfCall) fault { return fault{refuse: true} })
		for operation, want := range map[string]Verdict{testOperation: Unavailable, comments: Unprotected} {
			in := testIntent("k")
			in.Operation = operation
			runs := 0
			_, verdict, _ := Do(context.Background(), g, in, JSON[int](), func(context.Context) (int, error) { runs++; return 1, nil })
			if verdict != want || runs != map[Verdict]int{Unprotected: 1}[want] {
				t.Errorf("%s: %s after %d runs, want %s", operation, verdict, runs, want)
			}
		}
		s.script(nil)
	})
}

// Given the preset Payment, when the provider does not answer, or an error comes
// back, or the process dies, then nobody pays again.
//
// Faults: 58.
func TestAPaymentThatMayHaveBeenMadeIsNotMadeAgain(t *testing.T) {
	for name, run := range map[string]func(s *shelf, ctx context.Context) error{
		"no answer until MaxRun": func(_ *shelf, ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"a time-out of its own":  func(*shelf, context.Context) error { return context.DeadlineExceeded },
		"the claim cannot be kept": func(s *shelf, ctx context.Context) error {
			s.script(only("renew", fault{refuse: true}))
			<-ctx.Done()
			return ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				payment := policy(func(p *Policy) { *p = Policy{Operation: testOperation, Preset: Payment} })
				_, verdict, _ := Do(context.Background(), guardOn(t, s, payment), testIntent("k"), JSON[int](), func(ctx context.Context) (int, error) {
					return 0, run(s, ctx)
				})
				s.script(nil)
				if verdict != Uncertain {
					t.Errorf("the first is %s", verdict)
				}
				pass(10 * time.Minute)
				for range 3 {
					wantVerdict(t, claimed(t, guardOn(t, s, payment), testIntent("k")), Uncertain)
				}
			})
		})
	}
}
