package idem

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// waiting is a policy whose duplicates wait five seconds.
var waiting = policy(func(p *Policy) { p.OnDuplicate = Wait })

type answered struct {
	value   string
	verdict Verdict
	err     error
}

// Faults: 55.
func TestWaitersGetTheRunsAnswer(t *testing.T) {
	for _, row := range []struct {
		name  string
		other bool // the waiters stand in another process
		loads int  // at most this many looks at the store
	}{
		{"in this process, without a look at the store", false, 0},
		{"in another process, by the slow poll", true, 5 * 50},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				g := guardOn(t, s, waiting)
				c := won(t, g, testIntent("k"))
				asked := g
				if row.other {
					asked = guardOn(t, s, waiting)
				}
				before := s.count("load") + s.count("claim")
				got := make(chan answered, 50)
				for range cap(got) {
					go func() {
						v, verdict, err := Do(context.Background(), asked, testIntent("k"), JSON[string](), func(context.Context) (string, error) { return "second run", nil })
						got <- answered{v, verdict, err}
					}()
				}
				pass(2*time.Second + slowPoll/2) // between two polls: at one, a look may be on its way
				_ = c.Complete(context.Background(), Payload{Bytes: []byte(`"first run"`)})
				for range cap(got) {
					if a := <-got; a.value != "first run" || a.verdict != Replayed || a.err != nil {
						t.Fatalf("a waiter got %+v", a)
					}
				}
				looks := s.count("load") + s.count("claim") - before
				if !row.other && looks > row.loads || looks > row.loads+2*cap(got) {
					t.Errorf("%d looks at the store", looks)
				}
			})
		})
	}
}

func TestAWaiterOfAReleasedRunRunsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s, waiting)
		c := won(t, g, testIntent("k"))
		got := make(chan answered, 20)
		for range cap(got) {
			go func() {
				v, verdict, err := Do(context.Background(), g, testIntent("k"), JSON[string](), func(context.Context) (string, error) {
					pass(time.Second)
					return "corrected", nil
				})
				got <- answered{v, verdict, err}
			}()
		}
		pass(time.Second)
		_ = c.Release(context.Background())
		count := map[Verdict]int{}
		for range cap(got) {
			a := <-got
			count[a.verdict]++
			if a.value != "corrected" || a.err != nil {
				t.Errorf("got %+v", a)
			}
		}
		if count[Executed] != 1 || count[Replayed] != 19 {
			t.Errorf("verdicts %v, want one run and 19 replays", count)
		}
	})
}

func TestAWaitEndsByItsOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guardOn(t, newShelf(), waiting)
		c := won(t, g, testIntent("k"))
		defer c.End(context.Background())
		start := time.Now()
		refused := claimed(t, g, testIntent("k"))
		wantVerdict(t, refused, InFlight)
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("waited %v, want the policy's 5s", took)
		}
		if r := refused.Refused(); !errors.Is(r, ErrInFlight) || r.RetryAfter < time.Second || r.RetryAfter > 120*time.Second {
			t.Errorf("refused with %v, retry after %v", r, r.RetryAfter)
		}
		ctx, leave := context.WithCancel(context.Background())
		go func() { pass(time.Second); leave() }()
		start = time.Now()
		if _, err := g.Claim(ctx, testIntent("k")); err != nil || time.Since(start) != time.Second {
			t.Errorf("a client that left waited %v (%v)", time.Since(start), err)
		}
		if c.Context().Err() != nil {
			t.Error("a waiter that gave up ended the run it waited for")
		}
	})
}

// Faults: 55.
func TestTheSurplusOfWaitersIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guardOn(t, newShelf(), waiting)
		c := won(t, g, testIntent("k"))
		got := make(chan time.Duration, maxRecordWaiters+50)
		start := time.Now()
		for range cap(got) {
			go func() {
				_, _ = g.Claim(context.Background(), testIntent("k"))
				got <- time.Since(start)
			}()
		}
		pass(time.Second)
		_ = c.Complete(context.Background(), Payload{})
		early := 0
		for range cap(got) {
			if <-got == 0 {
				early++
			}
		}
		if early != 50 {
			t.Errorf("%d were refused at once, want 50", early)
		}
	})
}

func TestRejectDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guardOn(t, newShelf())
		c := won(t, g, testIntent("k"))
		defer c.End(context.Background())
		start := time.Now()
		wantVerdict(t, claimed(t, g, testIntent("k")), InFlight)
		if took := time.Since(start); took != 0 {
			t.Errorf("a reject took %v", took)
		}
	})
}

func TestRetryAfterFollowsTheUsualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guardOn(t, newShelf(), policy(func(p *Policy) { p.Lease = 10 * time.Second }))
		for _, key := range []string{"a", "b", "c"} {
			c := won(t, g, testIntent(key))
			pass(4 * time.Second)
			_ = c.Complete(context.Background(), Payload{})
		}
		c := won(t, g, testIntent("k"))
		defer c.End(context.Background())
		pass(time.Second)
		if r := claimed(t, g, testIntent("k")).Refused(); r.RetryAfter != 3*time.Second {
			t.Errorf("a run of usually 4s that began 1s ago: retry after %v, want 3s", r.RetryAfter)
		}
		pass(4 * time.Second)
		if r := claimed(t, g, testIntent("k")).Refused(); r.RetryAfter <= 5*time.Second || r.RetryAfter > 10*time.Second {
			t.Errorf("past its usual time: retry after %v, want the lease's rest", r.RetryAfter)
		}
	})
}
