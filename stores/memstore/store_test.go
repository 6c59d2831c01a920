package memstore_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
)

// What has begun can still be settled when Creates find no room any more.
func TestFullStoreStillSettles(t *testing.T) {
	s := memstore.New(memstore.Options{MaxBytes: 1 << 20})
	claim, answer := make([]byte, 44), make([]byte, 2000)
	var names []string
	for {
		name := fmt.Sprintf("n%d", len(names))
		r, err := s.Create(t.Context(), name, claim, time.Hour)
		if errors.Is(err, memstore.ErrFull) {
			break
		}
		if err != nil || !r.Done {
			t.Fatalf("filling: %+v, %v", r, err)
		}
		names = append(names, name)
	}
	settled := 0
	for _, name := range names {
		if r, err := s.Swap(t.Context(), name, claim, answer, time.Hour); err == nil && r.Done {
			settled++
		}
	}
	if least := (1 << 20) / 8 / 2000 * 9 / 10; settled < least {
		t.Errorf("of %d claims %d could be settled with an answer of 2 kB, want at least %d", len(names), settled, least)
	}
	if used := s.Used(); used > 1<<20 {
		t.Errorf("%d bytes are used, more than the limit", used)
	}
	last := names[len(names)-1]
	if _, err := s.Swap(t.Context(), last, claim, answer, time.Hour); !errors.Is(err, memstore.ErrFull) {
		t.Errorf("a longer value beyond the room: %v, want ErrFull", err)
	}
	if r, err := s.Swap(t.Context(), last, claim, make([]byte, 43), time.Hour); err != nil || !r.Done {
		t.Errorf("a shorter value in a full store: %+v, %v, want Done", r, err)
	}
}

// All that was booked is given back when it has expired, whatever became of it.
//
// Faults: 56.
func TestRoomComesBack(t *testing.T) {
	s := memstore.New(memstore.Options{})
	for i := range 5000 {
		name := fmt.Sprintf("n%d", i)
		_, _ = s.Create(t.Context(), name, make([]byte, i%700), time.Duration(1+i%50)*time.Minute)
		if i%3 == 0 {
			_, _ = s.Swap(t.Context(), name, make([]byte, i%700), make([]byte, 100), time.Duration(1+i%40)*time.Minute)
		}
	}
	s.Advance(time.Hour)
	// Each write takes out two of its shard, so this many leave only what they wrote.
	for i := range 20_000 {
		_, _ = s.Create(t.Context(), fmt.Sprintf("new%d", i%2000), nil, time.Minute)
		if i%2000 == 1999 {
			s.Advance(time.Hour)
		}
	}
	if used := s.Used(); used > 2*2000*200 {
		t.Errorf("%d bytes are used by 2,000 empty values: expired ones were not given back", used)
	}
}

// The sweep takes a bounded number of records at a write, however many expired.
//
// Faults: 56.
func TestSweepIsBoundedAtEachWrite(t *testing.T) {
	s := memstore.New(memstore.Options{})
	const records = 50_000
	for i := range records {
		_, _ = s.Create(t.Context(), fmt.Sprintf("n%d", i), nil, time.Minute)
	}
	s.Advance(time.Hour)
	before := s.Used()
	_, _ = s.Create(t.Context(), "one more", nil, time.Hour)
	if freed := before - s.Used(); freed > 2*200 {
		t.Errorf("one write took out %d bytes of expired records", freed)
	}
}

