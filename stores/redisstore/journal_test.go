package redisstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/redistest"
)

func entry(n int) *idem.JournalEntry {
	return &idem.JournalEntry{Journal: "journal", Max: 100, Fields: []string{"n", fmt.Sprint(n)}, Prefix: 5}
}

// Given many operations that carry entries, then those that did their work append
// them, in the same pipeline, and say so; those that did not leave none.
func TestS9_EntriesRideWithWhatWasDone(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	s := open(t, addr)
	redistest.Do(t, addr, "SET", "taken", "other", "PX", "60000")
	redistest.Do(t, addr, "SET", "mine", "claim", "PX", "60000")
	ops := []idem.Op{
		{Kind: idem.OpCreate, Name: "new", Value: []byte("claim-1"), TTL: time.Minute, Entry: entry(0)},
		{Kind: idem.OpCreate, Name: "taken", Value: []byte("claim-2"), TTL: time.Minute, Entry: entry(1)},
		{Kind: idem.OpSwap, Name: "mine", Old: []byte("claim"), Value: []byte("settled"), TTL: time.Minute, Entry: entry(2), Wake: true},
		{Kind: idem.OpSwap, Name: "gone", Old: []byte("claim"), Value: []byte("settled"), TTL: time.Minute, Entry: entry(3)},
		{Kind: idem.OpLoad, Name: "mine", Entry: entry(4)},
		{Kind: idem.OpCreate, Name: "plain", Value: []byte("claim-3"), TTL: time.Minute},
	}
	warm := idem.Op{Kind: idem.OpSwap, Name: "warm", Old: []byte("a"), Value: []byte("b"), TTL: time.Minute, Entry: entry(9), Wake: true}
	s.Apply(briefly(t, 30*time.Second), []idem.Op{warm}) // the scripts are loaded
	before := s.Stats().Flushes
	results := s.Apply(briefly(t, 30*time.Second), ops)
	for i, want := range []bool{true, false, true, false, false, false} {
		if r := results[i]; r.Err != nil || r.Journaled != want {
			t.Errorf("operation %d: journaled %v, %v; want %v", i, r.Journaled, r.Err, want)
		}
	}
	if n := s.Stats().Flushes - before; n != 2 {
		t.Errorf("%d pipelines, want one, and one for the second operation on a name", n)
	}
	if got := redistest.Do(t, addr, "XLEN", "journal"); got != ":2" {
		t.Errorf("the journal holds %s entries", got)
	}
	// The same again: our own value is there, and there are two copies of the entry.
	if r := s.Apply(briefly(t, 30*time.Second), ops[:1])[0]; r.Err != nil || !r.Journaled || string(r.Value) != "claim-1" {
		t.Errorf("a claim asked again: %+v", r)
	}
}

func TestS9_AppendKeepsAbout(t *testing.T) {
	m := redistest.Server(t)
	redistest.Flush(t, m)
	s := open(t, m)
	var entries [][]string
	for i := range 500 {
		entries = append(entries, []string{"n", fmt.Sprint(i)})
	}
	if err := s.Append(briefly(t, 30*time.Second), "journal", 100, entries); err != nil {
		t.Fatal(err)
	}
	var n int
	if _, err := fmt.Sscanf(redistest.Do(t, m, "XLEN", "journal"), ":%d", &n); err != nil || n < 100 || n > 300 {
		t.Errorf("about 100 were to be kept, there are %d, %v", n, err)
	}
	redistest.Do(t, m, "SET", "nostream", "x")
	if err := s.Append(briefly(t, 30*time.Second), "nostream", 100, entries[:1]); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("appended to what is no stream: %v", err)
	}
}
