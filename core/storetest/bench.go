package storetest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
)

// benchValue is as long as the value of a claim with a trace link.
const benchValue = 80

// Bench measures the calls of a store as a guard makes them: a claim on a new
// name and on a taken one, a renewal, a settle with a kept answer of 512 bytes,
// a look; alone, and the claim from many goroutines at once.
func Bench(b *testing.B, f Factory) {
	value := noise(benchValue)
	b.Run("Create", func(b *testing.B) {
		h := f.bench(b)
		names := benchNames(b.N)
		b.ResetTimer()
		for i := range b.N {
			mustDone(b)(h.Create(b.Context(), names[i], value, time.Hour))
		}
	})
	b.Run("CreateTaken", func(b *testing.B) {
		h := f.bench(b)
		mustDone(b)(h.Create(b.Context(), "idem:bench:taken", value, time.Hour))
		b.ResetTimer()
		for range b.N {
			if r, err := h.Create(b.Context(), "idem:bench:taken", value, time.Hour); err != nil || r.Done {
				b.Fatalf("a taken name: %s, %v", result(r), err)
			}
		}
	})
	b.Run("CreateThenSwap", func(b *testing.B) {
		h := f.bench(b)
		names, settled := benchNames(b.N), noise(benchValue+512)
		b.ResetTimer()
		for i := range b.N {
			mustDone(b)(h.Create(b.Context(), names[i], value, time.Hour))
			mustDone(b)(h.Swap(b.Context(), names[i], value, settled, time.Hour))
		}
	})
	b.Run("Swap", func(b *testing.B) {
		h := f.bench(b)
		one, two := noise(benchValue), noise(benchValue)
		two[0] ^= 1
		mustDone(b)(h.Create(b.Context(), "idem:bench:swapped", one, time.Hour))
		b.ResetTimer()
		for range b.N {
			mustDone(b)(h.Swap(b.Context(), "idem:bench:swapped", one, two, time.Hour))
			one, two = two, one
		}
	})
	b.Run("Load", func(b *testing.B) {
		h := f.bench(b)
		mustDone(b)(h.Create(b.Context(), "idem:bench:there", noise(benchValue+512), time.Hour))
		b.ResetTimer()
		for range b.N {
			if r, err := h.Load(b.Context(), "idem:bench:there"); err != nil || r.Value == nil {
				b.Fatalf("a value that is there: %s, %v", result(r), err)
			}
		}
	})
	b.Run("Apply100Creates", func(b *testing.B) {
		h := f.bench(b)
		names := benchNames(100 * b.N)
		ops := make([]idem.Op, 100)
		b.ResetTimer()
		for i := range b.N {
			for j := range ops {
				ops[j] = idem.Op{Kind: idem.OpCreate, Name: names[100*i+j], Value: value, TTL: time.Hour}
			}
			for _, r := range idem.Apply(b.Context(), h, ops) {
				mustDone(b)(r.Result, r.Err)
			}
		}
	})
	b.Run("CreateParallel", func(b *testing.B) {
		h := f.bench(b)
		names := benchNames(b.N)
		var next atomic.Int64
		b.SetParallelism(32)
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if r, err := h.Create(b.Context(), names[next.Add(1)-1], value, time.Hour); err != nil || !r.Done {
					b.Errorf("got %s, %v, want Done", result(r), err)
					return
				}
			}
		})
	})
}

func (f Factory) bench(b *testing.B) idem.Store {
	backend, err := f.New()
	if err != nil {
		b.Fatalf("no store to measure: %v", err)
	}
	if backend.Close != nil {
		b.Cleanup(backend.Close)
	}
	h, err := backend.Open()
	if err != nil {
		b.Fatalf("no handle on the store: %v", err)
	}
	b.ReportAllocs()
	return h
}

func benchNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("idem:shop:order:create:%026d", i)
	}
	return names
}

func mustDone(b *testing.B) func(idem.Result, error) {
	return func(r idem.Result, err error) {
		if err != nil || !r.Done {
			b.Fatalf("got %s, %v, want Done", result(r), err)
		}
	}
}
