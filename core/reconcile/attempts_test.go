package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/reconcile"
	"github.com/go-idem/idem/core/storetest"
)

var always = storetest.Fault{Mode: storetest.Refuse, Times: -1}

// plain is a store without an index.
type plain struct{ idem.Store }

func (p plain) Unwrap() idem.Store { return p.Store }

// One process asks about a record at a time, and the others do not ask after it
// what was answered already.
func TestS9_OneReconcilerAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.crashes("k", "")
		b.asked.saying(func(ctx context.Context, _ idem.Record) (idem.Resolution, error) {
			pass(500 * time.Millisecond)
			return reconcile.Released(), nil
		})
		pass(3 * lease)
		sums := make(chan reconcile.Summary)
		for range 3 {
			p := b.process()
			r := p.reconciler()
			go func() { sum, _ := r.Once(context.Background()); sums <- sum }()
		}
		released := 0
		for range 3 {
			sum := <-sums
			released += sum.Released
		}
		if b.asked.most != 1 || b.asked.count() != 1 || released != 1 {
			t.Errorf("asked %d times, %d at once; released %d times", b.asked.count(), b.asked.most, released)
		}
	})
}

// A reconciler that dies while it asks is followed by another one, and its
// attempt counts.
func TestAReconcilerThatDiesIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.crashes("k", "")
		pass(3 * lease)
		first := b.process()
		b.asked.saying(func(ctx context.Context, _ idem.Record) (idem.Resolution, error) {
			first.kill()
			<-ctx.Done()
			return reconcile.Later(), ctx.Err()
		})
		go func() { _, _ = first.reconciler().Once(context.Background()) }()
		pass(time.Second)
		b.asked.say(reconcile.Released(), nil)
		p := b.process()
		r := p.reconciler()
		if p.once(r); b.asked.count() != 1 {
			t.Error("asked while the first may still be at it")
		}
		pass(time.Minute)
		if sum := p.once(r); sum.Released != 1 || b.asked.records[1].Attempt != 2 {
			t.Errorf("%+v; the attempts were %d, %d", sum, b.asked.records[0].Attempt, b.asked.records[1].Attempt)
		}
	})
}

// Later is asked again after growing pauses, by whichever process, so many times
// and no more; a panic and a resolver that hangs are nothing else.
func TestLaterIsBounded(t *testing.T) {
	for name, says := range map[string]func(context.Context, idem.Record) (idem.Resolution, error){
		"later": func(context.Context, idem.Record) (idem.Resolution, error) { return reconcile.Later(), nil },
		"error": func(context.Context, idem.Record) (idem.Resolution, error) {
			return reconcile.Released(), errors.New("the provider is away")
		},
		"panic": func(context.Context, idem.Record) (idem.Resolution, error) { panic("resolver") },
		"hangs": func(ctx context.Context, _ idem.Record) (idem.Resolution, error) {
			<-ctx.Done()
			return reconcile.Later(), nil
		},
		"doubts": func(context.Context, idem.Record) (idem.Resolution, error) {
			return idem.Resolution{Outcome: idem.Doubts}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.process()
				_ = p.claims("k").Doubt(context.Background())
				var times []time.Time
				b.asked.saying(func(ctx context.Context, r idem.Record) (idem.Resolution, error) {
					times = append(times, time.Now())
					return says(ctx, r)
				})
				one, two := p.reconciler(), b.process().reconciler()
				gaveUp := 0
				for i := range 60 {
					r := one
					if i%2 == 1 {
						r = two
					}
					gaveUp += p.once(r).GaveUp
					pass(time.Second)
				}
				if len(times) != 3 || gaveUp != 1 {
					t.Fatalf("asked %d times, given up %d times; want 3 attempts", len(times), gaveUp)
				}
				for i, least := range []time.Duration{time.Second, 2 * time.Second} {
					if pause := times[i+1].Sub(times[i]); pause < least || pause > 2*least+3*time.Second {
						t.Errorf("pause %d was %v", i+1, pause)
					}
				}
				if rec := p.record("k"); rec.State != idem.StateUncertain {
					t.Errorf("it is %v, want it held", rec.State)
				}
			})
		})
	}
}

