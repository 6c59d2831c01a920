package redisstore_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/storetest"
	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/stores/redisstore"
)

// patient is a guard whose duplicates wait, over a store whose calls are counted.
func patient(t testing.TB, s idem.Store) (*idem.Guard, *storetest.Faults) {
	t.Helper()
	faults := storetest.NewFaults()
	g, err := idem.New(idem.Config{
		Store: faults.Wrap(s), Prefix: "watch:", NameKey: idem.NameKey("a name key that all these guards have"),
		Policies: []idem.Policy{{Operation: "test:do:run", Preset: idem.API, OnDuplicate: idem.Wait, Wait: 20 * time.Second, MaxRun: time.Minute}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close(context.Background()) })
	return g, faults
}

func looks(f *storetest.Faults) int { return f.Calls("claim", "") + f.Calls("load", "") }

var keys atomic.Int64

// race has n callers of waiters wait for a run of owner, ends the run once they
// have looked and how says so, and returns how long after it each was answered.
func race(t testing.TB, owner, waiters *idem.Guard, counts *storetest.Faults, n int, how func()) []time.Duration {
	t.Helper()
	in := idem.Intent{Operation: "test:do:run", Scope: "alice", Key: fmt.Sprint("k", keys.Add(1))}
	c, err := owner.Claim(t.Context(), in)
	if err != nil || !c.Won() {
		t.Fatalf("claim: %s, %v", c.Verdict(), err)
	}
	counts.Reset()
	var all sync.WaitGroup
	var began atomic.Int64
	answered := make([]time.Time, n)
	for i := range n {
		all.Go(func() {
			began.Add(1)
			v, verdict, err := idem.Do(context.Background(), waiters, in, idem.JSON[int](), func(context.Context) (int, error) { return 0, nil })
			answered[i] = time.Now()
			if v != 7 || verdict != idem.Replayed || err != nil {
				t.Errorf("a waiter was told %d, %s, %v", v, verdict, err)
			}
		})
	}
	eventually(t, "a look of those who wait", func() bool { return began.Load() == int64(n) && counts.Calls("load", "") > 0 })
	if how != nil {
		how()
	}
	if err := c.Complete(t.Context(), idem.Payload{Bytes: []byte("7")}); err != nil {
		t.Fatal(err)
	}
	ended := time.Now()
	all.Wait()
	took := make([]time.Duration, n)
	for i := range took {
		took[i] = answered[i].Sub(ended)
	}
	slices.Sort(took)
	return took
}

// poll is how long a waiter takes that nobody wakes.
const poll = 500 * time.Millisecond

// TestS8_AWakeUpComesWithTheEnd: the run of one process wakes those who wait in
// others, long before they would look, and sends nothing for it but the settle.
func TestS8_AWakeUpComesWithTheEnd(t *testing.T) {
	t.Run("server", func(t *testing.T) {
		addr := redistest.Server(t)
		redistest.Flush(t, addr)
		proxy := redistest.NewProxy(t, addr)
		owner, _ := patient(t, open(t, proxy.Addr()))
		there, counts := patient(t, open(t, addr))
		race(t, owner, there, counts, 1, nil) // the script is loaded with the first settle
		woken(t, owner, there, counts, proxy)
	})
	t.Run("cluster", func(t *testing.T) {
		c := redistest.TheCluster(t)
		owner, _ := patient(t, openCluster(t, c.Masters[:1]))
		there, counts := patient(t, openCluster(t, c.Masters[1:2]))
		woken(t, owner, there, counts, nil)
	})
}

// woken says that waiters are answered sooner than by a poll. A machine that
// stood still gets another try; without wake-ups none would do.
func woken(t *testing.T, owner, there *idem.Guard, counts *storetest.Faults, wire *redistest.Proxy) {
	t.Helper()
	var took []time.Duration
	for range 5 {
		before := 0
		took = race(t, owner, there, counts, 50, func() {
			if wire != nil {
				before = wire.Count()
			}
		})
		if wire != nil {
			if sent := wire.Count() - before; sent != 1 {
				t.Errorf("the end of a run made %d commands, want 1", sent)
			}
		}
		if took[len(took)-1] < poll*4/5 {
			return
		}
	}
	t.Errorf("the last of 50 waiters was answered %v after the end, as late as a poll", took[len(took)-1])
}

// Where nobody is woken, for whatever reason, the end is found by looking.
func TestS8_WithoutWakeUpsTheEndIsFound(t *testing.T) {
	addr, _ := redistest.Start(t)
	if got := redistest.Do(t, addr, "ACL", "SETUSER", "mute", "on", ">pw", "~*", "+@all", "resetchannels"); got != "+OK" {
		t.Fatal(got)
	}
	deaf := redistest.NewProxy(t, addr)
	deaf.Lose(-1, "SUBSCRIBE")
	mute := func(o *redisstore.Options) { o.Universal.Username, o.Universal.Password = "mute", "pw" }
	none := func(o *redisstore.Options) { o.NoPubSub = true }
	for _, row := range []struct {
		name           string
		owner, waiters []func(*redisstore.Options)
		proxied        bool
	}{
		{name: "a user who may neither publish nor subscribe", owner: []func(*redisstore.Options){mute}, waiters: []func(*redisstore.Options){mute}},
		{name: "a server that takes no pub/sub", waiters: []func(*redisstore.Options){none}},
		{name: "a connection that breaks at every SUBSCRIBE", proxied: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			at := addr
			if row.proxied {
				at = deaf.Addr()
			}
			owner, _ := patient(t, open(t, addr, row.owner...))
			there, counts := patient(t, open(t, at, row.waiters...))
			took := race(t, owner, there, counts, 20, nil)
			if last := took[len(took)-1]; last > 10*poll {
				t.Errorf("the last was answered after %v", last)
			}
			if made := looks(counts); made > 15 {
				t.Errorf("20 waiters made %d calls", made)
			}
		})
	}
}

