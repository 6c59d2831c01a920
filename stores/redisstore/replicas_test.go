package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/stores/redisstore"
)

// waiting has claims wait for one replica.
func waiting(refuse bool) func(*redisstore.Options) {
	return func(o *redisstore.Options) {
		o.WaitReplicas = redisstore.WaitReplicas{Replicas: 1, Timeout: 30 * time.Millisecond, OrRefuse: refuse}
	}
}

// Given replicas in step, when many claim at once, then every claim is kept by a
// replica before it is won, and one WAIT serves all that left together.
func TestClaimsThatReplicasHave(t *testing.T) {
	c := redistest.TheCluster(t)
	s := openCluster(t, c.Masters, waiting(true), func(o *redisstore.Options) {
		o.WaitReplicas.Timeout = 2 * time.Second // a busy machine
		o.CallTimeout = time.Second
	})
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			done(t, "a claim", "Create")(s.Create(t.Context(), fmt.Sprint("synced:", i), []byte("v"), time.Minute))
		})
	}
	all.Wait()
	if st := s.Stats(); st.Unsynced != 0 {
		t.Errorf("%+v", st)
	}
	held := 0
	for _, addr := range c.Replicas {
		held += size(t, addr)
	}
	if held != 60 {
		t.Errorf("the replicas have %d of 60 claims that were won", held)
	}
}

func size(t *testing.T, addr string) (n int) {
	_, _ = fmt.Sscanf(redistest.Do(t, addr, "DBSIZE"), ":%d", &n)
	return n
}

// Given one master of three without its replica, then claims on that master, and
// on no other, are refused, or accepted and marked, as was chosen: WAIT is asked of
// the master that took the claim, not of any.
func TestWaitIsAskedOfTheRightMaster(t *testing.T) {
	c := redistest.TheCluster(t)
	alone := c.Masters[0]
	redistest.Do(t, c.Replicas[0], "CLUSTER", "REPLICATE", nodeID(t, c.Masters[1]))
	defer func() {
		redistest.Do(t, c.Replicas[0], "CLUSTER", "REPLICATE", nodeID(t, alone))
		eventually(t, "the replica is back", func() bool { return inStep(t, c.Replicas[0]) && replicas(t, alone) == 1 })
	}()
	eventually(t, "a master without a replica", func() bool { return replicas(t, alone) == 0 && replicas(t, c.Masters[1]) == 2 })
	for _, addr := range c.Masters {
		scriptless(t, addr) // what a master refuses then waits once more, all of it together
	}
	for _, refuse := range []bool{true, false} {
		s := openCluster(t, c.Masters, waiting(refuse), func(o *redisstore.Options) {
			o.WaitReplicas.Timeout = time.Second // a busy machine; all that wait in vain do so together
			o.CallTimeout = 2 * time.Second
		})
		names, weak := 30, 0
		ops := creates(fmt.Sprint("wait:", refuse), names)
		for i, got := range s.Apply(t.Context(), ops) {
			name, r, err := ops[i].Name, got.Result, got.Err
			unsafe := redistest.Do(t, alone, "EXISTS", name) == ":1"
			switch {
			case unsafe && refuse && !errors.Is(err, redisstore.ErrUnsynced):
				t.Errorf("%s, which no replica has: %+v, %v", name, r, err)
			case unsafe && !refuse && (err != nil || !r.Done || !r.Weak):
				t.Errorf("%s, which no replica has: %+v, %v, want Done and Weak", name, r, err)
			case !unsafe && (err != nil || !r.Done || r.Weak):
				t.Errorf("%s, which a replica has: %+v, %v", name, r, err)
			}
			if unsafe {
				weak++
			}
		}
		if weak == 0 || weak == names || s.Stats().Unsynced != uint64(weak) {
			t.Errorf("%d of %d claims on the master without a replica; %+v", weak, names, s.Stats())
		}
	}
}

// replicas counts those of a master that have all it has: one that is still being
// sent its first copy is no help to a WAIT, and keeps the master from answering.
func replicas(t *testing.T, addr string) int {
	return strings.Count(redistest.Do(t, addr, "INFO", "replication"), "state=online")
}

func inStep(t *testing.T, replica string) bool {
	return strings.Contains(redistest.Do(t, replica, "INFO", "replication"), "master_link_status:up")
}

