package main

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// row is one way of doing some work.
type row struct {
	name    string
	callers int // goroutines at once
	calls   int // what one do counts as
	most    int // how often do may be called before the next reset; 0: as often as there is time for
	do      func(i int) error
	counts  map[quantity]func() uint64 // what else is counted, for a call each
	after   func() error               // what is tidied up once do was measured, and not measured
	// or, for work that measures itself:
	itself func(length time.Duration) (figure, error)
}

// group is rows that are measured in turns.
type group struct {
	rows  []row
	reset func() error // before each row, in each round
	end   func()
}

// measure measures every row, a round after the other. Rows that are compared
// stand next to each other, and rounds are short: what slows the machine for a
// moment slows both. Every other round goes backwards, so that none of two rows is
// always the one that finds everything warm.
func (g *group) measure(rounds int, length time.Duration) (figures, error) {
	all := figures{}
	for n := range rounds {
		rows := slices.Clone(g.rows)
		if n%2 == 1 {
			slices.Reverse(rows)
		}
		for _, r := range rows {
			if err := g.reset(); err != nil {
				return nil, fmt.Errorf("before %s: %w", r.name, err)
			}
			f, err := r.measure(length)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.name, err)
			}
			all[r.name] = append(all[r.name], f)
		}
	}
	return all, nil
}

// measure has a row's callers work for so long.
func (r row) measure(length time.Duration) (figure, error) {
	if r.itself != nil {
		return r.itself(length)
	}
	var made, next atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	runtime.GC()
	counted := map[quantity]uint64{}
	for q, now := range r.counts {
		counted[q] = now()
	}
	before, began := spentNow(), time.Now()
	for range r.callers {
		all.Go(func() {
			for n := 0; ; n++ {
				if n%16 == 0 && time.Since(began) > length {
					return
				}
				i := int(next.Add(1))
				if r.most > 0 && i > r.most {
					return
				}
				if err := r.do(i); err != nil {
					first := err // err itself would be made anew on the heap for every call
					failed.CompareAndSwap(nil, &first)
					return
				}
				made.Add(1)
			}
		})
	}
	all.Wait()
	took, after := time.Since(began), spentNow()
	if r.after != nil {
		if err := r.after(); err != nil {
			return nil, err
		}
	}
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	calls := float64(made.Load()) * float64(cmp.Or(r.calls, 1))
	f := after.since(before, took, r.callers, calls)
	for q, now := range r.counts {
		f[q] = float64(now()-counted[q]) / calls
	}
	return f, nil
}

// spent is what a process has used so far.
type spent struct {
	CPU     time.Duration // of all cores
	Mallocs uint64
}

func spentNow() spent {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return spent{cpuTime(), m.Mallocs}
}

// since is the figure of so many calls by so many callers.
func (s spent) since(before spent, took time.Duration, callers int, calls float64) figure {
	return figure{
		perSecond: calls / took.Seconds(),
		micros:    took.Seconds() * 1e6 * float64(callers) / calls,
		cpu:       (s.CPU - before.CPU).Seconds() * 1e6 / calls,
		allocs:    float64(s.Mallocs-before.Mallocs) / calls,
	}
}

// cpuTime is what this process has used of all cores.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