// TestI12_NobodyListensWhenNobodyWaits: one connection for any number of names,
// opened for the first and closed after the last, or with the store.
func TestI12_NobodyListensWhenNobodyWaits(t *testing.T) {
	proxy := redistest.NewProxy(t, redistest.Server(t))
	s := open(t, proxy.Addr())
	s.Beats(500*time.Millisecond, 50*time.Millisecond)
	idle := proxy.Conns()
	for range 2 {
		var stops []func()
		for i := range 40 {
			stop, err := s.Watch(t.Context(), fmt.Sprint("name", i/2), func() {})
			if err != nil {
				t.Fatal(err)
			}
			stops = append(stops, stop)
		}
		if n := proxy.Conns(); n != idle+1 {
			t.Errorf("%d connections for 20 names, want one", n-idle)
		}
		if n := s.Report().Watching; n != 20 {
			t.Errorf("the report says that %d names are watched, want 20", n)
		}
		for _, stop := range stops {
			stop()
		}
		eventually(t, "the end of the connection that listens", func() bool { return proxy.Conns() == idle })
	}
	if _, err := s.Watch(t.Context(), "name", func() {}); err != nil {
		t.Fatal(err)
	}
	_ = s.Close() // with somebody who watches; that nothing is left of it is seen by TestMain
	if _, err := s.Watch(t.Context(), "name", func() {}); err == nil {
		t.Error("a store that was closed watches")
	}
}

