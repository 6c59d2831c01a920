package idem

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// What is on its way when a run ends: a renewal that its settle overtakes, a
// settle that its client does not wait for.

// Given a renewal on its way, when the run ends in doubt and that is written
// first, then the renewal finds its own nonce there and leaves it: under retake
// a claim put back would be taken over (found by TestScripts_InvariantsHold).
func TestP2_ARenewalDoesNotUndoItsOwnSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s, policy(retaking))
		c := won(t, g, testIntent("k"))
		s.script(only("renew", fault{slow: 8 * time.Millisecond}))
		pass(336 * time.Millisecond) // the renewal is on its way
		if err := c.Doubt(context.Background()); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Second)
		if r, _ := s.record(t); r.state != StateUncertain || s.count("renew") == 0 {
			t.Errorf("%d renewals, and the record is %s", s.count("renew"), r.state)
		}
		wantVerdict(t, claimed(t, guardOn(t, s, policy(retaking)), testIntent("k")), Uncertain)
	})
}

// Given a client that leaves while its outcome is on its way to the store, when
// the answer is given, then the outcome is there.
//
// Faults: 15.
func TestP7_TheSettleOutlivesItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		ctx, leave := context.WithCancel(context.Background())
		s.script(only("settle", fault{slow: 8 * time.Millisecond}))
		_, verdict, err := Do(ctx, g, testIntent("k"), JSON[int](), func(context.Context) (int, error) {
			time.AfterFunc(2*time.Millisecond, leave)
			return 1, nil
		})
		if r, _ := s.record(t); r.state != StateSucceeded || verdict != Executed || err != nil {
			t.Errorf("answered %s (%v), and the record is %s", verdict, err, r.state)
		}
		pass(time.Second)
	})
}

func TestP2_ASettleThatOvertakesARenewalIsNotStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		c := won(t, g, testIntent("k"))
		s.script(only("renew", fault{slow: 8 * time.Millisecond}))
		pass(336 * time.Millisecond) // the renewal is on its way
		if err := c.Complete(context.Background(), Payload{}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if n := g.Stats().Stale; n != 0 || s.count("renew") == 0 {
			t.Errorf("stale counted %d times after %d renewals", n, s.count("renew"))
		}
		wantVerdict(t, c, Executed)
	})
}
