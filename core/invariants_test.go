package idem

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"
)

// The invariants of PROTOCOL section 10, each by the shortest script that can
// break it. TestI10_WithFaultsAtEveryCall and TestScripts_InvariantsHold check
// the same with everything going wrong at once.

func retaking(p *Policy) { p.OnCrash = Retake }

// Faults: 1, 10.
func TestI1_NobodyTakesAClaimBeforeItsLeaseRanOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		old := won(t, guardOn(t, s, policy(retaking)), testIntent("k"))
		pass(400 * time.Millisecond) // one renewal has moved the lease
		s.script(only("renew", fault{refuse: true}))
		others := []*Guard{guardOn(t, s, policy(retaking)), guardOn(t, s, policy(retaking))}
		for range 200 {
			before, left := s.record(t)
			wins := 0
			for _, g := range others {
				if c := claimed(t, g, testIntent("k")); c.Won() {
					wins++
					defer c.End(context.Background())
				}
			}
			if wins > 1 {
				t.Fatal("two took over at once")
			}
			if wins == 1 {
				if spent := before.retention() - left; spent < time.Second {
					t.Errorf("it was taken over %v after its last renewal, with a lease of 1s", spent)
				}
				if old.Context().Err() == nil {
					t.Error("it was taken over while its owner still believed in it")
				}
				old.End(context.Background())
				return
			}
			pass(10 * time.Millisecond)
		}
		t.Error("a claim that nobody renews was never taken over")
	})
}

// Given an owner A that lost its claim, and a record that B has brought to an
// end, when A does whatever an owner can do, then the record is as B left it.
//
// Faults: 2, 3, 4.
func TestI3_WhatIsSettledIsLeftByItsOwnDoorsOnly(t *testing.T) {
	ctx := context.Background()
	ends := map[State]func(g *Guard, in Intent, b *Claim) error{
		StateSucceeded: func(_ *Guard, _ Intent, b *Claim) error { return b.Complete(ctx, Payload{Bytes: []byte(`"b"`)}) },
		StateFailed:    func(_ *Guard, _ Intent, b *Claim) error { return b.Fail(ctx, Payload{Bytes: []byte(`"b"`)}) },
		StateUncertain: func(_ *Guard, _ Intent, b *Claim) error { return b.Doubt(ctx) },
		StateReleased:  func(_ *Guard, _ Intent, b *Claim) error { return b.Release(ctx) },
		StateBuried: func(g *Guard, in Intent, b *Claim) error {
			_ = b.Release(ctx)
			_, verdict, err := g.Discard(ctx, in)
			if verdict != Dead {
				return errors.New("not discarded: " + verdict.String())
			}
			return err
		},
	}
	acts := map[string]func(a *Claim) error{
		"complete": func(a *Claim) error { return a.Complete(ctx, Payload{Bytes: []byte(`"a"`)}) },
		"fail":     func(a *Claim) error { return a.Fail(ctx, Payload{Bytes: []byte(`"a"`)}) },
		"release":  func(a *Claim) error { return a.Release(ctx) },
		"doubt":    func(a *Claim) error { return a.Doubt(ctx) },
		"mark":     func(a *Claim) error { return a.MarkEffects(ctx) },
		"renew":    func(a *Claim) error { pass(3 * time.Second); return ErrClaimLost },
	}
	for state, end := range ends {
		for name, act := range acts {
			t.Run(state.String()+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newShelf()
					short := policy(func(p *Policy) { p.OnCrash, p.Retention = Retake, 30*time.Minute })
					ours, theirs := guardOn(t, s, short), guardOn(t, s, short)
					pass(2 * time.Second)
					in := tokenIntent(issued(t, ours, time.Now()))
					a := won(t, ours, in)
					s.script(only("renew", fault{refuse: true}))
					pass(1100 * time.Millisecond)
					s.script(nil)
					if err := end(theirs, in, won(t, theirs, in)); err != nil {
						t.Fatal(err)
					}
					before, left := s.record(t)
					if before.state != state {
						t.Fatalf("the record is %s", before.state)
					}
					at := time.Now()
					if err := act(a); !errors.Is(err, ErrClaimLost) {
						t.Errorf("A is told %v, want that its claim is lost", err)
					}
					after, rest := s.record(t)
					if string(after.append(nil)) != string(before.append(nil)) || rest != left-time.Since(at) {
						t.Errorf("A made it %s (%v left, before %v)", after.state, rest, left)
					}
					a.End(ctx)
					pass(time.Hour)
					if r, _ := s.record(t); r.state != StateAbsent {
						t.Errorf("it did not expire but is %s", r.state)
					}
				})
			})
		}
	}
}

