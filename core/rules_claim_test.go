package idem

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The rules of PROTOCOL sections 3 and 9 about claiming. Each test fails with
// its rule broken: see internal/broken.

func TestP1_AClaimIsOneAtomicStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.script(only("claim", fault{slow: time.Millisecond}))
		guards := []*Guard{guardOn(t, s), guardOn(t, s), guardOn(t, s)}
		wins := make(chan bool, 60)
		for i := range cap(wins) {
			go func() {
				c, err := guards[i%len(guards)].Claim(context.Background(), testIntent("k"))
				if err == nil && c.Won() {
					defer c.End(context.Background())
					pass(10 * time.Millisecond)
				}
				wins <- err == nil && c.Won()
			}()
		}
		won := 0
		for range cap(wins) {
			if <-wins {
				won++
			}
		}
		if won != 1 {
			t.Errorf("%d of %d claims at once were won, want 1", won, cap(wins))
		}
	})
}

func TestP2_ARenewalWithoutAReplyIsStillOurs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		c := won(t, g, testIntent("k"))
		s.script(only("renew", fault{loseReply: true}))
		pass(700 * time.Millisecond) // two renewals are due, applied, and not heard of
		s.script(nil)
		if err := c.Complete(context.Background(), Payload{Bytes: []byte("a")}); err != nil {
			t.Errorf("the settle after renewals without a reply: %v", err)
		}
		if r, _ := s.record(t); r.state != StateSucceeded {
			t.Errorf("the record is %s, want succeeded", r.state)
		}
		wantVerdict(t, c, Executed)
	})
}

// Faults: 2, 3, 4.
func TestP2_AnothersRecordIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s, policy(func(p *Policy) { p.OnCrash = Retake }))
		old := won(t, g, testIntent("k"))
		s.script(only("renew", fault{refuse: true}))
		pass(1100 * time.Millisecond)
		s.script(nil)
		next := won(t, guardOn(t, s, policy(func(p *Policy) { p.OnCrash = Retake })), testIntent("k"))
		before, _ := s.record(t)
		if err := old.Complete(context.Background(), Payload{}); !errors.Is(err, ErrClaimLost) {
			t.Errorf("a settle over another's claim: %v, want ErrClaimLost", err)
		}
		wantVerdict(t, old, Unprotected)
		if after, _ := s.record(t); after.owner != before.owner || after.state != StateProcessing {
			t.Errorf("the next owner's claim was changed to %+v", after)
		}
		if g.Stats().Stale != 1 {
			t.Errorf("stale counted %d times, want 1", g.Stats().Stale)
		}
		if next.Fence() <= old.rec.fence {
			t.Errorf("fence %d after %d does not grow", next.Fence(), old.rec.fence)
		}
		next.End(context.Background())
	})
}

// Faults: 12.
func TestP2_WhatTheStoreLostIsWrittenAnew(t *testing.T) {
	for _, row := range []struct {
		name string
		end  func(*Claim) error
		want State
	}{
		{"complete", func(c *Claim) error { return c.Complete(context.Background(), Payload{}) }, StateSucceeded},
		{"fail", func(c *Claim) error { return c.Fail(context.Background(), Payload{}) }, StateFailed},
		{"doubt", func(c *Claim) error { return c.Doubt(context.Background()) }, StateUncertain},
		{"release", func(c *Claim) error { return c.Release(context.Background()) }, StateAbsent},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				g := guardOn(t, s)
				c := won(t, g, testIntent("k"))
				s.mu.Lock()
				clear(s.items)
				s.mu.Unlock()
				if err := row.end(c); err != nil {
					t.Error(err)
				}
				if r, _ := s.record(t); r.state != row.want {
					t.Errorf("the record is %s, want %s", r.state, row.want)
				}
				if g.Stats().Recreated != 1 {
					t.Errorf("recreated counted %d times, want 1", g.Stats().Recreated)
				}
			})
		})
	}
}

// Faults: 9.
func TestP3_AClaimWhoseReplyWasLostIsOurs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for lost := 1; lost <= 2; lost++ {
			s := newShelf()
			g := guardOn(t, s)
			s.first(lost, "claim", fault{loseReply: true})
			c := claimed(t, g, testIntent("k"))
			if !c.Won() {
				t.Fatalf("after %d lost replies our own claim reads %s", lost, c.Verdict())
			}
			c.End(context.Background())
		}
	})
}

