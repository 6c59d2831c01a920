package idem

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Given three processes under hold, of which one dies in the middle of its runs,
// when many send the same keys at once, then a key ran once, and once more for
// each release.
//
// Faults: 14.
func TestI9_NoMoreRunsThanSomethingAccountsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys, requests = 40, 2000
		s := newShelf()
		dead := &downStore{shelf: s}
		guards := []*Guard{guardOn(t, s), guardOn(t, s), guardOn(t, dead)}
		s.script(only("claim", fault{slow: 2 * time.Millisecond})) // so that claims meet
		var mu sync.Mutex
		runs, releases, died := map[string]int{}, map[string]int{}, 0
		rng := rand.New(rand.NewPCG(9, 9))
		var clients sync.WaitGroup
		for range requests {
			key, who := rng.IntN(keys), rng.IntN(3)
			at, takes, fails := time.Duration(key*4+rng.IntN(40))*50*time.Millisecond, time.Duration(rng.IntN(800))*time.Millisecond, rng.IntN(4) == 0
			clients.Go(func() {
				pass(at)
				name := fmt.Sprint("key ", key)
				_, verdict, _ := Do(context.Background(), guards[who], testIntent(name), JSON[int](), func(context.Context) (int, error) {
					mu.Lock()
					runs[name]++
					mu.Unlock()
					pass(takes)
					if who == 2 && !fails {
						pass(10 * time.Second)
						mu.Lock()
						died++
						mu.Unlock()
					}
					if fails {
						return 0, errShelf
					}
					return 1, nil
				})
				mu.Lock()
				defer mu.Unlock()
				switch verdict {
				case Released:
					releases[name]++
				case Unprotected:
					t.Errorf("%s: a claim was lost under hold", name)
				}
			})
		}
		clients.Go(func() {
			pass(5 * time.Second)
			dead.set(true)
		})
		clients.Wait()
		for key, n := range runs {
			if most := 1 + releases[key]; n > most {
				t.Errorf("%s ran %d times, with %d releases", key, n, releases[key])
			}
		}
		if len(runs) != keys || died == 0 {
			t.Errorf("%d of %d keys ran, %d runs died with their process", len(runs), keys, died)
		}
	})
}

func TestI12_NoClaimIsLeftAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		s.script(func(c shelfCall) fault {
			switch c.step {
			case "claim":
				return fault{loseReply: true} // the claim is there, and nobody is told so
			case "settle":
				pass(5 * time.Millisecond) // the guard is closed while the janitor is at it
				return fault{refuse: true}
			}
			return fault{}
		})
		if _, err := g.Claim(context.Background(), testIntent("k")); !errors.Is(err, ErrUnavailable) {
			t.Fatal(err)
		}
		pass(2 * time.Millisecond)
		closed := make(chan error)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			closed <- g.Close(ctx)
		}()
		pass(3 * time.Second)
		s.script(nil) // the store is back
		if err := <-closed; err != nil {
			t.Errorf("close: %v", err)
		}
		if r, _ := s.record(t); r.state != StateReleased {
			t.Errorf("the guard is closed and has left a claim: %s", r.state)
		}
	})
}

// Given a claim of unknown outcome and a store that is away, when the store
// comes back and answers anybody, then a lease and a janitor's period later nothing
// is open. (A process that asks it nothing finds out by the janitor itself, whose
// period grows with the outage: TestS8_TheJanitorBacksOff.)
func TestI13_AnUnknownClaimEndsWithinALeaseAndAPeriod(t *testing.T) {
	const away = 5 * time.Second
	for name, f := range map[string]fault{
		"never applied":                  {refuse: true},
		"applied, the reply lost":        {loseReply: true},
		"lands when the store is back":   {late: away + 300*time.Millisecond},
		"lands before the store is back": {late: away - time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				g := guardOn(t, s)
				s.script(func(c shelfCall) fault {
					if c.step == "claim" {
						return f
					}
					return fault{refuse: true}
				})
				if _, err := g.Claim(context.Background(), testIntent("k")); !errors.Is(err, ErrUnavailable) {
					t.Fatal(err)
				}
				pass(away)
				s.script(nil)
				answersAnybody(t, g)
				pass(time.Second + janitorPeriod)
				if r, _ := s.record(t); r.state != StateReleased {
					t.Errorf("the record is %s", r.state)
				}
				if st := g.Stats(); st.Unknown != 1 || st.Mended != 1 {
					t.Errorf("%d claims of unknown outcome, %d mended", st.Unknown, st.Mended)
				}
				won(t, guardOn(t, s), testIntent("k")).End(context.Background())
				s.late.Wait()
			})
		})
	}
	t.Run("an outcome", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newShelf()
			g := guardOn(t, s)
			c := won(t, g, testIntent("k"))
			s.script(func(shelfCall) fault { return fault{refuse: true} })
			_ = c.Complete(context.Background(), Payload{})
			pass(away)
			s.script(nil)
			answersAnybody(t, g)
			pass(time.Second + janitorPeriod)
			if r, _ := s.record(t); r.state != StateSucceeded {
				t.Errorf("the record is %s", r.state)
			}
		})
	})
}

// answersAnybody has the store answer one call of a guard.
func answersAnybody(t *testing.T, g *Guard) {
	t.Helper()
	if err := g.Ready(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// Given a handler that is deaf to its context and goes on marking, when MaxRun
// and a lease are over, then nobody has to wait for it any more.
func TestI14_NoClaimOutlivesMaxRunAndALease(t *testing.T) {
	const maxRun, lease = 5 * time.Second, time.Second
	for _, marks := range []bool{false, true} {
		t.Run(fmt.Sprintf("marks %v", marks), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				g := guardOn(t, s, policy(func(p *Policy) { p.MaxRun = maxRun }))
				c := won(t, g, testIntent("k"))
				begun := time.Now()
				stop, stopped := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(stopped)
					for {
						select {
						case <-stop:
							return
						case <-time.After(100 * time.Millisecond):
						}
						if !marks {
							continue
						}
						err, late := c.MarkEffects(context.Background()), time.Since(begun) >= maxRun
						if late != errors.Is(err, ErrClaimLost) {
							t.Errorf("marked %v after it began: %v", time.Since(begun), err)
						}
					}
				}()
				pass(maxRun - 10*time.Millisecond)
				other := guardOn(t, s)
				wantVerdict(t, claimed(t, other, testIntent("k")), InFlight)
				pass(10*time.Millisecond + lease)
				wantVerdict(t, claimed(t, other, testIntent("k")), Uncertain)
				pass(3 * lease)
				wantVerdict(t, claimed(t, other, testIntent("k")), Uncertain)
				close(stop)
				<-stopped
				if cause := context.Cause(c.Context()); cause != ErrMaxRun {
					t.Errorf("the run's context ended by %v", cause)
				}
				c.End(context.Background())
			})
		})
	}
}