// A process whose clock is behind takes a token for live that another has seen
// expire. Whatever lands first, dead is not said of a run.
//
// Faults: 11.
func TestI5_DeadIsNeverSaidOfATokenThatRunsAfterAll(t *testing.T) {
	for name, lands := range map[string]time.Duration{"the claim lands after the burial": 3 * time.Second, "the claim lands first": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				g := aged(t, s)
				behind := guardOn(t, s, func(c *Config) { c.Clock = func() time.Time { return time.Now().Add(-20 * time.Minute) } })
				in := tokenIntent(issued(t, g, time.Now().Add(-30*time.Minute))) // its life is 15 minutes
				s.script(func(c shelfCall) fault {
					switch c.step {
					case "claim":
						return fault{late: lands}
					case "settle": // the janitor does not get through yet
						return fault{refuse: true}
					}
					return fault{}
				})
				if c, err := behind.Claim(context.Background(), in); !errors.Is(err, ErrUnavailable) {
					t.Fatalf("%s, %v", c.Verdict(), err)
				}
				pass(10 * time.Millisecond)
				s.script(only("settle", fault{refuse: true}))
				first := claimed(t, g, in).Verdict()
				s.script(nil)
				pass(10 * time.Second)
				again := claimed(t, behind, in)
				if first == Dead && again.Won() {
					t.Error("dead was said, and then it ran")
				}
				if first != Dead && first != InFlight {
					t.Errorf("the expired token is %s", first)
				}
				if again.Won() {
					again.End(context.Background())
				}
				s.late.Wait()
			})
		})
	}
}

// Every kind of write there is, and the time to live that it asks for.
//
// Faults: 8.
func TestI7_NoRecordIsWrittenWithoutATimeToLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		s := newShelf()
		g := aged(t, s, policy(retaking), forceable)
		endings := []func(*Claim) error{
			func(c *Claim) error { return c.Complete(ctx, Payload{}) }, func(c *Claim) error { return c.Fail(ctx, Payload{}) },
			func(c *Claim) error { return c.Release(ctx) }, func(c *Claim) error { return c.Doubt(ctx) },
		}
		for i, end := range endings {
			key := string(rune('a' + i))
			c := won(t, g, testIntent(key))
			pass(400 * time.Millisecond) // renewed
			_ = MarkEffects(c.Context())
			_ = end(c)
			won(t, g, forced(key)).End(ctx)
			lost := won(t, g, testIntent("lost "+key))
			s.mu.Lock()
			clear(s.items)
			s.mu.Unlock()
			_ = end(lost) // made anew
		}
		discarded, corrected := tokenIntent(issued(t, g, time.Now())), tokenIntent(issued(t, g, time.Now()))
		_, _, _ = g.Discard(ctx, discarded)
		_ = won(t, g, corrected).Release(ctx)
		_, _, _ = g.Discard(ctx, corrected)
		_ = claimed(t, g, tokenIntent(issued(t, g, time.Now().Add(-time.Hour))))
		for _, f := range []fault{{refuse: true}, {loseReply: true}, {late: 2 * time.Second}} { // the janitor's
			s.script(only("claim", f))
			_, _ = g.Claim(ctx, testIntent("unknown"))
			s.script(nil)
			pass(5 * time.Second)
		}
		s.late.Wait()
		writes := 0
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, call := range s.calls {
			if call.do == "load" {
				continue
			}
			if writes++; call.ttl < time.Hour {
				t.Errorf("%s by %s of %s lives for %v", call.step, call.do, call.name, call.ttl)
			}
		}
		if writes < 30 {
			t.Errorf("only %d writes were seen", writes)
		}
	})
}

