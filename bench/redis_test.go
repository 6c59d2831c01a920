package main

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/stores/redisstore"
)

// The parts of B6 and B9 that do not depend on the machine: what `make bench-check`
// fails on, beside the allocations.
func TestBudgetOfRoundTripsAndBytes(t *testing.T) {
	addr := redistest.Server(t)
	ours, err := redisstore.Open(t.Context(), redisstore.Options{Universal: &redis.UniversalOptions{Addrs: []string{addr}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()

	t.Run("B6 a batch of 100 is one round trip", func(t *testing.T) {
		before := ours.Stats()
		if err := applyOf(t.Context(), ours, func(i int) string { return fmt.Sprint("batch:", i) }, 0); err != nil {
			t.Fatal(err)
		}
		if n := ours.Stats().Flushes - before.Flushes; n != 1 {
			t.Errorf("%d pipelines", n)
		}
	})
	// B9: 197 bytes of Redis for a claim of up to 41 bytes of value, about 230 at the
	// most of what a claim has.
	t.Run("B9 a claim in Redis", func(t *testing.T) {
		for value, most := range map[int]int{44: 210, 80: 240} {
			name := fmt.Sprintf("idem:shop:order:create:%026d", 1<<40+value)
			if r, err := ours.Create(t.Context(), name, make([]byte, value), ttl); err != nil || !r.Done {
				t.Fatalf("%+v, %v", r, err)
			}
			used := 0
			_, _ = fmt.Sscanf(redistest.Do(t, addr, "MEMORY", "USAGE", name), ":%d", &used)
			if t.Logf("a value of %d bytes takes %d in Redis", value, used); used == 0 || used > most {
				t.Errorf("a value of %d bytes takes %d in Redis, want %d at most", value, used, most)
			}
		}
	})
}

// The rows of the table as Go benchmarks. A batch counts as one operation here.
func BenchmarkRedis(b *testing.B) {
	addr := redistest.Server(b)
	g, err := redisRows(b.Context(), addr)
	if err != nil {
		b.Fatal(err)
	}
	defer g.end()
	for _, r := range g.rows {
		if r.do == nil {
			continue
		}
		b.Run(r.name, func(b *testing.B) {
			if err := g.reset(); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			if r.callers == 1 {
				for i := 0; b.Loop(); i++ {
					if err := r.do(i); err != nil {
						b.Fatal(err)
					}
				}
				return
			}
			var next atomic.Int64
			b.SetParallelism(r.callers / runtime.GOMAXPROCS(0))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := r.do(int(next.Add(1))); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