// The attempts are those at one claim: what was forced and left in doubt anew is
// asked about anew.
func TestAttemptsAreCountedPerClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.process(policy(func(p *idem.Policy) { p.OnDuplicate = idem.Force }), func(c *idem.Config) {
			c.ForceAuthorizer = func(context.Context, idem.Intent) bool { return true }
		})
		r := p.reconciler(func(c *reconcile.Config) { c.Attempts = 1 })
		_ = p.claims("k").Doubt(context.Background())
		p.once(r)
		p.once(r)
		in := intent("k")
		in.Force = true
		c, err := p.Claim(context.Background(), in)
		if err != nil || !c.Won() {
			t.Fatal(err)
		}
		_ = c.Doubt(context.Background())
		p.once(r)
		if b.asked.count() != 2 || b.asked.records[1].Attempt != 1 {
			t.Errorf("asked %d times, the last as attempt %d", b.asked.count(), b.asked.records[1].Attempt)
		}
	})
}

// What would be forgotten before it is asked about again is kept, as UNCERTAIN
// with its owner and fence, so that its owner could still settle it.
func TestP13_AHeldRecordIsKeptBeyondItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.crashes("k", "")
		p := b.process()
		r := p.reconciler(func(c *reconcile.Config) { c.Attempts = 100 })
		pass(time.Hour - 30*time.Second)
		before := p.record("k")
		p.once(r)
		kept := p.record("k")
		if kept.State != idem.StateUncertain || kept.Fence != before.Fence || kept.Left < 59*time.Minute {
			t.Errorf("kept as %v with fence %d (it was %d) for %v", kept.State, kept.Fence, before.Fence, kept.Left)
		}
		pass(time.Minute)
		b.asked.say(reconcile.Released(), nil)
		if sum := p.once(r); sum.Released != 1 || b.asked.records[1].Attempt != 2 {
			t.Errorf("%+v, attempt %d", sum, b.asked.records[1].Attempt)
		}
	})
}

// A claim carries the reconciler's stop: what it asks at that moment counts for
// nothing.
func TestCloseEndsWhatIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.process()
		_ = p.claims("k").Doubt(context.Background())
		b.asked.saying(func(ctx context.Context, _ idem.Record) (idem.Resolution, error) {
			<-ctx.Done()
			return reconcile.Released(), nil
		})
		r := p.reconciler(func(c *reconcile.Config) { c.Patience = time.Minute })
		over := make(chan error)
		go func() { over <- r.Run(context.Background()) }()
		pass(10 * time.Second)
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-over; err != nil || b.asked.count() != 1 {
			t.Errorf("Run: %v, asked %d times", err, b.asked.count())
		}
		if rec := p.record("k"); rec.State != idem.StateUncertain {
			t.Errorf("it is %v", rec.State)
		}
		b.asked.say(reconcile.Released(), nil)
		again := p.reconciler()
		pass(2 * time.Second)
		if sum := p.once(again); sum.Released != 1 || b.asked.records[1].Attempt != 1 {
			t.Errorf("%+v, attempt %d", sum, b.asked.records[1].Attempt)
		}
	})
}

// The store is away for a while: nothing is asked of it in vain for long, and
// afterwards everything is found.
func TestAStoreThatGoesAwayIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.crashes("k", "")
		b.asked.say(reconcile.Released(), nil)
		p := b.process()
		_ = p.faults.Set("", always)
		r := p.reconciler()
		if _, err := r.Once(context.Background()); err == nil {
			t.Error("no error from a store that is away")
		}
		go func() { _ = r.Run(context.Background()) }()
		pass(10 * lease)
		p.faults.Clear()
		pass(time.Minute)
		if rec := p.record("k"); rec.State != idem.StateReleased {
			t.Errorf("it is %v", rec.State)
		}
		_ = r.Close(context.Background())
	})
}