// Faults: 7, 23.
func TestI8_NoRefusalWrites(t *testing.T) {
	ctx := context.Background()
	other := func(in Intent) Intent { in.Fingerprint.Sum[0]++; return in }
	same := func(in Intent) Intent { return in }
	settled := func(end func(*Claim) error) func(*testing.T, *shelf, *Guard, Intent) {
		return func(t *testing.T, _ *shelf, g *Guard, in Intent) { _ = end(won(t, g, in)) }
	}
	succeeded := settled(func(c *Claim) error { return c.Complete(ctx, Payload{Bytes: []byte("1")}) })
	partial := settled(func(c *Claim) error { return c.Complete(ctx, Payload{Partial: true}) })
	doubted := settled(func(c *Claim) error { return c.Doubt(ctx) })
	running := func(t *testing.T, _ *shelf, g *Guard, in Intent) { won(t, g, in) }
	for _, row := range []struct {
		name  string
		given func(*testing.T, *shelf, *Guard, Intent)
		age   time.Duration // of the token
		asks  func(Intent) Intent
		want  Verdict
	}{
		{"another owner runs it", running, 0, same, InFlight},
		{"another request, while the first runs", running, 0, other, Conflict},
		{"another request, afterwards", succeeded, 0, other, Conflict},
		{"done", succeeded, 0, same, Replayed},
		{"done, and not kept", partial, 0, same, Used},
		{"in doubt", doubted, 0, same, Uncertain},
		{"crashed, under hold", func(t *testing.T, s *shelf, g *Guard, in Intent) {
			won(t, g, in)
			s.script(only("renew", fault{refuse: true}))
			pass(1100 * time.Millisecond)
			s.script(nil)
		}, 0, same, Uncertain},
		{"unreadable", func(t *testing.T, s *shelf, g *Guard, in Intent) {
			v, err := g.Verify(ctx, in)
			if err != nil {
				t.Fatal(err)
			}
			s.put(v.id.name, []byte("garbage"))
		}, 0, same, Uncertain},
		{"buried before", func(t *testing.T, _ *shelf, g *Guard, in Intent) {
			wantVerdict(t, claimed(t, g, in), Dead)
		}, 30 * time.Minute, same, Dead},
		{"discarded", func(t *testing.T, _ *shelf, g *Guard, in Intent) { _, _, _ = g.Discard(ctx, in) }, 0, same, Foreign},
		{"older than what is remembered", func(*testing.T, *shelf, *Guard, Intent) {}, 24 * time.Hour, same, Forgotten},
		{"of another page", func(*testing.T, *shelf, *Guard, Intent) {}, 0, func(in Intent) Intent { in.Context = "another cart"; return in }, Foreign},
		{"of another user", succeeded, 0, func(in Intent) Intent { in.Scope = "mallory"; return in }, Foreign},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				first := aged(t, s)
				g := guardOn(t, s)
				in := tokenIntent(issued(t, first, time.Now().Add(-row.age)))
				row.given(t, s, first, in)
				s.mu.Lock()
				before := maps.Clone(s.items)
				s.mu.Unlock()
				for range 3 {
					c := claimed(t, g, row.asks(in))
					if c.Verdict() != row.want || c.Won() {
						t.Fatalf("%q, won %v; want %s", c.Verdict(), c.Won(), row.want)
					}
				}
				s.mu.Lock()
				defer s.mu.Unlock()
				if len(s.items) != len(before) {
					t.Errorf("%d records, before it %d", len(s.items), len(before))
				}
				for name, held := range s.items {
					if was := before[name]; string(was.value) != string(held.value) || !was.expires.Equal(held.expires) {
						t.Errorf("%s was written", name)
					}
				}
			})
		})
	}
}
