package redisstore_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/storetest"
	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/stores/redisstore"
)

func openCluster(t testing.TB, addrs []string, change ...func(*redisstore.Options)) *redisstore.Store {
	t.Helper()
	s, err := tryOpenCluster(addrs, change...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func tryOpenCluster(addrs []string, change ...func(*redisstore.Options)) (*redisstore.Store, error) {
	return tryOpen("", append([]func(*redisstore.Options){func(o *redisstore.Options) {
		o.EvictionChecked = ""
		o.Universal = &redis.UniversalOptions{Addrs: addrs, IsClusterMode: true}
	}}, change...)...)
}

func TestContractOnACluster(t *testing.T) {
	c := redistest.TheCluster(t)
	f := declared()
	f.New = func() (*storetest.Backend, error) {
		var stores []*redisstore.Store
		for _, addr := range c.Masters {
			redistest.Flush(t, addr)
		}
		return &storetest.Backend{
			Open: func() (idem.Store, error) {
				s, err := tryOpenCluster(c.Masters[:1], unhurried)
				if err == nil {
					stores = append(stores, s)
				}
				return s, err
			},
			Close: func() {
				for _, s := range stores {
					_ = s.Close()
				}
			},
		}, nil
	}
	storetest.Run(t, f)
}

// Records spread over the nodes, braces in a name or not, and are found again
// when their slot has moved (MOVED) and while it moves (ASK).
//
// Faults: 52.
func TestRecordsAreFoundWhereverTheirSlotIs(t *testing.T) {
	c := redistest.TheCluster(t)
	first, second := c.Masters[0], c.Masters[1]
	s := openCluster(t, c.Masters[:2])
	if r := s.Report(); r.Mode != "cluster" || r.Clock != "one node" || len(r.Servers) != 3 {
		t.Errorf("the report says %+v", r)
	}
	names := make([]string, 60)
	for i := range names {
		names[i] = fmt.Sprintf("idem:shop:order:create:%026d", i)
		if r, err := s.Create(t.Context(), names[i], []byte("one"), time.Minute); err != nil || !r.Done {
			t.Fatalf("Create: %+v, %v", r, err)
		}
	}
	for _, addr := range c.Masters {
		if got := redistest.Do(t, addr, "DBSIZE"); got == ":0" || got == ":60" {
			t.Errorf("the records did not spread: %s has %s", addr, got)
		}
	}

	moving, moved := onNode(t, first, names)[0], onNode(t, first, names)[1]
	startMove(t, first, second, moving)
	startMove(t, first, second, moved)
	migrate(t, first, second, moving)
	migrate(t, first, second, moved)
	finishMove(t, c, second, moved)

	for what, name := range map[string]string{"moving": moving, "moved": moved} {
		found(t, what, "Load", "one")(s.Load(t.Context(), name))
		found(t, what, "Create", "one")(s.Create(t.Context(), name, []byte("x"), time.Minute))
		done(t, what, "Swap")(s.Swap(t.Context(), name, []byte("one"), []byte("two"), time.Minute))
		found(t, what, "Load after it", "two")(s.Load(t.Context(), name))
	}
	for i, r := range s.Apply(t.Context(), []idem.Op{
		{Kind: idem.OpLoad, Name: moving}, {Kind: idem.OpLoad, Name: moved}, {Kind: idem.OpLoad, Name: names[0]},
		{Kind: idem.OpSwap, Name: moving, Old: []byte("two"), Value: []byte("three"), TTL: time.Minute},
		{Kind: idem.OpSwap, Name: moved, Old: []byte("two"), Value: []byte("three"), TTL: time.Minute},
	}) {
		if r.Err != nil || r.Done != (i > 2) || (i < 2 && string(r.Value) != "two") {
			t.Errorf("item %d of a batch: %+v", i, r)
		}
	}
	fresh := sameSlot(moving)
	done(t, "a new name of a moving slot", "Create")(s.Create(t.Context(), fresh, []byte("one"), time.Minute))
	found(t, "a new name of a moving slot", "Load", "one")(s.Load(t.Context(), fresh))

	for _, addr := range c.Masters { // and back again, for the next test
		redistest.Flush(t, addr)
	}
	takeBack(t, first, second, slotOf(t, first, moved))
	finishMove(t, c, first, moving)
	finishMove(t, c, first, moved)
	redistest.Do(t, second, "CLUSTER", "SETSLOT", slotOf(t, second, moving), "STABLE") // nobody moves it any more
	atOne(t, c)
}

// A hundred keys over all nodes are one pipeline a node, and no CROSSSLOT.
//
// Faults: 52.
func TestABatchIsOnePipelineANode(t *testing.T) {
	c := redistest.TheCluster(t)
	s := openCluster(t, c.Masters)
	before := s.Stats()
	for i, r := range s.Apply(t.Context(), creates("idem:shop:order:create:", 100)) {
		if r.Err != nil || !r.Done {
			t.Errorf("%d: %+v", i, r)
		}
	}
	after := s.Stats()
	if n := after.Flushes - before.Flushes; n != 3 || after.Commands-before.Commands != 100 {
		t.Errorf("100 claims on three nodes were %d pipelines: %+v", n, after)
	}
	for _, addr := range c.Masters {
		if got := redistest.Do(t, addr, "DBSIZE"); got == ":0" || got == ":100" {
			t.Errorf("the records did not spread: %s has %s", addr, got)
		}
	}
}

func done(t *testing.T, what, call string) func(idem.Result, error) {
	return func(r idem.Result, err error) {
		t.Helper()
		if err != nil || !r.Done {
			t.Errorf("%s, %s: %+v, %v, want Done", what, call, r, err)
		}
	}
}

func found(t *testing.T, what, call, value string) func(idem.Result, error) {
	return func(r idem.Result, err error) {
		t.Helper()
		if err != nil || string(r.Value) != value {
			t.Errorf("%s, %s: %+v, %v, want to be told of %q", what, call, r, err, value)
		}
	}
}

// onNode returns the names whose record a node has.
func onNode(t *testing.T, addr string, names []string) (there []string) {
	t.Helper()
	for _, name := range names {
		if redistest.Do(t, addr, "EXISTS", name) == ":1" {
			there = append(there, name)
		}
	}
	if len(there) < 2 {
		t.Fatalf("%s has %d of the records", addr, len(there))
	}
	return there
}

func slotOf(t *testing.T, addr, name string) string {
	return strings.TrimPrefix(redistest.Do(t, addr, "CLUSTER", "KEYSLOT", name), ":")
}

func nodeID(t *testing.T, addr string) string {
	_, id, _ := strings.Cut(redistest.Do(t, addr, "CLUSTER", "MYID"), "\r\n")
	return id
}

func startMove(t *testing.T, from, to, name string) {
	t.Helper()
	slot := slotOf(t, from, name)
	redistest.Do(t, to, "CLUSTER", "SETSLOT", slot, "IMPORTING", nodeID(t, from))
	redistest.Do(t, from, "CLUSTER", "SETSLOT", slot, "MIGRATING", nodeID(t, to))
}

func migrate(t *testing.T, from, to, name string) {
	t.Helper()
	host, port, _ := net.SplitHostPort(to)
	if got := redistest.Do(t, from, "MIGRATE", host, port, name, "0", "5000"); got != "+OK" {
		t.Fatalf("MIGRATE: %s", got)
	}
}

// finishMove gives the slot of a name to a node, and tells every master.
func finishMove(t *testing.T, c *redistest.Cluster, to, name string) {
	t.Helper()
	slot, id := slotOf(t, to, name), nodeID(t, to)
	for _, addr := range append([]string{to}, c.Masters...) {
		if got := redistest.Do(t, addr, "CLUSTER", "SETSLOT", slot, "NODE", id); got != "+OK" {
			t.Fatalf("SETSLOT: %s", got)
		}
	}
}

// sameSlot is another name in the slot of a name.
func sameSlot(name string) string { return "{" + name + "}:new" }

// Given a cluster of which one master is down, and nobody takes its place, when a
// process starts, then records on the other masters are served at once, those on the
// lost one are not, and Ready says so.
func TestAClusterIsServedWithoutOneOfItsMasters(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, "--cluster-node-timeout", "60000", "--cluster-require-full-coverage", "no")
	c.Kill(c.Replicas[2])
	c.Kill(c.Masters[2])
	s := openCluster(t, c.Masters)
	served, lost := 0, 0
	ops := creates("idem:shop:order:create:", 60)
	for i, r := range s.Apply(t.Context(), ops) {
		switch there := redistest.Do(t, c.Masters[0], "EXISTS", ops[i].Name); {
		case r.Err == nil && r.Done:
			served++
		case r.Err == nil || r.Done:
			t.Errorf("%s: %+v", ops[i].Name, r)
		case there == ":1":
			t.Errorf("%s lies on a master that is there: %v", ops[i].Name, r.Err)
		default:
			lost++
		}
	}
	if served == 0 || lost == 0 {
		t.Errorf("%d of 60 records were served, %d not", served, lost)
	}
	if err := s.Ready(t.Context()); !errors.Is(err, redisstore.ErrUnseen) || !strings.Contains(err.Error(), c.Masters[2]) {
		t.Errorf("Ready does not say which master is missing: %v", err)
	}
	if r := s.Report(); r.NotReady != nil || r.Missing == nil || !strings.Contains(r.String(), "not looked at yet") {
		t.Errorf("the report: %+v", r)
	}
}

// A node that belongs to no cluster yet has nothing to say, and nothing breaks.
func TestAClusterWithoutSlots(t *testing.T) {
	addr, _ := redistest.Start(t, "--cluster-enabled", "yes", "--cluster-port", portOf(redistest.FreeAddr(t)))
	s := openCluster(t, []string{addr})
	if r, err := s.Create(t.Context(), "a", []byte("v"), time.Minute); !errors.Is(err, redisstore.ErrUnseen) || r.Done {
		t.Errorf("%+v, %v", r, err)
	}
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}
