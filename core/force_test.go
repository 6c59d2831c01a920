package idem

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// forceable is a policy that may be forced, by whoever asks.
func forceable(c *Config) {
	c.Policies[0].OnDuplicate = Force
	c.ForceAuthorizer = func(context.Context, Intent) bool { return true }
}

func forced(key string) Intent {
	in := testIntent(key)
	in.Force = true
	return in
}

func TestS8_ForceRunsOverWhatRefuses(t *testing.T) {
	for _, row := range []struct {
		name string
		put  func(*testing.T, *Guard)
		flag bool // the claim says that it was forced
	}{
		{"succeeded", func(t *testing.T, g *Guard) {
			_ = won(t, g, testIntent("k")).Complete(context.Background(), Payload{})
		}, true},
		{"failed", func(t *testing.T, g *Guard) {
			_ = won(t, g, testIntent("k")).Fail(context.Background(), Payload{})
		}, true},
		{"uncertain", func(t *testing.T, g *Guard) { _ = won(t, g, testIntent("k")).Doubt(context.Background()) }, true},
		{"running", func(t *testing.T, g *Guard) { won(t, g, testIntent("k")) }, true},
		{"released", func(t *testing.T, g *Guard) { _ = won(t, g, testIntent("k")).Release(context.Background()) }, false},
		{"absent", func(*testing.T, *Guard) {}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				first, g := guardOn(t, s, forceable), guardOn(t, s, forceable)
				row.put(t, first)
				before, _ := s.record(t)
				c := won(t, g, forced("k"))
				if c.Fence() <= before.fence {
					t.Errorf("fence %d after %d", c.Fence(), before.fence)
				}
				if got := c.rec.flags&flagForced != 0; got != row.flag || g.Stats().Forced != map[bool]int64{true: 1}[row.flag] {
					t.Errorf("says forced %v, counted %d; want %v", got, g.Stats().Forced, row.flag)
				}
				_ = c.Release(context.Background())
				want := map[bool]State{true: StateUncertain, false: StateReleased}[row.flag]
				if r, _ := s.record(t); r.state != want {
					t.Errorf("its release left %s, want %s: the run it was forced over may have had an effect", r.state, want)
				}
			})
		})
	}
}

// Given a forced claim whose outcome stays unknown, when the janitor writes over
// it, then it is doubt: what it was forced over had an effect, and a release would
// let any repeat run (found by TestScripts_InvariantsHold).
func TestS8_AForcedClaimThatNobodyHeardOfIsNotReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s, forceable)
		_ = won(t, g, testIntent("k")).Complete(context.Background(), Payload{})
		s.script(func(c shelfCall) fault { return fault{loseReply: c.step == "claim" && c.do == "swap"} })
		if _, err := g.Claim(context.Background(), forced("k")); !errors.Is(err, ErrUnavailable) {
			t.Fatal(err)
		}
		s.script(nil)
		pass(3 * time.Second)
		wantVerdict(t, claimed(t, g, testIntent("k")), Uncertain)
		if st := g.Stats(); st.Mended != 1 {
			t.Errorf("%+v", st)
		}
	})
}

func TestForceIsNotForEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		_ = won(t, guardOn(t, s), testIntent("k")).Complete(context.Background(), Payload{})
		alice := guardOn(t, s, func(c *Config) {
			c.Policies[0].OnDuplicate = Force
			c.ForceAuthorizer = func(_ context.Context, in Intent) bool { return in.Scope == "root" }
		})
		other := forced("k")
		other.Fingerprint.Sum[0]++
		for name, row := range map[string]struct {
			guard *Guard
			in    Intent
			want  Verdict
		}{
			"not asked for":             {guardOn(t, s, forceable), testIntent("k"), Replayed},
			"the policy does not allow": {guardOn(t, s), forced("k"), Replayed},
			"not authorised":            {alice, forced("k"), Replayed},
			"another request":           {guardOn(t, s, forceable), other, Conflict},
		} {
			if c := claimed(t, row.guard, row.in); c.Verdict() != row.want {
				t.Errorf("%s: %q, won %v; want %s", name, c.Verdict(), c.Won(), row.want)
			}
		}
	})
}

func TestS8_NothingIsForcedOutOfItsGrave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := aged(t, s, forceable)
		in := tokenIntent(issued(t, g, time.Now().Add(-time.Hour)))
		in.Force = true
		wantVerdict(t, claimed(t, g, in), Dead)
		wantVerdict(t, claimed(t, g, in), Dead)
	})
}

func TestTheOwnerThatWasForcedOverIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		for _, other := range []bool{false, true} {
			old := guardOn(t, s, forceable)
			g := old
			if other {
				g = guardOn(t, s, forceable)
			}
			key := map[bool]string{true: "other process", false: "same process"}[other]
			c := won(t, old, testIntent(key))
			next := won(t, g, forced(key))
			if err := c.Complete(context.Background(), Payload{Bytes: []byte(`"old"`)}); !errors.Is(err, ErrClaimLost) {
				t.Errorf("%s: the old owner's settle: %v", key, err)
			}
			wantVerdict(t, c, Unprotected)
			_ = next.Complete(context.Background(), Payload{Bytes: []byte(`"new"`)})
			if kept, _ := claimed(t, guardOn(t, s), testIntent(key)).Kept(); string(kept.Bytes) != `"new"` {
				t.Errorf("%s: kept %s", key, kept.Bytes)
			}
		}
	})
}

func TestForceWithoutAnAuthorizerIsNoConfiguration(t *testing.T) {
	_, err := New(Config{Store: newShelf(), NameKey: testNameKey, Policies: []Policy{{Operation: testOperation, Preset: API, OnDuplicate: Force}}})
	if err == nil || !strings.Contains(err.Error(), "ForceAuthorizer") {
		t.Errorf("%v", err)
	}
}

func TestP7_CancelEndsTheRunInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, row := range []struct {
			name string
			end  func(error) error
			want Verdict
		}{
			{"stopped half-way", func(err error) error { return err }, Uncertain},
			{"undone", NoEffects, Released},
			{"finished all the same", func(error) error { return nil }, Executed},
		} {
			s := newShelf()
			g := guardOn(t, s, policy(func(p *Policy) { p.OnDisconnect = Cancel }))
			ctx, leave := context.WithCancel(context.Background())
			_, verdict, _ := Do(ctx, g, testIntent("k"), JSON[int](), func(ctx context.Context) (int, error) {
				leave()
				<-ctx.Done()
				return 1, row.end(ctx.Err())
			})
			if verdict != row.want {
				t.Errorf("%s: %s, want %s", row.name, verdict, row.want)
			}
			if r, _ := s.record(t); r.state == StateProcessing {
				t.Errorf("%s: the settle went with the connection", row.name)
			}
		}
	})
}

func TestACallerMayWaitLessThanThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guardOn(t, newShelf(), waiting)
		c := won(t, g, testIntent("k"))
		defer c.End(context.Background())
		for wait, want := range map[time.Duration]time.Duration{2 * time.Second: 2 * time.Second, time.Minute: 5 * time.Second, -1: 0, 0: 5 * time.Second} {
			in := testIntent("k")
			in.Wait = wait
			start := time.Now()
			wantVerdict(t, claimed(t, g, in), InFlight)
			if took := time.Since(start); took != want {
				t.Errorf("asked for %v, waited %v, want %v", wait, took, want)
			}
		}
	})
}
