package redisstore_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/stores/redisstore"
)

// swaps moves records on from one value to the next, every other one waking.
func swaps(prefix string, n int, from, to string) []idem.Op {
	ops := make([]idem.Op, n)
	for i := range ops {
		ops[i] = idem.Op{Kind: idem.OpSwap, Name: fmt.Sprint(prefix, i), Old: []byte(from), Value: []byte(to), TTL: time.Minute, Wake: i%2 == 0}
	}
	return ops
}

// scriptless has a server forget all scripts.
func scriptless(t *testing.T, addr string) {
	t.Helper()
	if got := redistest.Do(t, addr, "SCRIPT", "FLUSH"); got != "+OK" {
		t.Fatal(got)
	}
}

// Given a server that knows no script, at the first batch or in between, then what
// it refuses leaves together again: one exchange more and, where claims wait for
// replicas, one WAIT more, however many operations there are.
func TestS9_WhatAServerWithoutTheScriptRefusesLeavesTogether(t *testing.T) {
	addr := redistest.Server(t)
	for name, change := range map[string]func(*redisstore.Options){
		"without WAIT": func(*redisstore.Options) {}, "with WAIT": waiting(false),
	} {
		t.Run(name, func(t *testing.T) {
			redistest.Flush(t, addr)
			proxy := redistest.NewProxy(t, addr)
			s := open(t, proxy.Addr(), change)
			s.ClaimByScript()
			const n = 40
			for _, c := range []struct {
				what string
				ops  []idem.Op
				knew bool
			}{
				{"the first batch", creates("again:", n), false},
				{"settles by the other script", swaps("again:", n, "v", "w"), false},
				{"a batch once it knows the script", swaps("again:", n, "w", "x"), true},
				{"a batch after SCRIPT FLUSH", swaps("again:", n, "x", "y"), false},
			} {
				if !c.knew {
					scriptless(t, addr)
				}
				trips, waits := proxy.RoundTrips(), proxy.Count("WAIT")
				for i, r := range s.Apply(briefly(t, 30*time.Second), c.ops) {
					if r.Err != nil || !r.Done {
						t.Errorf("%s, %d: %+v", c.what, i, r)
					}
				}
				most := 2
				if c.knew {
					most = 1
				}
				// A connection may be new: one write more.
				if trips := proxy.RoundTrips() - trips; trips > most+1 {
					t.Errorf("%s of %d: %d exchanges, want %d", c.what, n, trips, most)
				}
				if waits := proxy.Count("WAIT") - waits; waits > most {
					t.Errorf("%s of %d: %d WAITs, want at most %d", c.what, n, waits, most)
				}
			}
		})
	}
}

// A server that forgets its scripts while a batch is on its way has done the first
// part: that is not made again, and the rest leaves together.
func TestS9_AServerThatForgetsInTheMiddleOfABatch(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	proxy := redistest.NewProxy(t, addr)
	s := open(t, proxy.Addr())
	const n = 20
	s.Apply(briefly(t, 30*time.Second), creates("middle:", n))
	s.Apply(briefly(t, 30*time.Second), swaps("middle:", n, "v", "w")) // the script is known
	ops := append(creates("fresh:middle:", n), swaps("middle:", n, "w", "x")...)
	proxy.Before(func() { scriptless(t, addr) }, "EVALSHA")
	trips, claims := proxy.RoundTrips(), proxy.Count("SET")
	for i, r := range s.Apply(briefly(t, 30*time.Second), ops) {
		if r.Err != nil || !r.Done {
			t.Errorf("%s: %+v", ops[i].Name, r)
		}
	}
	if trips := proxy.RoundTrips() - trips; trips > 3 {
		t.Errorf("%d exchanges, want 2", trips)
	}
	if claims := proxy.Count("SET") - claims; claims != n {
		t.Errorf("%d claims were sent %d times", n, claims)
	}
}

// The same of callers who do not know of each other: those whose calls were refused
// together leave together again, as all who wait do.
func TestS9_CallersRefusedTogetherLeaveTogether(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	proxy := redistest.NewProxy(t, addr)
	s := open(t, proxy.Addr(), waiting(false), func(o *redisstore.Options) { o.Pipelines = 1 })
	scriptless(t, addr)
	before := proxy.Count("WAIT")
	const n = 40
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			done(t, "a claim", "Create")(s.Create(briefly(t, 30*time.Second), fmt.Sprint("refused:", i), []byte("v"), time.Minute))
		})
	}
	all.Wait()
	// The first alone, all others, and the same again; each waits 30 ms for a replica
	// that is not there, which is long enough for all others to gather.
	if waits := proxy.Count("WAIT") - before; waits > n/4 {
		t.Errorf("%d claims at once took %d WAITs", n, waits)
	}
}

// Over three nodes that know no script a batch is two pipelines a node.
func TestS9_ABatchThatThreeNodesRefuseIsTwoPipelinesANode(t *testing.T) {
	c := redistest.TheCluster(t)
	s := openCluster(t, c.Masters)
	s.ClaimByScript()
	for _, addr := range c.Masters {
		scriptless(t, addr)
	}
	before := s.Stats().Flushes
	for i, r := range s.Apply(t.Context(), creates("again:cluster:", 100)) {
		if r.Err != nil || !r.Done {
			t.Errorf("%d: %+v", i, r)
		}
	}
	if n := s.Stats().Flushes - before; n != 6 {
		t.Errorf("100 claims on three nodes without the script were %d pipelines, want 6", n)
	}
}

// Given entries that ride with their operations, and a server that knows neither
// script, then each entry is appended once, by whichever of the two exchanges its
// operation was made in.
func TestS9_EntriesRideWithWhatIsSentAgain(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	s := open(t, addr)
	for round, forget := range []bool{true, false, true} {
		if forget {
			scriptless(t, addr)
		}
		ops := append(creates(fmt.Sprint("fresh:", round, ":"), 10), swaps("moved:", 10, fmt.Sprint("claim-", round), fmt.Sprint("claim-", round+1))...)
		for i := range ops {
			ops[i].Entry = entry(i)
			if round == 0 && ops[i].Kind == idem.OpSwap {
				redistest.Do(t, addr, "SET", ops[i].Name, "claim-0", "PX", "60000")
			}
			if ops[i].Kind == idem.OpCreate {
				ops[i].Value = []byte("claim-new")
			}
		}
		before := s.Stats().Flushes
		for i, r := range s.Apply(briefly(t, 30*time.Second), ops) {
			if r.Err != nil || !r.Done || !r.Journaled {
				t.Errorf("round %d, %s: %+v", round, ops[i].Name, r)
			}
		}
		if n := s.Stats().Flushes - before; n > 2 {
			t.Errorf("round %d was %d pipelines", round, n)
		}
		if got, want := redistest.Do(t, addr, "XLEN", "journal"), fmt.Sprint(":", 20*(round+1)); got != want {
			t.Errorf("after round %d the journal holds %s entries, want %s", round, got, want)
		}
	}
}
