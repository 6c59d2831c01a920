package idem

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// durations learns how long an operation's handler usually takes: the 90th
// percentile of its last runs.
type durations struct {
	mu   sync.Mutex
	last [64]time.Duration
	n    int
	high atomic.Int64 // p90 in nanoseconds, made anew every sixteenth run
}

func (d *durations) add(took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last[d.n%len(d.last)] = took
	if d.n++; d.n == 1 || d.n%16 == 0 {
		seen := d.last
		kept := seen[:min(d.n, len(seen))]
		slices.Sort(kept)
		d.high.Store(int64(kept[(len(kept)*9)/10]))
	}
}

// p90 is zero while nothing was learned.
func (d *durations) p90() time.Duration { return time.Duration(d.high.Load()) }