// MaxBytes bounds what the process really takes, within a quarter either way.
func TestMaxBytesIsHonest(t *testing.T) {
	if testing.Short() {
		t.Skip("fills the store with 100,000 records")
	}
	for _, size := range []int{44, 600} {
		heap := func() int64 {
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		value := make([]byte, size)
		before := heap()
		s := memstore.New(memstore.Options{MaxBytes: 1 << 30})
		for i := range 100_000 {
			name := fmt.Sprintf("idem:shop:order:create:%026d", i)
			if r, err := s.Create(t.Context(), name, value, time.Hour); err != nil || !r.Done {
				t.Fatal(r, err)
			}
		}
		taken := heap() - before
		ratio := float64(taken) / float64(s.Used())
		t.Logf("values of %d bytes: %d bytes a record taken, %d booked", size, taken/100_000, s.Used()/100_000)
		if ratio > 1.25 || ratio < 0.75 {
			t.Errorf("values of %d bytes: %d bytes taken for %d booked", size, taken, s.Used())
		}
		runtime.KeepAlive(s)
	}
}

// The date does not matter, only time gone by; and Now starts from the date.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(memstore.Options{})
		start, _ := s.Now(t.Context())
		if !start.Equal(time.Now()) {
			t.Errorf("a new store's clock says %v, the host's %v", start, time.Now())
		}
		_, _ = s.Create(t.Context(), "a", []byte("v"), 10*time.Second)
		time.Sleep(4 * time.Second)
		s.Advance(5 * time.Second)
		if r, _ := s.Load(t.Context(), "a"); r.Left != time.Second {
			t.Errorf("after 4 s and 5 s more of its 10 s it has %v left", r.Left)
		}
		if now, _ := s.Now(t.Context()); now.Sub(start) != 9*time.Second {
			t.Errorf("the clock went on by %v, want 9 s", now.Sub(start))
		}
		time.Sleep(time.Second)
		if r, _ := s.Load(t.Context(), "a"); r.Value != nil {
			t.Errorf("still there at the end of its time: %+v", r)
		}
	})

	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := memstore.New(memstore.Options{Clock: func() time.Time { return now }})
	_, _ = s.Create(t.Context(), "a", []byte("v"), time.Minute)
	now = now.Add(20 * time.Second)
	if r, _ := s.Load(t.Context(), "a"); r.Left != 40*time.Second {
		t.Errorf("by the clock handed in it has %v left, want 40 s", r.Left)
	}
	if got, _ := s.Now(t.Context()); !got.Equal(now) {
		t.Errorf("Now is %v, the clock handed in says %v", got, now)
	}
}

func TestNamesAreBounded(t *testing.T) {
	s := memstore.New(memstore.Options{})
	for _, name := range []string{"", string(make([]byte, 201))} {
		if _, err := s.Create(t.Context(), name, nil, time.Minute); err == nil {
			t.Errorf("a name of %d bytes was taken", len(name))
		}
	}
}

func TestAllocations(t *testing.T) {
	s := memstore.New(memstore.Options{MaxBytes: 1 << 30})
	value := make([]byte, 80)
	names := make([]string, 0, 30_000)
	for i := range cap(names) {
		names = append(names, fmt.Sprintf("idem:shop:order:create:%026d", i))
	}
	i := 0
	perCreate := testing.AllocsPerRun(25_000, func() {
		_, _ = s.Create(context.Background(), names[i], value, time.Hour)
		i++
	})
	if perCreate > 2.2 {
		t.Errorf("a Create makes %.2f allocations, want 2 and the map's growth", perCreate)
	}
	one, two := make([]byte, 80), slices.Repeat([]byte{1}, 80)
	_, _ = s.Create(context.Background(), "swapped", one, time.Hour)
	perSwap := testing.AllocsPerRun(1000, func() {
		if r, err := s.Swap(context.Background(), "swapped", one, two, time.Hour); err != nil || !r.Done {
			t.Fatal(r, err)
		}
		one, two = two, one
	})
	if perSwap > 1 {
		t.Errorf("a Swap makes %.2f allocations, want 1", perSwap)
	}
}

func ExampleNew() {
	s := memstore.New(memstore.Options{MaxBytes: 64 << 20})
	ctx := context.Background()

	first, _ := s.Create(ctx, "idem:shop:order:create:abc", []byte("a claim"), time.Hour)
	again, _ := s.Create(ctx, "idem:shop:order:create:abc", []byte("another"), time.Hour)
	fmt.Printf("%v, then %v: %s\n", first.Done, again.Done, again.Value)

	s.Advance(time.Hour)
	later, _ := s.Load(ctx, "idem:shop:order:create:abc")
	fmt.Println(later.Value == nil)
	var _ idem.Store = s
	// Output:
	// true, then false: a claim
	// true
}
