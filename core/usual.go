package idem

import (
	"sync/atomic"
	"time"
)

// durations learns how long an operation's handler takes from its last runs: the
// 90th percentile of 64, by which a duplicate is told when to come again, and the
// 99th of 192, by which leases are adapted. Adding to it takes no lock and no
// memory; any number of goroutines may. Where it is only a matter of when to come
// again, a quarter of the runs is enough, once 64 are known.
type durations struct {
	runs   atomic.Int64
	last   [longWindow]atomic.Int64
	usual  atomic.Int64 // p90 in nanoseconds
	nearly atomic.Int64 // p99, zero before enough was learned
}

const (
	shortWindow = 64
	usualEvery  = 32
	// longWindow and nearlyEvery make 200 together: a change of the handler's pace
	// is followed within 200 runs, whenever it comes.
	longWindow  = 192
	nearlyEvery = 8
	// learnFrom is how many runs have to be known before leases are adapted.
	learnFrom = 200
)

// wants tells whether a run is to be added. Which quarter of them is, is left to
// chance: a byte of the claim's nonce.
func (d *durations) wants(adapts bool, chance byte) bool {
	return chance%4 == 0 || adapts || d.runs.Load() < shortWindow
}

// add notes a run. Every thirty-second makes the p90 anew, and where leases are
// adapted every eighth the p99; what others add meanwhile is seen by the next.
func (d *durations) add(took time.Duration, adapts bool) {
	n := d.runs.Add(1)
	d.last[(n-1)%longWindow].Store(int64(took))
	if n == 1 || n%usualEvery == 0 {
		var buf [shortWindow]int64
		seen := d.newest(n, buf[:])
		d.usual.Store(largest(seen, len(seen)-len(seen)*9/10))
	}
	if adapts && n >= learnFrom && n%nearlyEvery == 0 {
		var buf [longWindow]int64
		d.nearly.Store(largest(d.newest(n, buf[:]), 2)) // 190 of 192 took no longer
	}
}

// newest fills a window with the runs up to the nth, the newest first.
func (d *durations) newest(n int64, window []int64) []int64 {
	window = window[:min(n, int64(len(window)))]
	for i := range window {
		window[i] = d.last[(n-1-int64(i))%longWindow].Load()
	}
	return window
}

// largest is the kth largest of a list, for k up to eight and no more than there
// are: nearly all of a list is passed with one look.
func largest(list []int64, k int) int64 {
	var buf [8]int64
	top := buf[:k] // the largest first
	for _, v := range list {
		if v <= top[k-1] {
			continue
		}
		at := k - 1
		for ; at > 0 && top[at-1] < v; at-- {
			top[at] = top[at-1]
		}
		top[at] = v
	}
	return top[k-1]
}

// p90 is zero while nothing was learned.
func (d *durations) p90() time.Duration { return time.Duration(d.usual.Load()) }

// p99 is zero before 200 runs.
func (d *durations) p99() time.Duration { return time.Duration(d.nearly.Load()) }
