package reconcile_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/reconcile"
)

func TestWhatAResolverSaysIsWhatARepeatGets(t *testing.T) {
	for _, c := range []struct {
		name    string
		says    func(*testing.T) idem.Resolution
		state   idem.State
		verdict idem.Verdict
		value   string
		runs    bool
	}{
		{"succeeded", func(t *testing.T) idem.Resolution { return reconcile.Succeeded(answer(t, "paid")) }, idem.StateSucceeded, idem.Replayed, "paid", false},
		{"failed", func(t *testing.T) idem.Resolution { return reconcile.Failed(answer(t, "refused")) }, idem.StateFailed, idem.Replayed, "refused", false},
		{"released", func(*testing.T) idem.Resolution { return reconcile.Released() }, idem.StateReleased, idem.Executed, "ran", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				b.crashes("k", "charge 42")
				b.asked.say(c.says(t), nil)
				p := b.process()
				pass(2*lease + time.Second)
				sum := p.once(p.reconciler())
				rec := p.record("k")
				if rec.State != c.state || sum.Resolved() != 1 || !rec.Forced || rec.Note != "charge 42" {
					t.Errorf("the record is %v (%+v), note %q, forced %v; want %v", rec.State, sum, rec.Note, rec.Forced, c.state)
				}
				if got := b.asked.records[0]; got.Note != "charge 42" || got.Attempt != 1 || got.Operation != pay || got.ScopeHash != p.ScopeHash("alice") || got.DownstreamKey("provider") == "" {
					t.Errorf("the resolver was shown %v: %+v", got, got)
				}
				ran := false
				got, verdict, err := idem.Do(context.Background(), p.Guard, intent("k"), idem.JSON[string](), func(context.Context) (string, error) {
					ran = true
					return "ran", nil
				})
				if verdict != c.verdict || got != c.value || ran != c.runs || err != nil {
					t.Errorf("a repeat: %v %q, %v, ran %v; want %v %q, ran %v", verdict, got, err, ran, c.verdict, c.value, c.runs)
				}
				if st := p.Stats(); st.Resolved != 1 {
					t.Errorf("counted %d", st.Resolved)
				}
			})
		})
	}
}

func TestTheDownstreamKeyIsThatOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.process()
		c := p.claims("k")
		want := c.DownstreamKey("provider")
		_ = c.Doubt(context.Background())
		p.once(p.reconciler())
		if got := b.asked.records[0].DownstreamKey("provider"); got != want {
			t.Errorf("the resolver asks with %q, the run asked with %q", got, want)
		}
	})
}

// A crashed process may only have stood still: it is left alone for one more
// lease.
func TestP13_AResolverWaitsOneMoreLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.crashes("k", "")
		b.asked.say(reconcile.Released(), nil)
		p := b.process()
		r := p.reconciler()
		pass(lease + lease/2)
		if p.once(r); b.asked.count() != 0 {
			t.Error("asked half a lease after the lease ran out")
		}
		rec := p.record("k")
		if held, in := rec.Held(); !held || in <= 0 || in > lease {
			t.Errorf("held %v, in %v; want it to wait still", held, in)
		}
		if _, err := reconcile.Resolve(context.Background(), p.Guard, rec, reconcile.Released(), idem.By{Actor: "ops", Reason: "seen"}); !errors.Is(err, idem.ErrNotHeld) {
			t.Errorf("an operator settled it: %v", err)
		}
		pass(lease)
		if p.once(r); b.asked.count() != 1 || p.record("k").State != idem.StateReleased {
			t.Errorf("asked %d times, it is %v", b.asked.count(), p.record("k").State)
		}
	})
}

// A run that is alive is left alone, however long it takes, and so are claims
// that Retake lets the next request take over.
func TestWhoIsAliveIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.process()
		c := p.claims("long")
		retaking := b.process(policy(func(p *idem.Policy) { p.OnCrash = idem.Retake }))
		dead := b.process(policy(func(p *idem.Policy) { p.OnCrash = idem.Retake }))
		dead.claims("crashed")
		dead.kill()
		r := retaking.reconciler()
		for range 6 {
			pass(3 * time.Second)
			retaking.once(r)
		}
		if b.asked.count() != 0 {
			t.Errorf("asked %d times about %v", b.asked.count(), b.asked.records)
		}
		if err := c.Complete(context.Background(), answer(t, "done")); err != nil {
			t.Error(err)
		}
	})
}

