package idem

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// bell is a shelf that wakes those who watch.
type bell struct {
	*shelf
	mu      sync.Mutex
	watches map[*bellWatch]string
	rung    int    // Swaps that said to wake
	deaf    bool   // wakes nobody
	before  func() // called by Watch before it stands
}

type bellWatch struct{ wake func() }

func newBell() *bell { return &bell{shelf: newShelf(), watches: map[*bellWatch]string{}} }

func (b *bell) Watch(_ context.Context, name string, wake func()) (func(), error) {
	if b.before != nil {
		b.before()
	}
	w := &bellWatch{wake}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watches[w] = name
	return func() { b.mu.Lock(); defer b.mu.Unlock(); delete(b.watches, w) }, nil
}

func (b *bell) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (Result, error) {
	r, err := b.shelf.Swap(ctx, name, old, value, ttl)
	if r.Done && Wakes(ctx) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.rung++
		for w, watched := range b.watches {
			if watched == name && !b.deaf {
				w.wake()
			}
		}
	}
	return r, err
}

func (b *bell) watching() int { b.mu.Lock(); defer b.mu.Unlock(); return len(b.watches) }

// looks is how many calls were made to see what is there, or to claim it.
func (s *shelf) looks() int { return s.count("claim") + s.count("load") }

// answers has n callers ask at once, and returns what they were told, and when
// after the start.
func answers(g *Guard, n int, run func() string) (told []answered, after []time.Duration) {
	told, after = make([]answered, n), make([]time.Duration, n)
	start := time.Now()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			v, verdict, err := Do(context.Background(), g, testIntent("k"), JSON[string](), func(context.Context) (string, error) { return run(), nil })
			told[i], after[i] = answered{v, verdict, err}, time.Since(start)
		})
	}
	all.Wait()
	return told, after
}

// TestS8_AHotRecordCostsOneCallAnInterval: a thousand losers in one process, a
// run in another (FAULTS 55).
//
// Faults: 55.
func TestS8_AHotRecordCostsOneCallAnInterval(t *testing.T) {
	const losers, runs = 1000, 2250 * time.Millisecond
	for _, row := range []struct {
		name   string
		store  func() (Store, *shelf)
		within time.Duration // after the run, everybody has its answer
		most   int           // calls of the losers' process
	}{
		// The claim attempt, a look each half second.
		{"a store that wakes nobody", func() (Store, *shelf) { s := newShelf(); return s, s }, slowPoll, 1 + 5},
		// The same with a look for the time left.
		{"one that does not tell the time left", func() (Store, *shelf) { s := newShelf(); s.untold = true; return s, s }, slowPoll, 2 + 5},
		// The claim attempt, the look that comes after the subscription, one each half
		// second, and one when woken.
		{"one that wakes", func() (Store, *shelf) { b := newBell(); return b, b.shelf }, 10 * time.Millisecond, 2 + 4 + 1},
		{"one that wakes and does not tell the time left", func() (Store, *shelf) { b := newBell(); b.untold = true; return b, b.shelf }, 10 * time.Millisecond, 2 + 4 + 1},
		{"one whose wake-ups are lost", func() (Store, *shelf) { b := newBell(); b.deaf = true; return b, b.shelf }, slowPoll, 2 + 5},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, s := row.store()
				c := won(t, guardOn(t, store, waiting), testIntent("k"))
				there := guardOn(t, store, waiting)
				s.script(func(shelfCall) fault { return fault{slow: time.Millisecond} }) // so that they meet
				before := s.looks()
				go func() { pass(runs); _ = c.Complete(context.Background(), Payload{Bytes: []byte(`"the run's"`)}) }()
				told, after := answers(there, losers, func() string { return "another run's" })
				for i, a := range told {
					if a.value != "the run's" || a.verdict != Replayed || a.err != nil || after[i] > runs+row.within {
						t.Fatalf("loser %d was told %+v after %v", i, a, after[i])
					}
				}
				if made := s.looks() - before; made > row.most {
					t.Errorf("%d losers made %d calls in %v, want %d at most", losers, made, after[0], row.most)
				}
				if b, ok := store.(*bell); ok && b.watching() != 0 {
					t.Errorf("%d watches are left", b.watching())
				}
			})
		})
	}
}

func TestS8_RefusedDuplicatesShareALookToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.untold = true
		c := won(t, guardOn(t, s), testIntent("k"))
		there := guardOn(t, s)
		s.script(func(shelfCall) fault { return fault{slow: time.Millisecond} })
		before := s.looks()
		told, after := answers(there, 1000, func() string { return "another run's" })
		for i, a := range told {
			if a.verdict != InFlight || after[i] > 10*time.Millisecond {
				t.Fatalf("one of a thousand was told %+v after %v", a, after[i])
			}
		}
		// The claim attempt, what its record has left, and perhaps another look for
		// those who came meanwhile.
		if made := s.looks() - before; made > 4 {
			t.Errorf("a thousand at once made %d calls", made)
		}
		before = s.looks()
		for range 1000 {
			pass(2 * time.Millisecond)
			wantVerdict(t, claimed(t, there, testIntent("k")), InFlight)
		}
		if made := s.looks() - before; made > 5 {
			t.Errorf("a thousand over two seconds made %d calls, want one each half second", made)
		}
		_ = c.Complete(context.Background(), Payload{})
		pass(slowPoll)
		wantVerdict(t, claimed(t, there, testIntent("k")), Replayed)
	})
}