// Faults: 1.
func TestP4_ALongHandlerKeepsItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s, policy(func(p *Policy) { p.OnCrash = Retake }))
		other := guardOn(t, s, policy(func(p *Policy) { p.OnCrash = Retake }))
		c := won(t, g, testIntent("k"))
		for range 10 {
			pass(time.Second)
			wantVerdict(t, claimed(t, other, testIntent("k")), InFlight)
		}
		if err := c.Context().Err(); err != nil {
			t.Errorf("the context of a renewed claim ended: %v", context.Cause(c.Context()))
		}
		if err := c.Complete(context.Background(), Payload{}); err != nil {
			t.Error(err)
		}
		wantVerdict(t, claimed(t, other, testIntent("k")), Replayed)
	})
}

func TestP4_MaxRunEndsTheRunAndItsRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s, policy(func(p *Policy) { p.MaxRun = 5 * time.Second }))
		c := won(t, g, testIntent("k"))
		defer c.End(context.Background())
		pass(5*time.Second + time.Millisecond)
		synctest.Wait()
		if cause := context.Cause(c.Context()); cause != ErrMaxRun {
			t.Fatalf("after MaxRun the context's cause is %v", cause)
		}
		renewals := s.count("renew")
		pass(2 * time.Second) // I14: no claim outlives MaxRun + one lease
		if got := s.count("renew"); got != renewals {
			t.Errorf("%d renewals after MaxRun", got-renewals)
		}
		wantVerdict(t, claimed(t, guardOn(t, s), testIntent("k")), Uncertain)
	})
}

// Faults: 5.
func TestP5_AnOwnerStopsBeforeItsLeaseDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		c := won(t, g, testIntent("k"))
		s.script(only("renew", fault{refuse: true}))
		defer c.End(context.Background())
		start := time.Now()
		select {
		case <-c.Context().Done():
		case <-time.After(time.Minute):
			t.Fatal("nothing ended the run of an owner that cannot renew")
		}
		if cause := context.Cause(c.Context()); cause != ErrClaimLost {
			t.Fatalf("cause %v, want ErrClaimLost", cause)
		}
		if took := time.Since(start); took > 900*time.Millisecond {
			t.Errorf("the context ended after %v, want lease − margin = 900ms", took)
		}
		s.script(nil)
		pass(time.Second)
		if renewals := s.count("renew"); renewals == 0 {
			t.Error("a failed renewal was not tried again")
		}
		if c.Context().Err() == nil {
			t.Error("an owner whose deadline passed came back")
		}
	})
}

// The deadline counts from the first send of the value that is in the store: a
// resend, or a reply that came late, does not move it.
func TestP5_TheDeadlineCountsFromTheFirstSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		s.first(2, "claim", fault{loseReply: true})
		slow := func(c shelfCall) fault {
			if c.step == "claim" && c.n == 2 {
				return fault{slow: 9 * time.Millisecond}
			}
			if c.step == "claim" {
				return fault{loseReply: true}
			}
			return fault{}
		}
		s.script(slow)
		sent := time.Now()
		c := won(t, g, testIntent("k"))
		if want := sent.Add(900 * time.Millisecond); !c.deadline.Equal(want) {
			t.Errorf("deadline %v after the first send, want 900ms", c.deadline.Sub(sent))
		}
		c.End(context.Background())
	})
}

// Faults: 6.
func TestP5_ABlipIsNotALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		c := won(t, g, testIntent("k"))
		s.first(5, "renew", fault{refuse: true})
		pass(5 * time.Second)
		if err := c.Context().Err(); err != nil {
			t.Errorf("five failed renewals in a row within the lease ended the run: %v", context.Cause(c.Context()))
		}
		c.End(context.Background())
	})
}

func TestP6_ARefusalWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g, other := guardOn(t, s), guardOn(t, s)
		c := won(t, g, testIntent("k"))
		before, left := s.record(t)
		different := testIntent("k")
		different.Fingerprint.Sum[0]++
		pass(10 * time.Millisecond)
		for _, in := range []Intent{testIntent("k"), different} {
			if refused := claimed(t, other, in); refused.Won() {
				t.Fatal("won what another owner runs")
			}
		}
		after, rest := s.record(t)
		if string(after.append(nil)) != string(before.append(nil)) || rest != left-10*time.Millisecond {
			t.Errorf("a refusal changed the record or its time to live: %v → %v", left, rest)
		}
		c.End(context.Background())
	})
}