// A connection that falls silent without breaking is noticed and made anew.
func TestAWatchOfASilentServerIsMadeAnew(t *testing.T) {
	m := redistest.Miniredis(t)
	proxy := redistest.NewProxy(t, m.Addr())
	s := open(t, proxy.Addr())
	s.Beats(500*time.Millisecond, time.Minute) // within which a busy machine answers
	var woken atomic.Int64
	stop, err := s.Watch(t.Context(), "a", func() { woken.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	subscribed := proxy.Count("SUBSCRIBE")
	eventually(t, "a sign of life", func() bool { return proxy.Count("PING") > 1 })
	if proxy.Count("SUBSCRIBE") != subscribed || woken.Load() != 0 {
		t.Error("a connection that is only idle was made anew")
	}
	resume := proxy.Stall()
	eventually(t, "the end of a silent connection", func() bool { return !s.Listens() })
	resume()
	eventually(t, "the wake-up of a watch that stands again", func() bool { return woken.Load() > 0 })
	done(t, "", "Create")(s.Create(t.Context(), "a", []byte("0"), time.Minute))
	had := woken.Load()
	done(t, "", "Swap")(s.Swap(idem.WithWake(t.Context()), "a", []byte("0"), []byte("1"), time.Minute))
	eventually(t, "a wake-up", func() bool { return woken.Load() > had })
}

// BenchmarkWaiters is PERFORMANCE B8: a thousand duplicates in one process wait
// for a run of another, on a real server.
func BenchmarkWaiters(b *testing.B) {
	addr := redistest.Server(b)
	redistest.Flush(b, addr)
	owner, _ := patient(b, open(b, addr))
	there, counts := patient(b, open(b, addr))
	race(b, owner, there, counts, 1, nil)
	var medians, last []time.Duration
	calls := 0
	for b.Loop() {
		took := race(b, owner, there, counts, 1000, nil)
		medians, last = append(medians, took[500]), append(last, took[999])
		calls += looks(counts)
	}
	slices.Sort(medians)
	slices.Sort(last)
	b.ReportMetric(float64(medians[len(medians)/2])/1e6, "ms-woken-p50")
	b.ReportMetric(float64(last[len(last)/2])/1e6, "ms-woken-last")
	b.ReportMetric(float64(calls)/float64(b.N), "calls/op")
	b.ReportMetric(0, "ns/op")
}

// What a wake-up costs in a Cluster: a message from the node to every other node,
// whoever listens, as the page on Clusters says; and none with NoPubSub.
func TestAWakeUpInAClusterIsAMessageToEveryOtherNode(t *testing.T) {
	c := redistest.TheCluster(t)
	nodes := append(slices.Clone(c.Masters), c.Replicas...)
	sent := func() (n int) {
		for _, addr := range nodes {
			_, line, _ := strings.Cut(redistest.Do(t, addr, "CLUSTER", "INFO"), "cluster_stats_messages_publish_sent:")
			digits, _, _ := strings.Cut(line, "\r\n")
			of, _ := strconv.Atoi(digits) // not told before the first
			n += of
		}
		return n
	}
	const n = 20
	for quiet, want := range map[bool]int{false: n * (len(nodes) - 1), true: 0} {
		s := openCluster(t, c.Masters, func(o *redisstore.Options) { o.NoPubSub = quiet })
		prefix := fmt.Sprint("told:", quiet, ":")
		s.Apply(t.Context(), creates(prefix, n))
		ops := swaps(prefix, n, "v", "w")
		before := sent()
		for i := range ops {
			ops[i].Wake = true
		}
		for i, r := range s.Apply(t.Context(), ops) {
			if r.Err != nil || !r.Done {
				t.Errorf("%d: %+v", i, r)
			}
		}
		eventually(t, "the messages", func() bool { return sent()-before >= want })
		if got := sent() - before; got != want {
			t.Errorf("NoPubSub %v: %d ends that wake were %d messages between %d nodes, want %d", quiet, n, got, len(nodes), want)
		}
	}
}

// Given a server that is away, when somebody wants to be woken and leaves, then once
// the server is back those who come are woken again; and nobody who wants to be
// woken meanwhile is kept waiting for it.
func TestWatchesComeBackAfterAnOutage(t *testing.T) {
	proxy := redistest.NewProxy(t, redistest.Miniredis(t).Addr())
	s := open(t, proxy.Addr(), func(o *redisstore.Options) { o.CallTimeout = 5 * time.Second })
	resume := proxy.Refuse()
	for range 3 {
		began := time.Now()
		if _, err := s.Watch(t.Context(), "a", func() {}); err == nil {
			t.Fatal("a watch stands without a server")
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("a watch without a server is refused after %v", took)
		}
	}
	eventually(t, "the end of who listens", func() bool { return !s.Listens() })
	resume()
	var woken atomic.Int64
	eventually(t, "a watch that stands", func() bool {
		stop, err := s.Watch(briefly(t, time.Second), "a", func() { woken.Add(1) })
		if err == nil {
			t.Cleanup(stop)
		}
		return err == nil
	})
	done(t, "", "Create")(s.Create(t.Context(), "a", []byte("0"), time.Minute))
	done(t, "", "Swap")(s.Swap(idem.WithWake(t.Context()), "a", []byte("0"), []byte("1"), time.Minute))
	eventually(t, "a wake-up", func() bool { return woken.Load() > 0 })
}