// Only in a storm is somebody refused for what was seen before he came: else who
// comes after an end hears of it at once.
func TestS8_ARefusalIsNotOlderThanItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		c := won(t, guardOn(t, s), testIntent("k"))
		there := guardOn(t, s)
		for range storm / 2 {
			wantVerdict(t, claimed(t, there, testIntent("k")), InFlight)
		}
		_ = c.Complete(context.Background(), Payload{})
		wantVerdict(t, claimed(t, there, testIntent("k")), Replayed)
	})
}

// What was seen is news for half a second, and while the lease that was seen
// stands, whichever is shorter.
func TestS8_OldNewsIsNotShared(t *testing.T) {
	for _, row := range []struct {
		name  string
		lease time.Duration
		wait  time.Duration
	}{
		{"older than the poll", time.Second, slowPoll},
		{"about a lease that is over", 200 * time.Millisecond, 250 * time.Millisecond},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				quick := policy(func(p *Policy) { p.Lease = row.lease })
				c := won(t, guardOn(t, s, quick), testIntent("k"))
				there := guardOn(t, s, quick)
				for range storm + 2 { // the last of a storm hear of it from the others
					wantVerdict(t, claimed(t, there, testIntent("k")), InFlight)
				}
				before := s.looks()
				wantVerdict(t, claimed(t, there, testIntent("k")), InFlight)
				if made := s.looks() - before; made != 0 {
					t.Errorf("one of a storm made %d calls", made)
				}
				_ = c.Complete(context.Background(), Payload{})
				pass(row.wait)
				wantVerdict(t, claimed(t, there, testIntent("k")), Replayed)
			})
		})
	}
}

func TestS8_AWaiterLooksAfterItSubscribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBell()
		c := won(t, guardOn(t, b, waiting), testIntent("k"))
		b.before = func() { _ = c.Complete(context.Background(), Payload{Bytes: []byte(`"early"`)}) }
		told, after := answers(guardOn(t, b, waiting), 1, func() string { return "another run's" })
		if told[0].value != "early" || after[0] != 0 {
			t.Errorf("a run that ended before the subscription stood: told %+v after %v, want at once", told[0], after[0])
		}
	})
}

func TestS8_OnlyAnEndWakes(t *testing.T) {
	for _, row := range []struct {
		name string
		end  func(*Claim) error
	}{
		{"complete", func(c *Claim) error { return c.Complete(context.Background(), Payload{}) }},
		{"fail", func(c *Claim) error { return c.Fail(context.Background(), Payload{}) }},
		{"release", func(c *Claim) error { return c.Release(context.Background()) }},
		{"doubt", func(c *Claim) error { return c.Doubt(context.Background()) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBell()
				c := won(t, guardOn(t, b, waiting), testIntent("k"))
				pass(5 * time.Second)
				if b.count("renew") < 5 || b.rung != 0 {
					t.Fatalf("%d renewals woke %d times", b.count("renew"), b.rung)
				}
				if err := row.end(c); err != nil || b.rung != 1 {
					t.Errorf("its end woke %d times, %v", b.rung, err)
				}
				d := won(t, guardOn(t, b), testIntent("another"))
				_ = d.Complete(context.Background(), Payload{})
				if b.rung != 1 {
					t.Error("an end that nobody may wait for woke")
				}
			})
		})
	}
}

// Of all who waited for a run that was released, one in each process tries.
func TestS8_OneOfTheWaitersClaims(t *testing.T) {
	const each = 200
	for _, row := range []struct {
		name  string
		other bool
	}{{"beside the run", false}, {"in another process", true}} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBell()
				g := guardOn(t, b, waiting)
				c := won(t, g, testIntent("k"))
				if row.other {
					g = guardOn(t, b, waiting)
				}
				var before int
				go func() {
					pass(time.Second)
					before = b.count("claim")
					b.script(only("claim", fault{slow: time.Millisecond})) // so that tries meet
					_ = c.Release(context.Background())
				}()
				told, _ := answers(g, each, func() string { pass(time.Second); return "corrected" })
				verdicts := map[Verdict]int{}
				for _, a := range told {
					verdicts[a.verdict]++
					if a.value != "corrected" || a.err != nil {
						t.Fatalf("a waiter was told %+v", a)
					}
				}
				if verdicts[Executed] != 1 || verdicts[Replayed] != each-1 {
					t.Errorf("verdicts %v, want one run", verdicts)
				}
				if tries := b.count("claim") - before; tries != 1 {
					t.Errorf("%d of %d waiters tried to claim, want one", tries, each)
				}
			})
		})
	}
}

