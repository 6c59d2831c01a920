package redisstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/redistest"
)

// Given a cluster under load, when slots move from one master to another, then
// every key runs once, and no client is told of it: no CROSSSLOT, no error.
//
// A hundred slots; three thousand with IDEM_DRILL=1.
//
// Faults: 52.
func TestSlotsMoveUnderLoad(t *testing.T) {
	move := 100
	if os.Getenv("IDEM_DRILL") != "" {
		move = 3000
	}
	c := redistest.TheCluster(t)
	from, to := c.Masters[0], c.Masters[1]
	s := openCluster(t, c.Masters)
	guard := guarded(t, s, func(cfg *idem.Config) { cfg.NameKey = testNameKey })

	m := &mover{t: t, c: c, from: from, to: to}
	names := m.names(move)
	runs := make([]atomic.Int64, len(names))
	var verdicts sync.Map
	var asked, turn atomic.Int64
	over := make(chan struct{})
	var load sync.WaitGroup
	for worker := range 8 {
		load.Go(func() {
			dice := rand.New(rand.NewPCG(1, uint64(worker)))
			for {
				select {
				case <-over:
					return
				default:
				}
				// Around the slot that is moving now, and now and then anywhere.
				i := min(max(int(turn.Load())+dice.IntN(6)-3, 0), len(names)-1)
				if dice.IntN(4) == 0 {
					i = dice.IntN(len(names))
				}
				asked.Add(1)
				_, verdict, err := idem.Do(t.Context(), guard, idem.Intent{Operation: "test:do:run", Scope: "alice", Key: names[i]}, idem.JSON[int](),
					func(context.Context) (int, error) { return int(runs[i].Add(1)), nil })
				n, _ := verdicts.LoadOrStore(verdict, new(atomic.Int64))
				n.(*atomic.Int64).Add(1)
				if verdict != idem.Executed && verdict != idem.Replayed && verdict != idem.InFlight {
					t.Errorf("%s: %s, %v", names[i], verdict, err)
					return
				}
			}
		})
	}
	for i, name := range names {
		turn.Store(int64(i))
		m.move(name)
	}
	close(over)
	load.Wait()

	ran := 0
	for i := range runs {
		n := int(runs[i].Load())
		if n > 1 {
			t.Errorf("%s ran %d times", names[i], n)
		}
		ran += n
	}
	if ran < len(names)/2 {
		t.Errorf("%d of %d keys were asked for at all", ran, len(names))
	}
	if st := guard.Stats(); st.Recreated != 0 || st.Stale != 0 {
		t.Errorf("%+v", st)
	}
	t.Logf("%d slots moved with %d records in them; %d requests, %d runs; %s", len(names), m.records, asked.Load(), ran, tally(&verdicts))
	m.back()
}

func tally(verdicts *sync.Map) string {
	var list []string
	verdicts.Range(func(v, n any) bool {
		list = append(list, fmt.Sprintf("%v %d", v, n.(*atomic.Int64).Load()))
		return true
	})
	return strings.Join(list, ", ")
}

// mover moves slots between two masters, record by record, as redis-cli does.
type mover struct {
	t        *testing.T
	c        *redistest.Cluster
	from, to string
	moved    []string
	records  int
}

// names returns keys whose records lie in so many different slots of the master
// from which they move.
func (m *mover) names(n int) (keys []string) {
	seen := map[string]bool{}
	for i := 0; len(keys) < n; i++ {
		key := fmt.Sprint("key", i)
		slot := slotOf(m.t, m.from, recordOf(key))
		if number, _ := strconv.Atoi(slot); number > 5000 || seen[slot] {
			continue
		}
		seen[slot] = true
		keys = append(keys, key)
	}
	return keys
}

// recordOf is the record's name of a key of these tests.
func recordOf(key string) string {
	return idem.RecordName(testNameKey, "idem:", "test:do:run", "alice", idem.KindKey, key)
}

// move moves the slot of a key.
func (m *mover) move(key string) {
	m.t.Helper()
	slot := slotOf(m.t, m.from, recordOf(key))
	redistest.Do(m.t, m.to, "CLUSTER", "SETSLOT", slot, "IMPORTING", nodeID(m.t, m.from))
	redistest.Do(m.t, m.from, "CLUSTER", "SETSLOT", slot, "MIGRATING", nodeID(m.t, m.to))
	host, port, _ := net.SplitHostPort(m.to)
	for {
		list := redistest.Do(m.t, m.from, "CLUSTER", "GETKEYSINSLOT", slot, "100")
		lines := strings.Split(list, "\r\n")
		if lines[0] == "*0" {
			break
		}
		for i := 2; i < len(lines); i += 2 {
			if got := redistest.Do(m.t, m.from, "MIGRATE", host, port, lines[i], "0", "5000"); got != "+OK" && got != "+NOKEY" {
				m.t.Fatalf("MIGRATE: %s", got)
			}
			m.records++
		}
	}
	m.give(slot, m.to)
	m.moved = append(m.moved, slot)
}

func (m *mover) give(slot, node string) {
	m.t.Helper()
	id := nodeID(m.t, node)
	other := m.from
	if node == m.from {
		other = m.to
	}
	for _, addr := range []string{node, other} {
		if got := redistest.Do(m.t, addr, "CLUSTER", "SETSLOT", slot, "NODE", id); got != "+OK" {
			m.t.Fatalf("SETSLOT: %s", got)
		}
	}
}

// back empties the cluster and gives all slots back.
func (m *mover) back() {
	for _, addr := range m.c.Masters {
		redistest.Flush(m.t, addr)
	}
	for _, slot := range m.moved {
		takeBack(m.t, m.from, m.to, slot)
		m.give(slot, m.from)
	}
	atOne(m.t, m.c)
}

// takeBack prepares a node to be given a slot that another has: only who imports a
// slot takes it with an epoch of its own. With the older one nodes that were not
// told believe the other, and have it told so.
func takeBack(t *testing.T, node, from, slot string) {
	t.Helper()
	redistest.Do(t, node, "CLUSTER", "SETSLOT", slot, "IMPORTING", nodeID(t, from))
}

// atOne waits until all nodes of a cluster say the same of who has what.
func atOne(t *testing.T, c *redistest.Cluster) {
	t.Helper()
	eventually(t, "a cluster at one", func() bool {
		said := map[string]bool{}
		for _, addr := range slices.Concat(c.Masters, c.Replicas) {
			said[owners(redistest.Do(t, addr, "CLUSTER", "NODES"))] = true
			if !strings.Contains(redistest.Do(t, addr, "CLUSTER", "INFO"), "cluster_state:ok") {
				return false
			}
		}
		return len(said) == 1
	})
}

// owners are the nodes that have slots, and which, in a reply to CLUSTER NODES.
func owners(reply string) string {
	var list []string
	for line := range strings.Lines(reply) {
		if words := strings.Fields(line); len(words) > 8 {
			list = append(list, words[0]+" "+strings.Join(words[8:], " "))
		}
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// testNameKey names the records of the tests that look at them.
var testNameKey = idem.NameKey("the name key of tests, which is not a secret")
