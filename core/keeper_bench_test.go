//go:build unix

package idem_test

import (
	"context"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
)

// counted counts the renewals that a store takes, and the exchanges they come in.
type counted struct {
	*memstore.Store
	renewals, trips atomic.Int64
	target          atomic.Int64
	reached         chan struct{}
}

func (s *counted) Apply(ctx context.Context, ops []idem.Op) []idem.OpResult {
	s.count(len(ops))
	return s.Store.Apply(ctx, ops)
}

func (s *counted) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (idem.Result, error) {
	s.count(1)
	return s.Store.Swap(ctx, name, old, value, ttl)
}

func (s *counted) count(n int) {
	s.trips.Add(1)
	after := s.renewals.Add(int64(n))
	if target := s.target.Load(); after >= target && after-int64(n) < target {
		close(s.reached)
	}
}

// BenchmarkRenewals keeps 10,000 claims: CPU time and exchanges for each renewal,
// the store's part (memory) included.
func BenchmarkRenewals(b *testing.B) {
	s := &counted{Store: memstore.New(memstore.Options{}), reached: make(chan struct{})}
	g := keptGuard(b, s, 600*time.Millisecond)
	claims := keep(b, g, 10_000)
	before, cpu, trips := s.renewals.Load(), cpuTime(), s.trips.Load()
	b.ResetTimer()
	b.ReportAllocs()
	s.target.Store(before + int64(b.N))
	<-s.reached
	b.StopTimer()
	n := float64(s.renewals.Load() - before)
	b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/n, "cpu-µs/renewal")
	b.ReportMetric(float64(s.trips.Load()-trips)/n, "exchanges/renewal")
	for _, c := range claims {
		_ = c.Release(context.Background())
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
