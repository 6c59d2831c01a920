package audit_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/go-idem/idem/audit"
	"github.com/go-idem/idem/audit/redisstream"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/stores/redisstore"
)

func storeAt(t testing.TB, addrs ...string) *redisstore.Store {
	t.Helper()
	s, err := redisstore.Open(t.Context(), redisstore.Options{
		Universal: &redis.UniversalOptions{Addrs: addrs}, EvictionChecked: redistest.MiniredisEviction, CallTimeout: time.Second, // a busy machine
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func clientAt(t testing.TB, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// riding is a log whose events travel with the store's calls.
func riding(t testing.TB, s *redisstore.Store, j audit.Journal, strict bool) *audit.Log {
	t.Helper()
	return logOf(t, audit.Options{Sink: audit.Stream(s, j), Ride: &j, Strict: strict, Timeout: 10 * time.Second})
}

// said are the changes that a stream holds, each once: where a reply was late an
// event is there twice, with the same ID.
func said(t testing.TB, c redis.Cmdable, stream string) (list []string) {
	t.Helper()
	entries, err := c.XRange(context.Background(), stream, "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[any]bool{}
	for _, e := range entries {
		if seen[e.Values["id"]] {
			continue
		}
		seen[e.Values["id"]] = true
		list = append(list, fmt.Sprintf("%s %s-%s", e.Values["change"], e.Values["from"], e.Values["to"]))
	}
	return list
}

func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come", what)
		}
	}
}

// A first request is two round trips and a replay one, with an audit log and
// without: counted at a proxy, as writes of the client.
func TestAuditAddsNoRoundTrip(t *testing.T) {
	proxy := redistest.NewProxy(t, redistest.Server(t))
	s := storeAt(t, proxy.Addr())
	direct := clientAt(t, redistest.Server(t))
	j := audit.Journal{Name: "audit:" + t.Name()}
	for _, strict := range []bool{false, true} {
		for _, mode := range []string{"plain", "audited"} {
			var l *audit.Log
			g := guardOn(t, s, mode, func(c *idem.Config) {
				if mode == "audited" {
					l = riding(t, s, j, strict)
					c.Auditor = l
				}
			})
			trips := func(key string, want idem.Verdict) int {
				before := proxy.RoundTrips()
				if _, verdict, err := do(g, fmt.Sprint(key, mode, strict), seven); verdict != want || err != nil {
					t.Fatalf("%v, %v; want %v", verdict, err, want)
				}
				return proxy.RoundTrips() - before
			}
			trips("warm", idem.Executed) // the scripts are loaded
			first, again := 100, 100     // the least of five: a busy machine may dial anew, or ask again
			for i := range 5 {
				first = min(first, trips(fmt.Sprint("k", i), idem.Executed))
				again = min(again, trips(fmt.Sprint("k", i), idem.Replayed))
			}
			if first != 2 || again != 1 {
				t.Errorf("%s, strict %v: a first request made %d round trips and a replay %d, want 2 and 1", mode, strict, first, again)
			}
		}
	}
	list := said(t, direct, j.Name)
	if len(list) < 24 || list[0] != "claim absent-processing" || list[1] != "complete processing-succeeded" {
		t.Errorf("the stream holds %d events, want 24 or, with copies, more: %v", len(list), list)
	}
}

// guardOn is guardOf with a prefix and changes of the configuration.
func guardOn(t testing.TB, s idem.Store, prefix string, change func(*idem.Config)) *idem.Guard {
	t.Helper()
	cfg := idem.Config{
		Store: s, Prefix: prefix + ":", NameKey: idem.NameKey(strings.Repeat("k", 32)),
		Policies: []idem.Policy{{Operation: operation, Preset: idem.API, MaxRun: time.Minute}},
	}
	change(&cfg)
	g, err := idem.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = g.Close(ctx)
	})
	return g
}

// Given a claim that somebody else has and a settle that was overtaken, then no
// event says that they happened.
func TestAuditRidesOnlyWithWhatWasDone(t *testing.T) {
	m := redistest.Miniredis(t)
	s, c := storeAt(t, m.Addr()), clientAt(t, m.Addr())
	j := audit.Journal{Name: "log"}
	g := guardOn(t, s, "idem", func(c *idem.Config) { c.Auditor = riding(t, s, j, false) })
	other := guardOn(t, s, "idem", func(*idem.Config) {}) // another process, whose claims tell nobody
	in := idem.Intent{Operation: operation, Scope: "alice", Key: "k"}
	claim, err := other.Claim(t.Context(), in)
	if err != nil || !claim.Won() {
		t.Fatal(err)
	}
	if _, verdict, _ := do(g, "k", seven); verdict != idem.InFlight {
		t.Errorf("the second claim: %v", verdict)
	}
	_ = claim.Complete(t.Context(), idem.Payload{})

	mine, err := g.Claim(t.Context(), idem.Intent{Operation: operation, Scope: "alice", Key: "stale"})
	if err != nil {
		t.Fatal(err)
	}
	name := g.RecordName(operation, "alice", idem.KindKey, "stale")
	done, _ := m.Get(g.RecordName(operation, "alice", idem.KindKey, "k"))
	_ = m.Set(name, done) // another's outcome, put in the place of this claim
	m.SetTTL(name, time.Hour)
	if err := mine.Complete(t.Context(), idem.Payload{}); err == nil {
		t.Error("the stale settle was taken")
	}
	if got := strings.Join(said(t, c, "log"), ", "); got != "claim absent-processing" {
		t.Errorf("the stream holds %s", got)
	}
}

