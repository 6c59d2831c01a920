package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/stores/redisstore"
)

// jammed is a store over a server that has fallen silent while the store's one
// pipeline is under way: what comes now has to wait. Patient is a deadline that
// outlasts the jam.
func jammed(t *testing.T, change ...func(*redisstore.Options)) (s *redisstore.Store, m string, resume func(), first chan error) {
	t.Helper()
	m = redistest.Miniredis(t).Addr()
	s, _, resume, first = jam(t, m, change...)
	return s, m, resume, first
}

// jam is jammed before a server of the test's own choice.
func jam(t *testing.T, addr string, change ...func(*redisstore.Options)) (s *redisstore.Store, proxy *redistest.Proxy, resume func(), first chan error) {
	t.Helper()
	proxy = redistest.NewProxy(t, addr)
	s = open(t, proxy.Addr(), append([]func(*redisstore.Options){unhurried, func(o *redisstore.Options) { o.Pipelines = 1 }}, change...)...)
	resume = proxy.Stall()
	first = make(chan error, 1)
	go func() {
		_, err := s.Create(briefly(t, 30*time.Second), "first", []byte("v"), time.Minute)
		first <- err
	}()
	eventually(t, "the pipeline under way", func() bool { return s.Stats().Flying == 1 })
	return s, proxy, resume, first
}

func waits(t *testing.T, s *redisstore.Store, n int) {
	t.Helper()
	eventually(t, fmt.Sprint(n, " commands that wait"), func() bool {
		st := s.Stats()
		if st.Flying > 1 {
			t.Fatalf("%d pipelines are under way", st.Flying)
		}
		return st.Waiting == n
	})
}

// Given a pipeline under way, when more callers come, then they wait until it is
// back and leave in one: claims, settles and looks alike, each with its own answer.
func TestS9_CallsThatWaitLeaveTogether(t *testing.T) {
	s, m, resume, first := jammed(t)
	redistest.Do(t, m, "SET", "there", "old", "PX", "60000")
	redistest.Do(t, m, "SET", "swapped", "old", "PX", "60000")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			done(t, "a claim", "Create")(s.Create(briefly(t, 30*time.Second), fmt.Sprint("n", i), []byte("v"), time.Minute))
		})
	}
	all.Go(func() {
		found(t, "a claim of what is there", "Create", "old")(s.Create(briefly(t, 30*time.Second), "there", []byte("v"), time.Minute))
	})
	all.Go(func() { found(t, "a look", "Load", "old")(s.Load(briefly(t, 30*time.Second), "there")) })
	all.Go(func() {
		done(t, "a settle", "Swap")(s.Swap(briefly(t, 30*time.Second), "swapped", []byte("old"), []byte("new"), time.Minute))
	})
	waits(t, s, 24) // a look is two commands
	before := s.Stats()
	resume()
	if err := <-first; err != nil {
		t.Errorf("the first: %v", err)
	}
	all.Wait()
	after := s.Stats()
	// The first, and all others together; and the text of a script that is not known.
	if n := after.Flushes - before.Flushes; n != 3 || after.Largest != 23 {
		t.Errorf("24 calls left in %d pipelines, the largest of %d; want 3, of 23: %+v", n, after.Largest, after)
	}
	if after.Waiting != 0 || after.Flying != 0 || after.Waited <= 0 {
		t.Errorf("afterwards: %+v", after)
	}
}

// Given nobody else, then a call goes at once: no call of many, one after the
// other, is made to wait for company.
func TestS9_ALoneCallerGoesAtOnce(t *testing.T) {
	var told atomic.Int64
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	s := open(t, addr, func(o *redisstore.Options) {
		o.OnFlush = func(f redisstore.Flush) {
			if f.Calls == 1 && f.LongestWait == 0 && f.Took > 0 {
				told.Add(1)
			}
		}
	})
	for i := range 30 {
		done(t, "a claim", "Create")(s.Create(t.Context(), fmt.Sprint("n", i), []byte("v"), time.Minute))
	}
	if st := s.Stats(); st.Flushes != 30 || st.Alone != 30 || st.Waited != 0 || told.Load() != 30 {
		t.Errorf("30 calls alone: %+v; %d of them told", st, told.Load())
	}
}

