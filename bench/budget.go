package main

import (
	"fmt"
	"io"
)

// budget is one promise, and what it is made of.
type budget struct {
	name, says string
	of         func(figures) float64 // 0: not measured
	limit      float64
	atLeast    bool // else at most
}

func (b budget) keeps(v float64) bool {
	if b.atLeast {
		return v >= b.limit
	}
	return v <= b.limit
}

// ratio compares two rows.
func ratio(a, b string, of func(figure) float64) func(figures) float64 {
	return func(f figures) float64 { return f.ratio(a, b, of) }
}

func one(row string, of func(figure) float64) func(figures) float64 {
	return func(f figures) float64 { return f.median(row, of) }
}

func perSecond(f figure) float64 { return f.PerSecond }
func micros(f figure) float64    { return f.Micros }
func cpu(f figure) float64       { return f.CPU }
func allocs(f figure) float64    { return f.Allocs }

var redisBudgets = []budget{
	{"B5", "256 callers: claims a second, × SetNX", ratio(oursCrowd, rivalCrowd, perSecond), 2.5, true},
	{"B5", "256 callers: claims a second, × redis-benchmark -P 64", ratio(oursCrowd, serverLimit, perSecond), 0.55, true},
	{"B5", "256 callers: µs of CPU a claim", one(oursCrowd, cpu), 3.5, false},
	{"B5", "256 callers: allocations a claim", one(oursCrowd, allocs), 9, false},
	{"B5", "one caller: time, × SetNX", ratio(oursAlone, rivalAlone, micros), 1.05, false},
	{"B6", "a batch of 100, × one after the other", ratio(oursBatch, rivalBatch, perSecond), 20, true},
}

// print writes the figures and what they mean.
func print(w io.Writer, all figures, rows []row, budgets []budget) {
	fmt.Fprintf(w, "%-40s %12s %10s %10s %8s\n", "row", "a second", "µs", "µs CPU", "allocs")
	for _, r := range rows {
		fmt.Fprintf(w, "%-40s %12.0f", r.name, all.median(r.name, perSecond))
		if r.itself == nil {
			fmt.Fprintf(w, " %10.2f %10.2f %8.1f", all.median(r.name, micros), all.median(r.name, cpu), all.median(r.name, allocs))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\n%-4s %-56s %8s %10s\n", "", "budget", "is", "must be")
	for _, b := range budgets {
		v := b.of(all)
		sign, verdict := "≤", "kept"
		if b.atLeast {
			sign = "≥"
		}
		switch {
		case v == 0:
			verdict = "not measured"
		case !b.keeps(v):
			verdict = "BROKEN"
		}
		fmt.Fprintf(w, "%-4s %-56s %8.2f %5s %5.2f  %s\n", b.name, b.says, v, sign, b.limit, verdict)
	}
}