// The resolver's word is written as somebody else's: the owner that wakes up is
// told that it is stale, and its fence is below.
func TestP13_AResolverSettlesAsSomebodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		owner := b.process()
		c := owner.claims("k")
		before := owner.record("k")
		_ = owner.faults.Set("", always) // cut off from the store, and alive
		b.asked.say(reconcile.Succeeded(answer(t, "paid")), nil)
		p := b.process()
		pass(3 * lease)
		p.once(p.reconciler())
		after := p.record("k")
		if after.State != idem.StateSucceeded || after.Fence <= before.Fence {
			t.Errorf("settled as %v with fence %d; before it was %d", after.State, after.Fence, before.Fence)
		}
		owner.faults.Clear()
		if err := c.Complete(context.Background(), answer(t, "paid, says the owner")); !errors.Is(err, idem.ErrClaimLost) {
			t.Errorf("the late owner's settle: %v, want that it lost its claim", err)
		}
		if last := p.record("k"); !last.Same(after) || c.Verdict() != idem.Unprotected {
			t.Errorf("the late owner wrote %v over it; its verdict is %v", last, c.Verdict())
		}
	})
}

func TestADoubtIsAskedAboutAtOnceAndLeavesTheIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.process()
		_ = p.claims("doubt").Doubt(context.Background())
		_ = p.claims("done").Complete(context.Background(), answer(t, 1))
		b.asked.say(reconcile.Released(), nil)
		if n := len(p.entries()); n != 2 {
			t.Errorf("%d entries after two claims", n)
		}
		r := p.reconciler()
		ctx, end := context.WithCancel(context.Background())
		go func() { _ = r.Run(ctx) }()
		pass(2*lease + 20*time.Second)
		if n := len(p.entries()); n != 0 || b.asked.count() != 1 {
			t.Errorf("%d entries are left, asked %d times", n, b.asked.count())
		}
		end()
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// A store that keeps no index is walked, and a store that cannot be walked keeps
// an index.
func TestTheWalkFindsWhatNoIndexTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.store = plain{b.store}
		b.crashes("k", "")
		b.asked.say(reconcile.Released(), nil)
		p := b.process()
		pass(3 * lease)
		if sum := p.once(p.reconciler()); sum.Released != 1 {
			t.Errorf("%+v, want the record found", sum)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		dead := b.process(func(c *idem.Config) { c.Resolvers = nil }) // claims without an entry
		dead.claims("k")
		dead.kill()
		p := b.process()
		p.claims("other") // there is an index
		pass(3 * lease)
		p.once(p.reconciler()) // says later
		if list := p.entries(); len(list) != 2 || b.asked.count() != 1 {
			t.Errorf("after the walk the index has %d entries, asked %d times", len(list), b.asked.count())
		}
	})
}

// A claim that finds the entry of a settled one leaves it as it is. It is not
// lost when that entry is taken out at the same moment.
func TestAClaimThatLandsWhileItsEntryGoesIsFoundAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.process()
		c := p.claims("k")
		_ = c.Release(context.Background())
		r := p.reconciler(func(c *reconcile.Config) { c.Rest, c.Attempts = time.Hour, 100 })
		ctx, end := context.WithCancel(context.Background())
		go func() { _ = r.Run(ctx) }()
		defer func() { end(); _ = r.Close(context.Background()) }()
		for range 200 { // until its entry is gone
			if pass(100 * time.Millisecond); len(p.entries()) == 0 {
				break
			}
		}
		// The claim's entry was there, its record lands now.
		p.faults.Clear()
		bare := b.process(func(c *idem.Config) { c.Resolvers = nil })
		bare.claims("k")
		bare.kill()
		pass(20 * time.Second)
		if list := p.entries(); len(list) != 1 || b.asked.count() == 0 {
			t.Errorf("the index has %v, asked %d times; want the claim followed", list, b.asked.count())
		}
	})
}

// Claims that are made together leave their entries ahead of them, too.
func TestClaimsOfABatchAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		dead := b.process()
		claims, err := dead.ClaimBatch(context.Background(), []idem.Intent{intent("a"), intent("b"), intent("c")})
		if err != nil || len(claims) != 3 {
			t.Fatal(err)
		}
		dead.kill()
		b.asked.say(reconcile.Released(), nil)
		p := b.process()
		if n := len(p.entries()); n != 3 {
			t.Errorf("%d entries for a batch of three", n)
		}
		pass(3 * lease)
		if sum := p.once(p.reconciler()); sum.Released != 3 {
			t.Errorf("%+v, want all three released", sum)
		}
	})
}

func TestWhatIsWrongWithAConfigIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.process(func(c *idem.Config) { c.Resolvers = nil })
		_, err := reconcile.New(reconcile.Config{Guard: p.Guard, Attempts: -1})
		for _, want := range []string{"no resolvers", "Attempts"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not say %q", err, want)
			}
		}
		_, err = idem.New(idem.Config{
			Store:     b.store,
			Policies:  []idem.Policy{{Operation: idem.RunOperation}},
			Resolvers: map[string]idem.Resolver{"shop:no:such": &b.asked},
		})
		for _, want := range []string{"own", "shop:no:such"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not say %q", err, want)
			}
		}
	})
}