// Given a caller in the queue, when its context ends or its time is over, then it
// leaves at once, is told that nothing was sent, and nothing ever is.
func TestS9_ACallerMayLeaveTheQueue(t *testing.T) {
	s, m, resume, first := jammed(t, func(o *redisstore.Options) { o.CallTimeout = 20 * time.Millisecond })
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	for _, name := range []string{"cancelled", "cancelled later"} {
		go func() {
			_, err := s.Create(ctx, name, []byte("v"), time.Minute)
			left <- err
		}()
	}
	if _, err := s.Create(t.Context(), "impatient", []byte("v"), time.Minute); !errors.Is(err, redisstore.ErrNotSent) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call without a deadline, twice CallTimeout later: %v", err)
	}
	go func() {
		_, err := s.Create(briefly(t, 10*time.Millisecond), "late", []byte("v"), time.Minute)
		left <- err
	}()
	if err := <-left; !errors.Is(err, redisstore.ErrNotSent) {
		t.Errorf("the first that left: %v", err)
	}
	cancel()
	for range 2 {
		if err := <-left; !errors.Is(err, redisstore.ErrNotSent) {
			t.Errorf("a caller that left: %v", err)
		}
	}
	if st := s.Stats(); st.Waiting != 0 {
		t.Errorf("all have left, and %d commands are said to wait", st.Waiting)
	}
	resume()
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the queue", func() bool { st := s.Stats(); return st.Waiting == 0 && st.Flying == 0 })
	if got := redistest.Do(t, m, "EXISTS", "first", "cancelled", "cancelled later", "impatient", "late"); got != ":1" {
		t.Errorf("of the first and those that left, the server has %s", got)
	}
}

// Given a caller whose call is on the wire together with others, when it leaves,
// then it is told that the outcome is unknown and not that nothing was sent, and
// what it was about to store is stored as it was, whatever the caller does with
// the bytes; the others are served.
func TestS9_WhoLeavesALaterPipelineKnowsNothing(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	proxy := redistest.NewProxy(t, addr)
	s := open(t, proxy.Addr(), func(o *redisstore.Options) { o.Pipelines = 1 })
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	proxy.Before(func() {
		for i := range 2 {
			all.Go(func() {
				mine, value := t.Context(), []byte("mine")
				if i == 1 {
					mine = ctx
				}
				_, err := s.Create(mine, fmt.Sprint("n", i), value, time.Minute)
				copy(value, "gone")
				if i == 1 && (err == nil || errors.Is(err, redisstore.ErrNotSent)) {
					t.Errorf("who left a pipeline on the wire is told: %v", err)
				}
				if i == 0 && err != nil {
					t.Errorf("who stayed is told: %v", err)
				}
			})
		}
		waits(t, s, 2)
		proxy.Before(func() { cancel(); proxy.Delay(500 * time.Millisecond) }, "SET")
	}, "SET")
	done(t, "the first", "Create")(s.Create(t.Context(), "first", []byte("v"), time.Minute))
	all.Wait()
	eventually(t, "both records", func() bool { return redistest.Do(t, addr, "EXISTS", "n0", "n1") == ":2" })
	for _, name := range []string{"n0", "n1"} {
		if got := redistest.Do(t, addr, "GET", name); got != "$4\r\nmine" {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// Too many that wait are turned away, unsent.
func TestAQueueEndsSomewhere(t *testing.T) {
	s, _, resume, first := jammed(t)
	s.Crowd(2)
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			done(t, "within the limit", "Create")(s.Create(briefly(t, 30*time.Second), fmt.Sprint("n", i), []byte("v"), time.Minute))
		})
	}
	waits(t, s, 2)
	if _, err := s.Create(t.Context(), "one too many", []byte("v"), time.Minute); !errors.Is(err, redisstore.ErrNotSent) {
		t.Errorf("one too many: %v", err)
	}
	resume()
	<-first
	all.Wait()
}

// Those who have left take nobody's place in the queue.
func TestAQueueIsOfThoseWhoWait(t *testing.T) {
	s, _, resume, first := jammed(t)
	s.Crowd(2)
	for range 4 {
		if _, err := s.Create(briefly(t, 5*time.Millisecond), "left", []byte("v"), time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who left is told: %v", err)
		}
	}
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			done(t, "within the limit", "Create")(s.Create(briefly(t, 5*time.Second), fmt.Sprint("n", i), []byte("v"), time.Minute))
		})
	}
	waits(t, s, 2)
	resume()
	<-first
	all.Wait()
}

