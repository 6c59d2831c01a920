package idem

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestS8_AShareOfTheKeysIsGuarded(t *testing.T) {
	const share, keys = 0.25, 2000
	s := newShelf()
	s.local = true
	quarter := policy(func(p *Policy) { p.Share = share })
	g, twin := guardOn(t, s, quarter), guardOn(t, s, quarter)
	wider := guardOn(t, s, policy(func(p *Policy) { p.Share = 2 * share }))
	inside, also := 0, 0
	for i := range keys {
		in := testIntent(fmt.Sprint("key ", i))
		a, _ := g.Verify(context.Background(), in)
		b, _ := twin.Verify(context.Background(), in)
		w, _ := wider.Verify(context.Background(), in)
		if a.Unguarded() != b.Unguarded() {
			t.Fatal("two processes disagree")
		}
		if w.Unguarded() && !a.Unguarded() {
			t.Fatal("a share that grew has lost a key")
		}
		if !w.Unguarded() {
			also++
		}
		if a.Unguarded() {
			continue
		}
		if inside++; inside == 1 {
			ran(t, g, in)
			if v, did := ran(t, twin, in); v != Replayed || did {
				t.Errorf("inside: %s, ran %v", v, did)
			}
		}
	}
	if d := math.Abs(float64(inside)/keys - share); d > 0.04 {
		t.Errorf("%d of %d keys are guarded", inside, keys)
	}
	if d := math.Abs(float64(also)/keys - 2*share); d > 0.04 {
		t.Errorf("%d of %d keys are guarded by the double", also, keys)
	}
}

func TestWhatIsOutsideTheShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := aged(t, s, policy(func(p *Policy) { p.Share = 0.5 }))
		out := outside(t, g, func(i int) Intent { return testIntent(fmt.Sprint(i)) })
		for range 2 {
			if v, did := ran(t, g, out); v != Unguarded || !did {
				t.Errorf("outside: %s, ran %v", v, did)
			}
		}
		// Who has no key is outside; what cannot be read might be inside.
		if v, did := ran(t, g, Intent{Operation: testOperation}); v != Unguarded || !did {
			t.Errorf("without a key: %s, ran %v", v, did)
		}
		if v, did := ran(t, g, testIntent(strings.Repeat("k", maxIntentKey+1))); v != Malformed || did {
			t.Errorf("a key that cannot be read: %s, ran %v", v, did)
		}
		token := outside(t, g, func(int) Intent { return tokenIntent(issued(t, g, time.Now())) })
		req := TokenRequest{Operation: testOperation, Scope: token.Scope}
		if !g.Degraded(testOperation) || !g.DegradedToken(req, token.Token) {
			t.Error("a token outside the share is not said to be degraded")
		}
		if st, v, err := g.Discard(context.Background(), token); v != 0 || st.State != StateAbsent || err != nil {
			t.Errorf("discard: %s, %s, %v", st.State, v, err)
		}
		if st, err := g.Status(context.Background(), out); st.State != StateAbsent || err != nil {
			t.Errorf("status: %s, %v", st.State, err)
		}
		if r, _ := s.record(t); r.state != StateAbsent {
			t.Errorf("there is a record, %s", r.state)
		}
	})
}

// outside is the first intent that is outside the share.
func outside(t testing.TB, g *Guard, make func(int) Intent) Intent {
	t.Helper()
	for i := range 200 {
		in := make(i)
		if v, err := g.Verify(context.Background(), in); err == nil && v.Unguarded() {
			return in
		}
	}
	t.Fatal("no intent is outside the share")
	return Intent{}
}