// Given a claim that no replica had in time, when its owner asks again with the
// same bytes, then finding it there is not enough: it is written again and waited
// for again, and its time to live stays as it was.
func TestS9_AClaimAskedAgainWaitsAgain(t *testing.T) {
	addr := redistest.Server(t) // it has no replica
	redistest.Flush(t, addr)
	for _, refuse := range []bool{true, false} {
		s := open(t, addr, waiting(refuse))
		name := fmt.Sprint("again:", refuse)
		first, err := s.Create(t.Context(), name, []byte("mine"), time.Minute)
		if refuse != errors.Is(err, redisstore.ErrUnsynced) || refuse == first.Weak {
			t.Errorf("the claim: %+v, %v", first, err)
		}
		again, err := s.Create(t.Context(), name, []byte("mine"), time.Hour)
		if refuse != errors.Is(err, redisstore.ErrUnsynced) || (!refuse && (string(again.Value) != "mine" || !again.Weak)) {
			t.Errorf("asked again: %+v, %v", again, err)
		}
		if other, err := s.Create(t.Context(), name, []byte("another's"), time.Minute); err != nil || string(other.Value) != "mine" || other.Weak {
			t.Errorf("a claim that is lost waits for nobody: %+v, %v", other, err)
		}
		if r, err := s.Load(t.Context(), name); err != nil || r.Left > time.Minute+time.Second {
			t.Errorf("written again it lives for %v, %v", r.Left, err)
		}
		claim := idem.WithStoreStep(t.Context(), "claim")
		if r, err := s.Swap(claim, name, []byte("mine"), []byte("taken over"), time.Minute); refuse != errors.Is(err, redisstore.ErrUnsynced) || refuse == r.Weak {
			t.Errorf("a claim by Swap: %+v, %v", r, err)
		}
		if r, err := s.Swap(claim, name, []byte("mine"), []byte("taken over"), time.Minute); refuse != errors.Is(err, redisstore.ErrUnsynced) || refuse == r.Weak {
			t.Errorf("a claim by Swap, asked again: %+v, %v", r, err)
		}
		settle := idem.WithStoreStep(t.Context(), "settle")
		done(t, "a settle", "Swap")(s.Swap(settle, name, []byte("taken over"), []byte("done"), time.Minute))
	}
}

// Given a guard over a store that refuses claims that no replica has, and no
// replica, then nothing runs; where they are accepted it runs, and only its claim
// was waited for.
func TestOnlyClaimsWaitForReplicas(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	for _, refuse := range []bool{true, false} {
		redistest.Flush(t, addr) // the last guard's card has another name key
		proxy := redistest.NewProxy(t, addr)
		guard := guarded(t, open(t, proxy.Addr(), waiting(refuse)))
		before := proxy.Count("WAIT")
		runs := 0
		_, verdict, err := idem.Do(t.Context(), guard, idem.Intent{Operation: "test:do:run", Scope: "alice", Key: fmt.Sprint("k", refuse)},
			idem.JSON[int](), func(ctx context.Context) (int, error) { runs++; return 7, idem.MarkEffects(ctx) })
		waits := proxy.Count("WAIT") - before
		if refuse && (verdict != idem.Unavailable || runs != 0) {
			t.Errorf("refused: %s, %v, %d runs", verdict, err, runs)
		}
		if !refuse && (verdict != idem.Executed || err != nil || runs != 1 || waits != 1) {
			t.Errorf("accepted: %s, %v, %d runs, %d WAITs", verdict, err, runs, waits)
		}
		if r, err := guard.Record(t.Context(), guard.RecordName("test:do:run", "alice", idem.KindKey, fmt.Sprint("k", refuse))); !refuse && (err != nil || !r.Weak) {
			t.Errorf("the record does not say that its claim was accepted without a replica: %v, %v", r, err)
		}
	}
}

func guarded(t *testing.T, s idem.Store, change ...func(*idem.Config)) *idem.Guard {
	t.Helper()
	cfg := idem.Config{
		Store: s, Prefix: "idem:", NameKey: idem.NameKey(idem.GenerateKey()),
		Policies: []idem.Policy{{Operation: "test:do:run", Preset: idem.API, MaxRun: time.Minute}},
	}
	for _, c := range change {
		c(&cfg)
	}
	guard, err := idem.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = guard.Close(ctx)
	})
	return guard
}