// Many goroutines at once, some of which leave: whoever is told Done is the only
// one, and every answer belongs to its call.
func TestACrowdIsServedOneByOne(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	s := open(t, addr, func(o *redisstore.Options) { o.PipelineSize = 16 })
	const names, callers = 200, 8
	won := make([]atomic.Int64, names)
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for i := range names {
				ctx := t.Context()
				if c == 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, 300*time.Microsecond)
					defer cancel()
				}
				name, mine := fmt.Sprint("crowd:", i), fmt.Sprint(i, "/", c)
				r, err := s.Create(ctx, name, []byte(mine), time.Minute)
				switch {
				case err == nil && r.Done:
					won[i].Add(1)
				case err == nil && !strings.HasPrefix(string(r.Value), fmt.Sprint(i, "/")):
					t.Errorf("%s is told of %q", name, r.Value)
				case err != nil && c > 0:
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	all.Wait()
	for i := range won {
		if n := won[i].Load(); n > 1 {
			t.Errorf("%d callers have name %d", n, i)
		}
	}
	if st := s.Stats(); st.Largest > 16 {
		t.Errorf("a pipeline of %d calls, the limit is 16", st.Largest)
	}
}

// Given callers who do not know of each other and leave in one pipeline, when it
// breaks half-way, then those who were answered know, and the others are told that
// the outcome is unknown, not that nothing was sent: some of it was done.
func TestS9_APipelineOfManyIsKnownByHalves(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	s, proxy, resume, first := jam(t, addr)
	var all sync.WaitGroup
	for i := range 21 {
		all.Go(func() {
			ctx, name := briefly(t, 5*time.Second), fmt.Sprint("n", i)
			if i == 10 {
				if r, err := s.Load(ctx, name); err == nil || r.Value != nil {
					t.Errorf("a look whose reply was lost: %+v, %v", r, err)
				}
				return
			}
			r, err := s.Create(ctx, name, []byte("v"), time.Minute)
			switch known := i < 10; {
			case known && (err != nil || !r.Done):
				t.Errorf("%s was answered before the line went dead: %+v, %v", name, r, err)
			case !known && (err == nil || r.Done || errors.Is(err, redisstore.ErrNotSent)):
				t.Errorf("%s was not answered: %+v, %v", name, r, err)
			}
		})
		waits(t, s, min(i+1, 11)+max(0, i-9)) // one after the other; the look is two
	}
	proxy.Lose(1, "GET")
	resume()
	if err := <-first; err != nil {
		t.Errorf("the first: %v", err)
	}
	all.Wait()
	done(t, "afterwards", "Create")(s.Create(t.Context(), "afterwards", []byte("v"), time.Minute))
	if st := s.Stats(); st.Flying != 0 || st.Waiting != 0 {
		t.Errorf("%+v", st)
	}
}

// A hook that panics takes no place among the pipelines under way with it.
func TestAHookThatPanicsEndsItsFlight(t *testing.T) {
	var angry atomic.Bool
	s := open(t, redistest.Miniredis(t).Addr(), func(o *redisstore.Options) {
		o.Instrument = func(c redis.UniversalClient) error {
			c.AddHook(panics{&angry})
			return nil
		}
	})
	angry.Store(true)
	for range 2 * redisstore.DefaultPipelines {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the hook did not panic")
				}
			}()
			_, _ = s.Create(t.Context(), "a", []byte("v"), time.Minute)
		}()
	}
	angry.Store(false)
	done(t, "afterwards", "Create")(s.Create(t.Context(), "a", []byte("v"), time.Minute))
	if st := s.Stats(); st.Flying != 0 {
		t.Errorf("%+v", st)
	}
}

// panics is a hook of the driver that panics while it is angry.
type panics struct{ angry *atomic.Bool }

func (p panics) DialHook(next redis.DialHook) redis.DialHook { return next }
func (p panics) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if p.angry.Load() {
			panic("a hook")
		}
		return next(ctx, cmd)
	}
}
func (p panics) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
