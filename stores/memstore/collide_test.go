package memstore

import (
	"fmt"
	"testing"
	"time"
)

// Names whose hashes are the same are two names all the same: created, swapped,
// expired and taken out each by itself, in whatever order.
func TestNamesOfOneHashAreNotConfused(t *testing.T) {
	s := New(Options{})
	s.hash = func(string) uint64 { return 7 }
	const names = 12
	name := func(i int) string { return fmt.Sprintf("n%d", i) }
	for i := range names {
		r, err := s.Create(t.Context(), name(i), []byte(name(i)), time.Duration(1+(i*5)%names)*time.Minute)
		if err != nil || !r.Done {
			t.Fatalf("Create %d: %+v, %v", i, r, err)
		}
	}
	for i := range names {
		if r, _ := s.Create(t.Context(), name(i), []byte("x"), time.Minute); string(r.Value) != name(i) {
			t.Errorf("under %s there is %q", name(i), r.Value)
		}
		if r, _ := s.Swap(t.Context(), name(i), []byte(name(i)), []byte("swapped "+name(i)), time.Duration(1+(i*7)%names)*time.Minute); !r.Done {
			t.Errorf("Swap of %s: %+v", name(i), r)
		}
	}
	for minute := range names {
		s.Advance(time.Minute)
		_, _ = s.Create(t.Context(), fmt.Sprintf("sweeps%d", minute), nil, time.Hour)
		for i := range names {
			want := ""
			if (i*7)%names > minute {
				want = "swapped " + name(i)
			}
			if r, _ := s.Load(t.Context(), name(i)); string(r.Value) != want {
				t.Errorf("after minute %d there is %q under %s, want %q", minute+1, r.Value, name(i), want)
			}
		}
	}
	if sh := s.shard(7); len(sh.order) != names || len(sh.byHash)+len(sh.strays) != names {
		t.Errorf("%d in order, %d by hash, %d strays: want the %d that sweep", len(sh.order), len(sh.byHash), len(sh.strays), names)
	}
}
