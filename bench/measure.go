package main

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
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
	// or, for a program that measures itself:
	itself func(length time.Duration) (perSecond float64, err error)
}

// group is rows that are measured in turns.
type group struct {
	rows  []row
	reset func() error // before each row, in each round
	end   func()
}

// figure is what came out for a row.
type figure struct {
	PerSecond float64
	Micros    float64 // from beginning to end, for one caller
	CPU       float64 // microseconds of this process a call
	Allocs    float64 // a call
}

// figures are what came out for each row, round by round.
type figures map[string][]figure

// measure measures every row, a round after the other. Rows that are compared
// stand next to each other, and rounds are short: what slows the machine for a
// moment slows both.
func (g *group) measure(rounds int, length time.Duration) (figures, error) {
	all := figures{}
	for range rounds {
		for _, r := range g.rows {
			if err := g.reset(); err != nil {
				return nil, err
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

// median is a row's figure in the middle of its rounds; 0 where it has none.
func (f figures) median(row string, of func(figure) float64) float64 {
	values := make([]float64, len(f[row]))
	for i, one := range f[row] {
		values[i] = of(one)
	}
	return middle(values)
}

// ratio is the middle of the rounds' ratios of two rows.
func (f figures) ratio(a, b string, of func(figure) float64) float64 {
	values := make([]float64, min(len(f[a]), len(f[b])))
	for i := range values {
		values[i] = of(f[a][i]) / of(f[b][i])
	}
	return middle(values)
}

// more is the middle of the rounds' differences of two rows.
func (f figures) more(a, b string, of func(figure) float64) float64 {
	values := make([]float64, min(len(f[a]), len(f[b])))
	for i := range values {
		values[i] = of(f[a][i]) - of(f[b][i])
	}
	return middle(values)
}

func middle(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// measure has a row's callers work for so long.
func (r row) measure(length time.Duration) (figure, error) {
	if r.itself != nil {
		perSecond, err := r.itself(length)
		return figure{PerSecond: perSecond}, err
	}
	var made, next atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, began := cpuTime(), time.Now()
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
					failed.CompareAndSwap(nil, &err)
					return
				}
				made.Add(1)
			}
		})
	}
	all.Wait()
	took, spent := time.Since(began), cpuTime()-cpu
	runtime.ReadMemStats(&after)
	if err := failed.Load(); err != nil {
		return figure{}, *err
	}
	calls := float64(made.Load()) * float64(cmp.Or(r.calls, 1))
	return figure{
		PerSecond: calls / took.Seconds(),
		Micros:    took.Seconds() * 1e6 * float64(r.callers) / calls,
		CPU:       spent.Seconds() * 1e6 / calls,
		Allocs:    float64(after.Mallocs-before.Mallocs) / calls,
	}, nil
}

// cpuTime is what this process has used of all cores.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// loadOfTheMachine is what has to be known to read the figures.
func loadOfTheMachine() string {
	load := "not told"
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = strings.Join(strings.Fields(string(b))[:3], " ")
	}
	return fmt.Sprintf("%d cores for everything, load %s, %s\n\n", runtime.NumCPU(), load, runtime.Version())
}