// Faults: 15.
func TestP7_TheRunOutlivesItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		ctx, leave := context.WithCancel(context.WithValue(context.Background(), testKey{}, "kept"))
		_, verdict, err := Do(ctx, g, testIntent("k"), JSON[string](), func(ctx context.Context) (string, error) {
			leave()
			pass(time.Millisecond)
			if ctx.Err() != nil || ctx.Value(testKey{}) != "kept" {
				t.Errorf("the client left: context %v, value %v; want it running, with its values", ctx.Err(), ctx.Value(testKey{}))
			}
			return "done", ctx.Err()
		})
		if verdict != Executed || err != nil {
			t.Errorf("verdict %s, %v", verdict, err)
		}
		wantVerdict(t, claimed(t, g, testIntent("k")), Replayed)
	})
}

type testKey struct{}

func TestP9_TheIdentityIsComputedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		in, err := g.Verify(context.Background(), testIntent("k"))
		if err != nil {
			t.Fatal(err)
		}
		c := won(t, g, in)
		name := c.id.name
		if err := MarkEffects(c.Context()); err != nil {
			t.Fatal(err)
		}
		pass(400 * time.Millisecond)
		if err := c.Complete(context.Background(), Payload{}); err != nil {
			t.Fatal(err)
		}
		if want := RecordName(testNameKey, "idem:", testOperation, "alice", KindKey, "k"); name != want {
			t.Errorf("the claim's record is not the one operators compute: %s", name)
		}
		for _, call := range s.calls {
			if !isCard(call.name) && call.name != name {
				t.Errorf("step %s went to another record", call.step)
			}
		}
		wantVerdict(t, claimed(t, g, in), Replayed)
	})
}

// Faults: 13.
func TestP10_EveryExitSettles(t *testing.T) {
	type row struct {
		name string
		run  func() (string, error)
		want map[Choice]State
	}
	byPolicy := map[Choice]State{Release: StateReleased, Doubt: StateUncertain, Keep: StateFailed}
	for _, r := range []row{
		{"return", func() (string, error) { return "a", nil }, map[Choice]State{Release: StateSucceeded, Doubt: StateSucceeded, Keep: StateSucceeded}},
		{"error", func() (string, error) { return "", errShelf }, byPolicy},
		{"panic", func() (string, error) { panic("boom") }, byPolicy},
		{"goexit", func() (string, error) { runtime.Goexit(); return "", nil }, byPolicy},
	} {
		for on5xx, want := range r.want {
			t.Run(r.name+" "+string(on5xx), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newShelf()
					g := guardOn(t, s, policy(func(p *Policy) { p.On5xx = on5xx }))
					var raised any
					var over sync.WaitGroup
					over.Go(func() {
						defer func() { raised = recover() }()
						_, _, _ = Do(context.Background(), g, testIntent("k"), JSON[string](), func(context.Context) (string, error) { return r.run() })
					})
					over.Wait()
					if got, _ := s.record(t); got.state != want {
						t.Errorf("the record is %s, want %s", got.state, want)
					}
					if r.name == "panic" && raised != "boom" {
						t.Errorf("the panic was re-raised as %v", raised)
					}
				})
			})
		}
	}
}

// Faults: 8, 14.
func TestP11_EveryWriteLivesForTheRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		c := won(t, g, testIntent("k"))
		pass(400 * time.Millisecond)
		_ = MarkEffects(c.Context())
		c.End(context.Background())
		token := issued(t, g, time.Now().Add(-time.Hour))
		_ = claimed(t, g, tokenIntent(token))
		for _, call := range s.calls {
			if call.do != "load" && !isCard(call.name) && call.ttl != 24*time.Hour {
				t.Errorf("%s by %s lives for %v, want the retention", call.step, call.do, call.ttl)
			}
		}
	})
}

func TestI11_AClaimWonTooLateIsNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		// The clock of this host jumps while the claim is on its way.
		var jump atomic.Int64
		g := guardOn(t, s, func(c *Config) {
			c.Clock = func() time.Time { return time.Now().Add(time.Duration(jump.Load())) }
		})
		s.script(func(c shelfCall) fault {
			if c.step == "claim" {
				jump.Store(int64(950 * time.Millisecond))
			}
			return fault{}
		})
		c, err := g.Claim(context.Background(), testIntent("k"))
		if c.Won() || !errors.Is(err, ErrUnavailable) {
			t.Fatalf("a claim with less than its margin left was started (%v)", err)
		}
		pass(2 * time.Second)
		if r, _ := s.record(t); r.state != StateReleased {
			t.Errorf("a claim that was never started is %s, want it given back", r.state)
		}
		if st := g.Stats(); st.Unknown != 1 || st.Mended != 1 {
			t.Errorf("%d claims went to the janitor, %d were dealt with; want one of one", st.Unknown, st.Mended)
		}
	})
}
