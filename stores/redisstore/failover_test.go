package redisstore_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/stores/redisstore"
)

// What a failover costs, with and without waiting for replicas: the replica of one
// master has lost its link; claims are made and their handlers run; the master
// dies and the replica takes its place.
//
// Given no waiting, then the claims on that master are lost. A repeat runs the
// action a second time, and the first run's settle says stale; without a repeat
// the settle says recreated. Both are counted, and no client sees an error.
// Given WaitReplicas that refuses, then a claim that would be lost is refused and
// runs nothing, and nothing is lost.
//
// Faults: 12.
func TestWhatAFailoverLosesIsCounted(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, "--cluster-node-timeout", "3000", "--cluster-replica-validity-factor", "0")
	cutOff(t, c.Masters[0], c.Replicas[0])
	addrs := append(c.Masters[1:3:3], c.Masters[0])
	fixed := func(cfg *idem.Config) {
		cfg.NameKey = testNameKey
		// No renewal comes into it: one that is told of another's claim counts, too.
		cfg.Policies[0].Lease, cfg.Policies[0].MaxRun = 10*time.Minute, 20*time.Minute
	}
	careless := guarded(t, openCluster(t, addrs), fixed)
	careful := guarded(t, openCluster(t, addrs, waiting(true), func(o *redisstore.Options) {
		o.CallTimeout, o.WaitReplicas.Timeout = 500*time.Millisecond, 2*time.Second // a busy machine
	}), fixed)

	elsewhere := guarded(t, openCluster(t, addrs), fixed) // another process: this one would ask itself first

	const keys = 30
	f := &flight{t: t, c: c, gate: make(chan struct{})}
	f.start(careless, "careless", keys)
	f.start(careful, "careful", keys)
	f.started.Wait()
	lost := f.on(c.Masters[0], "careless", keys)
	if kept := f.on(c.Masters[0], "careful", keys); kept == 0 || f.refused.Load() != int64(kept) || int(f.runs.Load()) != 2*keys-kept {
		t.Errorf("%d claims could be lost, %d were refused; %d runs of %d", kept, f.refused.Load(), f.runs.Load(), 2*keys)
	}

	c.Kill(c.Masters[0])
	eventually(t, "the replica's promotion", func() bool {
		return strings.Contains(redistest.Do(t, c.Replicas[0], "CLUSTER", "INFO"), "cluster_state:ok") &&
			strings.HasPrefix(redistest.Do(t, c.Replicas[0], "ROLE"), "*3\r\n$6\r\nmaster")
	})
	again := f.repeat(elsewhere, "careless", keys/2)
	f.repeat(elsewhere, "careful", keys/2)
	close(f.gate)
	f.all.Wait()
	eventually(t, "every settle", func() bool { return careless.Stats().Pending == 0 && careful.Stats().Pending == 0 })

	st := careless.Stats()
	t.Logf("careless: %d claims, %d on the master that died; %d second runs, recreated %d, stale %d", keys, lost, again, st.Recreated, st.Stale)
	if lost == 0 || int(st.Recreated+st.Stale) != lost || int(st.Stale) != again || again == 0 {
		t.Errorf("%d claims were lost, %d of them ran twice; counted: %+v", lost, again, st)
	}
	if st := careful.Stats(); st.Recreated != 0 || st.Stale != 0 {
		t.Errorf("with waiting: %+v", st)
	}
	if n := f.wrong.Load(); n > 0 {
		t.Errorf("%d clients saw an error", n)
	}
}

// cutOff ends a replica's link to its master and has every new one refused.
func cutOff(t *testing.T, master, replica string) {
	t.Helper()
	redistest.Do(t, replica, "CONFIG", "SET", "masteruser", "nobody")
	redistest.Do(t, replica, "CONFIG", "SET", "masterauth", "wrong")
	redistest.Do(t, master, "CLIENT", "KILL", "TYPE", "replica")
	eventually(t, "the end of the link", func() bool { return replicas(t, master) == 0 && !inStep(t, replica) })
}

// flight is a crowd of handlers that wait for the failover.
type flight struct {
	t                    *testing.T
	c                    *redistest.Cluster
	gate                 chan struct{}
	started, all         sync.WaitGroup
	runs, refused, wrong atomic.Int64
}

func key(kind string, i int) idem.Intent {
	return idem.Intent{Operation: "test:do:run", Scope: "alice", Key: fmt.Sprint(kind, i)}
}

// start has handlers run for so many keys. Started is done for each that runs or
// was refused.
func (f *flight) start(g *idem.Guard, kind string, n int) {
	f.started.Add(n)
	for i := range n {
		f.all.Go(func() {
			once := sync.OnceFunc(f.started.Done)
			_, verdict, _ := idem.Do(f.t.Context(), g, key(kind, i), idem.JSON[int](), func(context.Context) (int, error) {
				f.runs.Add(1)
				once()
				<-f.gate
				return i, nil
			})
			switch verdict {
			case idem.Executed, idem.Unprotected:
			case idem.Unavailable:
				f.refused.Add(1)
				once()
			default:
				f.wrong.Add(1)
				once()
			}
		})
	}
}

// on counts the keys whose record a server has.
func (f *flight) on(addr, kind string, n int) (there int) {
	for i := range n {
		if redistest.Do(f.t, addr, "EXISTS", recordOf(key(kind, i).Key)) == ":1" {
			there++
		}
	}
	return there
}

// repeat asks for keys again, and returns how many ran then: a second time, where
// the first was not refused.
func (f *flight) repeat(g *idem.Guard, kind string, n int) (again int) {
	for i := range n {
		eventually(f.t, "an answer after the failover", func() bool {
			ran := false
			_, verdict, _ := idem.Do(f.t.Context(), g, key(kind, i), idem.JSON[int](), func(context.Context) (int, error) { ran = true; return -1, nil })
			if ran {
				again++
			}
			return verdict == idem.InFlight || verdict == idem.Executed
		})
	}
	return again
}

// Given a master and a replica that a sentinel watches, when the master dies, then
// the store goes on with the promoted replica, which has what was waited for.
func TestASentinelFailsOver(t *testing.T) {
	t.Parallel()
	g := redistest.StartSentinel(t)
	s, err := tryOpen("", func(o *redisstore.Options) {
		o.EvictionChecked = ""
		o.Universal = &redis.UniversalOptions{Addrs: []string{g.Sentinel}, MasterName: g.Name}
		o.WaitReplicas = redisstore.WaitReplicas{Replicas: 1, Timeout: 2 * time.Second, OrRefuse: true}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r := s.Report(); r.Mode != "sentinel" || r.Clock != "the master" || len(r.Servers) != 1 {
		t.Errorf("%+v", r)
	}
	for i := range 20 {
		done(t, "before", "Create")(s.Create(t.Context(), fmt.Sprint("n", i), []byte("before"), time.Minute))
	}
	g.KillMaster()
	settle := idem.WithStoreStep(t.Context(), "settle") // there is no second replica to wait for
	eventually(t, "a settle on the promoted replica", func() bool {
		r, err := s.Swap(settle, "n0", []byte("before"), []byte("after"), time.Minute)
		return err == nil && r.Done
	})
	for i := 1; i < 20; i++ {
		found(t, "after", "Create", "before")(s.Create(settle, fmt.Sprint("n", i), []byte("another's"), time.Minute))
	}
	if got := redistest.Do(t, g.Replica, "GET", "n0"); got != "$5\r\nafter" {
		t.Errorf("the promoted replica has %q", got)
	}
}