func TestAnOperatorSettlesExactlyWhatWasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p, ctx, by := b.process(), context.Background(), idem.By{Actor: "ann", Reason: "found in the bank's list"}
		_ = p.claims("k").Doubt(ctx)
		seen := p.record("k")
		if _, err := reconcile.Resolve(ctx, p.Guard, seen, reconcile.Released(), idem.By{Actor: "ann"}); err == nil {
			t.Error("settled without a reason")
		}
		if _, err := reconcile.Resolve(ctx, p.Guard, seen, reconcile.Later(), by); err == nil {
			t.Error("settled as nothing")
		}
		now, err := reconcile.Resolve(ctx, p.Guard, seen, reconcile.Succeeded(answer(t, "paid")), by)
		if err != nil || now.State != idem.StateSucceeded || now.Fence <= seen.Fence || !now.Forced {
			t.Errorf("settled as %v, %v", now, err)
		}
		now, err = reconcile.Resolve(ctx, p.Guard, seen, reconcile.Released(), by)
		if !errors.Is(err, idem.ErrMoved) || now.State != idem.StateSucceeded {
			t.Errorf("settled again from what was seen first: %v, %v", now, err)
		}
		if _, err := reconcile.Resolve(ctx, p.Guard, now, reconcile.Released(), by); !errors.Is(err, idem.ErrNotHeld) {
			t.Errorf("what is settled was settled: %v", err)
		}
		if _, err := reconcile.Resolve(ctx, p.Guard, p.record("nobody"), reconcile.Released(), by); !errors.Is(err, idem.ErrNotHeld) {
			t.Errorf("nothing was settled: %v", err)
		}
	})
}

// The application's hooks are told of its own claims only, and cannot leave a
// reconciler's in doubt.
func TestHooksAreNotToldOfTheReconcilersClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		told := 0
		p := b.process(func(c *idem.Config) {
			c.Hooks.BeforeSettle = func(context.Context, idem.SettlePlan) idem.SettleChange {
				told++
				return idem.SettleChange{Doubt: true}
			}
		})
		_ = p.claims("k").Doubt(context.Background())
		before := told
		r := p.reconciler()
		for range 5 {
			p.once(r)
			pass(5 * time.Second)
		}
		if told != before || b.asked.count() < 2 {
			t.Errorf("hooks were told %d times of a reconciler's claim; asked %d times", told-before, b.asked.count())
		}
	})
}

// A sealed note is bound to its owner. The one who settles in his place opens it
// and seals it as his own.
func TestASealedNoteIsReadAndKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		sealer, err := idem.NewSealer(idem.SealingKey{ID: 1, Secret: idem.GenerateKey()})
		if err != nil {
			t.Fatal(err)
		}
		p := b.process(func(c *idem.Config) { c.Sealer = sealer })
		c := p.claims("k")
		_ = c.Note("charge 42")
		_ = c.Doubt(context.Background())
		r := p.reconciler()
		p.once(r) // later: the attempts are in a sealed note, too
		pass(10 * time.Second)
		b.asked.say(reconcile.Succeeded(answer(t, "paid")), nil)
		p.once(r)
		if rec := p.record("k"); rec.State != idem.StateSucceeded || rec.Note != "charge 42" || b.asked.records[1].Note != "charge 42" || b.asked.records[1].Attempt != 2 {
			t.Errorf("%v, note %q; asked with note %q, attempt %d", rec, rec.Note, b.asked.records[1].Note, b.asked.records[1].Attempt)
		}
		got, verdict, err := idem.Do(context.Background(), p.Guard, intent("k"), idem.JSON[string](),
			func(context.Context) (string, error) { return "charged again", nil })
		if got != "paid" || verdict != idem.Replayed || err != nil {
			t.Errorf("a repeat: %v %q, %v", verdict, got, err)
		}
	})
}