func TestS8_EveryWaiterHasItsOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBell()
		c := won(t, guardOn(t, b, waiting), testIntent("k"))
		there := guardOn(t, b, waiting)
		var all sync.WaitGroup
		for seconds := range 4 {
			all.Go(func() {
				start, in := time.Now(), testIntent("k")
				in.Wait = time.Duration(seconds) * time.Second
				want := in.Wait
				if seconds == 0 {
					want = 5 * time.Second // the policy's
				}
				wantVerdict(t, claimed(t, there, in), InFlight)
				if took := time.Since(start); took != want {
					t.Errorf("waited %v, want %v", took, want)
				}
			})
		}
		ctx, leave := context.WithCancel(context.Background())
		all.Go(func() {
			start := time.Now()
			if _, err := there.Claim(ctx, testIntent("k")); err != nil || time.Since(start) != 700*time.Millisecond {
				t.Errorf("a client that left after 700ms waited %v (%v)", time.Since(start), err)
			}
		})
		pass(700 * time.Millisecond)
		leave()
		if n := b.watching(); n != 1 {
			t.Errorf("%d subscriptions for one record", n)
		}
		all.Wait()
		if n := b.watching(); n != 0 {
			t.Errorf("%d subscriptions are left by nobody", n)
		}
		_ = c.Complete(context.Background(), Payload{})
	})
}

func TestS8_TheSurplusOfWaitersIsRefusedInEveryProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBell()
		c := won(t, guardOn(t, b, waiting), testIntent("k"))
		go func() { pass(time.Second); _ = c.Complete(context.Background(), Payload{Bytes: []byte(`""`)}) }()
		_, after := answers(guardOn(t, b, waiting), maxRecordWaiters+50, func() string { return "another run's" })
		early := 0
		for _, took := range after {
			if took == 0 {
				early++
			}
		}
		if early != 50 {
			t.Errorf("%d were refused at once, want 50", early)
		}
	})
}

// A store that fails is asked by one, and all who came meanwhile hear of it: they
// do not fail one after the other.
func TestS8_AFailureIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s, waiting)
		s.script(func(shelfCall) fault { return fault{slow: time.Minute} }) // until its context is over
		told, after := answers(g, 1000, func() string { return "a run" })
		for i, a := range told {
			if a.verdict != Unavailable || !errors.Is(a.err, ErrUnavailable) || after[i] > askTries*10*time.Millisecond {
				t.Fatalf("told %+v after %v", a, after[i])
			}
		}
		if made := s.count("claim"); made != askTries {
			t.Errorf("%d calls, want %d", made, askTries)
		}
		s.script(nil)
		pass(5 * time.Second) // the janitor's
		if c := claimed(t, g, testIntent("k")); !c.Won() {
			t.Errorf("afterwards: %s", c.Verdict())
		} else {
			c.End(context.Background())
		}
	})
}

// Many who ask for what is done look together, and each is judged for itself.
func TestS8_ACrowdOfRepeatsIsAnsweredByFewLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		c := won(t, guardOn(t, s), testIntent("k"))
		_ = c.Complete(context.Background(), Payload{Bytes: []byte(`"kept"`)})
		there := guardOn(t, s)
		s.script(func(shelfCall) fault { return fault{slow: time.Millisecond} })
		before := s.looks()
		var all sync.WaitGroup
		for i := range 500 {
			all.Go(func() {
				in, want := testIntent("k"), Replayed
				if i%2 == 1 {
					in.Fingerprint.Sum[0], want = 9, Conflict
				}
				wantVerdict(t, claimed(t, there, in), want)
			})
		}
		all.Wait()
		if made := s.looks() - before; made > 3 {
			t.Errorf("500 repeats at once made %d calls", made)
		}
	})
}

func TestI12_CloseEndsTheWaitForAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBell()
		c := won(t, guardOn(t, b, waiting), testIntent("k"))
		there := guardOn(t, b, waiting)
		go func() { pass(time.Second); _ = there.Close(context.Background()) }()
		told, after := answers(there, 10, func() string { return "another run's" })
		for i, a := range told {
			if a.verdict != InFlight || after[i] != time.Second {
				t.Errorf("told %+v after %v", a, after[i])
			}
		}
		if n := b.watching(); n != 0 {
			t.Errorf("%d watches are left after Close", n)
		}
		c.End(context.Background())
	})
}

// Who goes ahead may come to grief, and those who came after it go on.
func TestS8_APanicOfAStorePassesTheTurnOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s, waiting)
		s.script(func(c shelfCall) fault {
			if c.step == "claim" && c.n == 0 {
				pass(time.Millisecond)
				panic("a store's")
			}
			return fault{}
		})
		go func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was lost")
				}
			}()
			_, _ = g.Claim(context.Background(), testIntent("k"))
		}()
		synctest.Wait()
		told, _ := answers(g, 20, func() string { return "the run's" })
		for _, a := range told {
			if a.value != "the run's" || a.err != nil {
				t.Errorf("told %+v", a)
			}
		}
	})
}
