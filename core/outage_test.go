package idem

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var open = policy(func(p *Policy) { p.OnOutage = Open })

func TestOpenRunsWithoutARecordAndSaysSo(t *testing.T) {
	for _, row := range []struct {
		name  string
		end   func(context.Context) (string, error)
		state State   // what is in the store once it is back
		again Verdict // what another process tells a repeat then
	}{
		{"done", func(context.Context) (string, error) { return "answer", nil }, StateSucceeded, Replayed},
		{"failed", func(context.Context) (string, error) { return "", errShelf }, StateReleased, Executed},
		{"marked, then failed", func(ctx context.Context) (string, error) {
			if err := MarkEffects(ctx, "order 7"); err != nil {
				return "", err
			}
			return "", errShelf
		}, StateUncertain, Uncertain},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				g := guardOn(t, s, open)
				s.script(func(shelfCall) fault { return fault{refuse: true} })
				_, verdict, _ := Do(context.Background(), g, testIntent("k"), JSON[string](), row.end)
				if verdict != Unprotected || g.Stats().Open != 1 {
					t.Fatalf("%s, counted %d; want unprotected", verdict, g.Stats().Open)
				}
				if row.state == StateSucceeded {
					got, verdict, err := Do(context.Background(), g, testIntent("k"), JSON[string](), row.end)
					if got != "answer" || verdict != Replayed || err != nil {
						t.Errorf("a repeat in this process: %q, %s, %v; want the outcome it holds", got, verdict, err)
					}
				}
				s.script(nil)
				pass(3 * time.Second)
				if r, _ := s.record(t); r.state != row.state {
					t.Errorf("the store is back, the record is %s, want %s", r.state, row.state)
				}
				if _, verdict, _ := Do(context.Background(), guardOn(t, s), testIntent("k"), JSON[string](), func(context.Context) (string, error) { return "later", nil }); verdict != row.again {
					t.Errorf("another process tells %s, want %s", verdict, row.again)
				}
			})
		})
	}
}

// Whatever became of the claim that was sent in the outage, the outcome takes
// its place: where it was applied, where it lands late, and where it was to be
// swapped from a release.
func TestOpenSettlesOverItsOwnUnknownClaim(t *testing.T) {
	for name, f := range map[string]fault{"applied, reply lost": {loseReply: true}, "lands late": {late: 5 * time.Second}, "never came": {refuse: true}} {
		for _, released := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				g := guardOn(t, s, open)
				if released {
					_ = won(t, g, testIntent("k")).Release(context.Background())
				}
				s.script(func(c shelfCall) fault {
					if c.step == "claim" && (!released || c.do == "swap") {
						return f
					}
					return fault{}
				})
				_, verdict, _ := Do(context.Background(), g, testIntent("k"), JSON[string](), func(context.Context) (string, error) { return "answer", nil })
				s.script(nil)
				s.late.Wait()
				pass(10 * time.Second)
				if r, _ := s.record(t); verdict != Unprotected || r.state != StateSucceeded {
					t.Errorf("%s, over a release %v: %s, the record is %s", name, released, verdict, r.state)
				}
			})
		}
	}
}

// Given an item of a batch that was held and never started, because its process
// died, when its key is run without a record, as the claim over it had no answer,
// then the outcome takes its place.
func TestOpenSettlesOverAClaimThatWasNeverStarted(t *testing.T) {
	for name, f := range map[string]fault{"applied, reply lost": {loseReply: true}, "never came": {refuse: true}} {
		for _, fails := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				g := guardOn(t, s, open)
				held := record{
					state: StateProcessing, flags: flagReserved, owner: owner{'X'}, fence: 1, lease: uint16(time.Second / minLease),
					t0: uint32(g.Policies()[0].Retention / time.Second), fp: testIntent("k").Fingerprint,
				}
				_, _ = s.Create(context.Background(), g.RecordName(testOperation, "alice", KindKey, "k"), held.append(nil), held.retention())
				pass(2 * time.Second)
				claims := 0
				s.script(func(c shelfCall) fault {
					if c.step == "claim" && c.do == "swap" {
						claims++
						return f
					}
					return fault{}
				})
				_, verdict, _ := Do(context.Background(), g, testIntent("k"), JSON[string](), func(context.Context) (string, error) {
					if fails {
						return "", errors.New("refused without effect")
					}
					return "answer", nil
				})
				s.script(nil)
				pass(10 * time.Second)
				want := StateSucceeded
				if fails {
					want = StateReleased
				}
				if r, _ := s.record(t); verdict != Unprotected || r.state != want || r.owner == held.owner || claims != askTries {
					t.Errorf("%s, fails %v: %s, the record is %s, %d claims", name, fails, verdict, r.state, claims)
				}
			})
		}
	}
}

func TestOpenDoesNotRunOverWhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		first := won(t, guardOn(t, s, open), testIntent("k"))
		defer first.End(context.Background())
		g := aged(t, s, open)
		s.script(only("load", fault{refuse: true}))
		s.mu.Lock() // a store that does not tell the time left, as Redis does not
		s.untold = true
		s.mu.Unlock()
		if c, err := g.Claim(context.Background(), testIntent("k")); c.Won() || !errors.Is(err, ErrUnavailable) {
			t.Errorf("it was seen that another owner runs it, and then: won %v, %v", c.Won(), err)
		}
		s.script(func(shelfCall) fault { return fault{refuse: true} })
		expired := tokenIntent(issued(t, g, time.Now().Add(-time.Hour)))
		if c, err := g.Claim(context.Background(), expired); c.Won() || !errors.Is(err, ErrUnavailable) {
			t.Errorf("an expired token: won %v, %v", c.Won(), err)
		}
	})
}

func TestAWaiterDoesNotRunBesideTheRunItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		first := won(t, guardOn(t, s, open), testIntent("k"))
		defer first.End(context.Background())
		g := guardOn(t, s, open, waiting)
		go func() {
			pass(time.Second)
			s.script(func(shelfCall) fault { return fault{refuse: true} })
		}()
		c, err := g.Claim(context.Background(), testIntent("k"))
		if c.Won() || !errors.Is(err, ErrUnavailable) {
			t.Errorf("the store went while it waited: won %v, %v", c.Won(), err)
		}
	})
}

func TestT6_SinceMovesAfterRunsWithoutARecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		closed := aged(t, s) // another process, which never runs without a record
		g := guardOn(t, s, open)
		token := tokenIntent(issued(t, g, time.Now()))
		s.script(func(shelfCall) fault { return fault{refuse: true} })
		if _, verdict, _ := Do(context.Background(), g, token, JSON[int](), func(context.Context) (int, error) { return 1, nil }); verdict != Unprotected {
			t.Fatal(verdict)
		}
		// The process dies before its outcome is written; the store comes back.
		g.janitor.mu.Lock()
		g.janitor.jobs = nil
		g.janitor.mu.Unlock()
		s.script(nil)
		pass(20 * time.Minute)
		wantVerdict(t, claimed(t, closed, token), Forgotten) // dead would invite a second run
		later := tokenIntent(issued(t, closed, time.Now()))
		pass(20 * time.Minute)
		wantVerdict(t, claimed(t, closed, later), Dead)
	})
}
