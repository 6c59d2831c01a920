package main

import (
	"fmt"
	"io"
	"math"
)

// budget is one promise, and what it is made of.
type budget struct {
	name, says string
	of         func(figures) float64 // 0: not measured
	limit      float64
	atLeast    bool // else at most
	difference bool // of two rows: zero is a figure
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

// more is by how much a row is above another.
func more(a, b string, of func(figure) float64) func(figures) float64 {
	return func(f figures) float64 { return f.more(a, b, of) }
}

func one(row string, of func(figure) float64) func(figures) float64 {
	return func(f figures) float64 { return f.median(row, of) }
}

func perSecond(f figure) float64 { return f.PerSecond }
func micros(f figure) float64    { return f.Micros }
func cpu(f figure) float64       { return f.CPU }
func allocs(f figure) float64    { return f.Allocs }

var redisBudgets = []budget{
	{"B5", "256 callers: claims a second, × SetNX", ratio(oursCrowd, rivalCrowd, perSecond), 2.5, true, false},
	{"B5", "256 callers: claims a second, × redis-benchmark -P 64", ratio(oursCrowd, serverLimit, perSecond), 0.55, true, false},
	{"B5", "256 callers: µs of CPU a claim", one(oursCrowd, cpu), 3.5, false, false},
	{"B5", "256 callers: allocations a claim", one(oursCrowd, allocs), 9, false, false},
	{"B5", "one caller: time, × SetNX", ratio(oursAlone, rivalAlone, micros), 1.05, false, false},
	{"B6", "a batch of 100, × one after the other", ratio(oursBatch, rivalBatch, perSecond), 20, true, false},
}

var memoryBudgets = []budget{
	{"B1", "no key sent: µs of CPU more than bare", more(noKeyOurs, bareFiber, cpu), 0.12, false, true},
	{"B1", "no key sent: allocations more than bare", more(noKeyOurs, bareFiber, allocs), 1, false, true},
	{"B2", "first: CPU, × fiber v2's middleware on fiber", ratio(firstCore, firstRival, cpu), 1.3, false, false},
	{"B2", "first: allocations, × the same", ratio(firstCore, firstRival, allocs), 1.3, false, false},
	{"B2", "first with a token verified: CPU, × the same", ratio(firstToken, firstRival, cpu), 1.6, false, false},
	{"B2", "replay: CPU, × fiber v2's middleware on fiber", ratio(againCore, againRival, cpu), 1.2, false, false},
	{"B3", "issue a token: µs of CPU", one(issueRow, cpu), 1.2, false, false},
	{"B14", "a forged token: µs of CPU", one(forgedRow, cpu), 2, false, false},
	{"B2", "replay: allocations, × the same", ratio(againCore, againRival, allocs), 1.2, false, false},
}

var redisHTTPBudgets = []budget{
	{"B4", "first on Redis: time, × fiber v2's middleware on Redis", ratio(firstOnRedis, rivalOnRedis, micros), 0.70, false, false},
	{"B4", "replay on Redis: time, × one GET", ratio(againOnRedis, oneGet, micros), 1.10, false, false},
}

// value is a budget's figure as it is shown, and what became of it.
func (b budget) value(all figures) (is, must, verdict string) {
	v := b.of(all)
	sign := "≤"
	if b.atLeast {
		sign = "≥"
	}
	is, must, verdict = fmt.Sprintf("%.2f", v), fmt.Sprintf("%s %.2f", sign, b.limit), "kept"
	switch {
	case v == 0 && b.limit > 0 && !b.difference || math.IsNaN(v):
		is, verdict = "–", "not measured"
	case !b.keeps(v):
		verdict = "BROKEN"
	}
	return is, must, verdict
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
		is, must, verdict := b.value(all)
		fmt.Fprintf(w, "%-4s %-56s %8s %10s  %s\n", b.name, b.says, is, must, verdict)
	}
	fmt.Fprintln(w)
}