// Given a server that loses its scripts, and one whose stream cannot be written,
// then events go by the sink, and where that fails they wait: none is lost.
func TestAuditWhatCannotRideGoesByTheSink(t *testing.T) {
	m := redistest.Miniredis(t)
	s, c := storeAt(t, m.Addr()), clientAt(t, m.Addr())
	j := audit.Journal{Name: "log"}
	l := riding(t, s, j, false)
	g := guardOn(t, s, "idem", func(c *idem.Config) { c.Auditor = l })
	_, _, _ = do(g, "a", seven)
	if err := c.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	_, _, _ = do(g, "b", seven)
	eventually(t, "an empty queue", func() bool { return l.Waiting() == 0 })
	if n := len(said(t, c, "log")); n != 4 {
		t.Errorf("after the scripts were lost the stream holds %d events, want 4", n)
	}
	c.Rename(t.Context(), "log", "kept")
	_ = m.Set("log", "no stream")
	if _, verdict, err := do(g, "c", seven); verdict != idem.Executed {
		t.Errorf("%v, %v", verdict, err)
	}
	eventually(t, "two events that wait", func() bool { return l.Waiting() == 2 })
	c.Rename(t.Context(), "kept", "log")
	eventually(t, "an empty queue", func() bool { return l.Waiting() == 0 })
	if n := len(said(t, c, "log")); n != 6 || l.Drops() != 0 {
		t.Errorf("the stream holds %d events, %d were dropped", n, l.Drops())
	}
}

// Given a strict log on the records' own server whose stream cannot be written,
// then nothing is run.
func TestAuditStrictOnRedisRunsNothingUnseen(t *testing.T) {
	m := redistest.Miniredis(t)
	s, c := storeAt(t, m.Addr()), clientAt(t, m.Addr())
	l := riding(t, s, audit.Journal{Name: "log"}, true)
	g := guardOn(t, s, "idem", func(c *idem.Config) { c.Auditor = l })
	_ = m.Set("log", "no stream")
	for i := range 3 {
		if _, verdict, _ := do(g, fmt.Sprint(i), func() int { t.Error("ran"); return 0 }); verdict != idem.Unavailable {
			t.Errorf("%v", verdict)
		}
	}
	c.Del(t.Context(), "log")
	eventually(t, "an open gate", func() bool { return l.Open() == nil })
	if _, verdict, err := do(g, "3", seven); verdict != idem.Executed {
		t.Errorf("%v, %v", verdict, err)
	}
}

// In a cluster the stream lies on one node and records on all: events go beside.
func TestAuditInAClusterGoesBeside(t *testing.T) {
	cluster := redistest.TheCluster(t)
	s := storeAt(t, cluster.Masters...)
	j := audit.Journal{Name: "audit:" + t.Name()}
	l := riding(t, s, j, false)
	g := guardOn(t, s, "incluster", func(c *idem.Config) { c.Auditor = l })
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() { _, _, _ = do(g, fmt.Sprint(i), seven) })
	}
	all.Wait()
	eventually(t, "an empty queue", func() bool { return l.Waiting() == 0 })
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Masters})
	defer c.Close()
	if n := len(said(t, c, j.Name)); n != 40 || l.Drops() != 0 {
		t.Errorf("the stream holds %d events, want 40; %d dropped", n, l.Drops())
	}
}

// A server of its own: one round trip for many events, off the path.
func TestAuditOnAServerOfItsOwn(t *testing.T) {
	records, own := redistest.Miniredis(t), redistest.Miniredis(t)
	s, c := storeAt(t, records.Addr()), clientAt(t, own.Addr())
	l := logOf(t, audit.Options{Sink: audit.Stream(redisstream.New(c), audit.Journal{Name: "log", Max: 1000}), Timeout: 10 * time.Second})
	g := guardOn(t, s, "idem", func(c *idem.Config) { c.Auditor = l })
	for i := range 10 {
		_, _, _ = do(g, fmt.Sprint(i), seven)
	}
	eventually(t, "an empty queue", func() bool { return l.Waiting() == 0 })
	if n := len(said(t, c, "log")); n != 20 || records.Exists("log") {
		t.Errorf("the stream holds %d events, want 20", n)
	}
	own.SetError("down")
	if _, verdict, _ := do(g, "x", seven); verdict != idem.Executed {
		t.Errorf("%v", verdict)
	}
	eventually(t, "two events that wait", func() bool { return l.Waiting() == 2 })
	own.SetError("")
	eventually(t, "an empty queue", func() bool { return l.Waiting() == 0 })
}
