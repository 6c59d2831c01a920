package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/stores/redisstore"
)

const theIndex = "idem:shop:order:pay:index"

func claimOf(name string) idem.Op {
	return idem.Op{Kind: idem.OpCreate, Name: name, Value: []byte("claim"), TTL: time.Minute}
}

func entryOf(name string) idem.IndexEntry {
	return idem.IndexEntry{Name: name, Due: time.UnixMicro(1_800_000_000_000_001)}
}

// A claim whose entry is not known to be there is not known to be won: nobody
// would find it again if its process died.
func TestS9_AClaimWhoseEntryIsUnheardIsNotWon(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	c := redistest.TheCluster(t)
	for _, master := range c.Masters {
		redistest.Flush(t, master)
	}
	for name, s := range map[string]*redisstore.Store{"one server": open(t, addr), "a cluster": openCluster(t, c.Masters)} {
		t.Run(name, func(t *testing.T) {
			// Something else has the index's name: the server refuses the entry.
			if r, err := s.Create(t.Context(), theIndex, []byte("no index"), time.Minute); err != nil || !r.Done {
				t.Fatalf("%+v, %v", r, err)
			}
			for i := range 4 {
				record := fmt.Sprint("idem:shop:order:pay:", i)
				if r, err := s.Indexed(t.Context(), theIndex, entryOf(record), time.Hour, claimOf(record)); err == nil {
					t.Errorf("the claim says %+v, although its entry was refused", r)
				}
			}
		})
	}
}

// On one server the entry and the claim are one write, whatever has to be made
// again, and one round trip.
func TestAnIndexedClaimIsOneRoundTrip(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	proxy := redistest.NewProxy(t, addr)
	s := open(t, proxy.Addr())
	if r, err := s.Indexed(t.Context(), theIndex, entryOf("a"), time.Hour, claimOf("a")); err != nil || !r.Done {
		t.Fatalf("%+v, %v", r, err)
	}
	before := proxy.Count()
	if r, err := s.Indexed(t.Context(), theIndex, entryOf("b"), time.Hour, claimOf("b")); err != nil || !r.Done {
		t.Fatalf("%+v, %v", r, err)
	}
	if n := proxy.Count() - before; n != 4 {
		t.Errorf("%d commands, want the entry's three and the claim", n)
	}
	// A server that has forgotten the script of a swap refuses it, behind the entry.
	if got := redistest.Do(t, addr, "SCRIPT", "FLUSH"); got != "+OK" {
		t.Fatal(got)
	}
	swap := idem.Op{Kind: idem.OpSwap, Name: "b", Old: []byte("claim"), Value: []byte("again"), TTL: time.Minute}
	if r, err := s.Indexed(t.Context(), theIndex, entryOf("c"), time.Hour, swap); err != nil || !r.Done {
		t.Errorf("%+v, %v", r, err)
	}
	if err := s.Reindex(t.Context(), theIndex, []idem.IndexMove{{Name: "a", Was: entryOf("a").Due}}); err != nil {
		t.Error(err)
	}
	list, err := s.Entries(t.Context(), theIndex, entryOf("").Due, 10)
	if err != nil || len(list) != 2 || list[0].Name != "b" || list[1].Name != "c" {
		t.Errorf("the index has %v, %v", list, err)
	}
	if ttl := redistest.Do(t, addr, "PTTL", theIndex); ttl <= ":3500000" || len(ttl) != len(":3600000") {
		t.Errorf("the index has a time to live of %s ms", ttl)
	}
}

// A claim whose reply was lost is asked for again with its entry, and found to be
// our own.
func TestAnIndexedClaimWhoseReplyWasLostCanBeAskedForAgain(t *testing.T) {
	m := redistest.Miniredis(t)
	proxy := redistest.NewProxy(t, m.Addr())
	s := open(t, proxy.Addr())
	proxy.Lose(1, "SET")
	if r, err := s.Indexed(t.Context(), theIndex, entryOf("a"), time.Hour, claimOf("a")); err == nil {
		t.Fatalf("%+v, want an error", r)
	}
	r, err := s.Indexed(t.Context(), theIndex, entryOf("a"), time.Hour, claimOf("a"))
	if err != nil || r.Done || string(r.Value) != "claim" {
		t.Errorf("%+v, %v; want our own claim told", r, err)
	}
}

// Given processes that claim, leave an entry and die, when other claims come a
// time to live later, then the first of them takes the entries along; and when none
// comes, the index runs out as a whole, like a record.
//
// Faults: 17.
func TestEntriesThatNobodyFollowsDoNotStayForEver(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	s := open(t, addr)
	const crashed, ttl = 300, time.Hour
	leave := func(i int, due time.Time) {
		t.Helper()
		name := fmt.Sprint("idem:shop:order:pay:", i)
		if r, err := s.Indexed(t.Context(), theIndex, idem.IndexEntry{Name: name, Due: due}, ttl, claimOf(name)); err != nil || !r.Done {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	begin := entryOf("").Due
	for i := range crashed {
		leave(i, begin.Add(time.Duration(i)*time.Second))
	}
	if n := redistest.Do(t, addr, "ZCARD", theIndex); n != fmt.Sprint(":", crashed) {
		t.Fatalf("the index has %s members, want %d: nothing is looked at", n, crashed)
	}
	leave(crashed, begin.Add(crashed*time.Second+ttl))
	if n := redistest.Do(t, addr, "ZCARD", theIndex); n != ":1" {
		t.Errorf("a time to live later the index has %s members, want that of the last claim", n)
	}
	if left := redistest.Do(t, addr, "PTTL", theIndex); len(left) != len(":3600000") {
		t.Errorf("the index runs out in %s ms", left)
	}
}