func TestWaitReplicasIsChecked(t *testing.T) {
	for _, w := range []redisstore.WaitReplicas{
		{Replicas: -1}, {Replicas: 1, Timeout: -1}, {Replicas: 1, Timeout: time.Microsecond}, {Timeout: time.Second}, {OrRefuse: true},
	} {
		if s, err := tryOpen("a:1", func(o *redisstore.Options) { o.WaitReplicas = w }); !errors.Is(err, redisstore.ErrOptions) {
			_ = s.Close()
			t.Errorf("%+v was taken: %v", w, err)
		}
	}
	s := open(t, redistest.Server(t), func(o *redisstore.Options) {
		o.CallTimeout, o.WaitReplicas = 0, redisstore.WaitReplicas{Replicas: 2, OrRefuse: true}
	})
	if d := s.Describe(); d.WorstCall != 2*redisstore.DefaultCallTimeout+redisstore.DefaultWaitTimeout {
		t.Errorf("the worst call takes %v, the wait left out", d.WorstCall)
	}
	if r := s.Report(); r.ClaimBy != "script" || !strings.Contains(r.String(), "until 2 replicas have it, 100ms at most, and is refused otherwise") {
		t.Errorf("the report: %s", r)
	}
}

// Given a server without a replica, when a claim and a settle of another caller
// leave in one pipeline, then the claim alone hears what became of its WAIT: what is
// written and waits for nobody is written.
func TestS9_OnlyAClaimHearsItsWait(t *testing.T) {
	addr := redistest.Server(t)
	for _, refuse := range []bool{true, false} {
		redistest.Flush(t, addr)
		redistest.Do(t, addr, "SET", "running", "old", "PX", "60000")
		redistest.Do(t, addr, "SCRIPT", "LOAD", redisstore.SwapText)
		s, proxy, resume, first := jam(t, addr, waiting(refuse), func(o *redisstore.Options) { o.WaitReplicas.Timeout = time.Millisecond })
		before := proxy.Count("WAIT")
		var both sync.WaitGroup
		both.Go(func() {
			r, err := s.Create(briefly(t, 5*time.Second), "claim", []byte("v"), time.Minute)
			if refuse != errors.Is(err, redisstore.ErrUnsynced) || refuse == r.Weak {
				t.Errorf("OrRefuse %v: the claim is told %+v, %v", refuse, r, err)
			}
		})
		both.Go(func() {
			r, err := s.Swap(idem.WithStoreStep(briefly(t, 5*time.Second), "settle"), "running", []byte("old"), []byte("new"), time.Minute)
			if err != nil || !r.Done || r.Weak {
				t.Errorf("OrRefuse %v: the settle is told %+v, %v", refuse, r, err)
			}
		})
		waits(t, s, 2)
		resume()
		<-first
		both.Wait()
		// The first is a claim too; and that one's script, which is not known, once more.
		if n := s.Stats().Unsynced; n != 2 || proxy.Count("WAIT") == before {
			t.Errorf("OrRefuse %v: %d claims of two are counted as unsynced", refuse, n)
		}
	}
}

// Given a batch that holds claims and calls that are none, in whatever order, then
// every claim waits for replicas and nothing else does.
func TestS9_AClaimWaitsInAnyBatch(t *testing.T) {
	addr := redistest.Server(t) // it has no replica
	redistest.Flush(t, addr)
	s := open(t, addr, waiting(true))
	redistest.Do(t, addr, "SET", "released", "old", "PX", "60000")
	redistest.Do(t, addr, "SET", "running", "old", "PX", "60000")
	ops := []idem.Op{
		{Kind: idem.OpCreate, Name: "buried", Value: []byte("v"), TTL: time.Minute, Step: "bury"},
		{Kind: idem.OpLoad, Name: "looked at", Step: "load"},
		{Kind: idem.OpCreate, Name: "claimed", Value: []byte("v"), TTL: time.Minute, Step: "claim"},
		{Kind: idem.OpSwap, Name: "released", Old: []byte("old"), Value: []byte("v"), TTL: time.Minute, Step: "claim"},
		{Kind: idem.OpSwap, Name: "running", Old: []byte("old"), Value: []byte("v"), TTL: time.Minute, Step: "settle"},
	}
	for _, first := range []string{"bury", "claim"} { // the step of a batch is that of its first operation
		for i, r := range s.Apply(idem.WithStoreStep(t.Context(), first), ops) {
			if refused := errors.Is(r.Err, redisstore.ErrUnsynced); refused != (ops[i].Step == "claim") || !refused && r.Err != nil {
				t.Errorf("in a batch that begins with a %s, %s (%s): %+v", first, ops[i].Name, ops[i].Step, r)
			}
			redistest.Do(t, addr, "DEL", "buried", "claimed")
			redistest.Do(t, addr, "SET", "released", "old", "PX", "60000")
		}
	}
}
