package main

import (
	"context"
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-idem/idem/internal/redistest"
)

// This program is the server that is measured, too, if it is asked to.
func TestMain(m *testing.M) {
	if served() {
		return
	}
	flag.Parse()
	os.Exit(m.Run())
}

// What the budgets say of allocations, round trips, bytes and store calls, which
// are the same on every machine, however busy. `make bench-check` looks at the rest.
func TestBudgetsThatCount(t *testing.T) {
	addr := redistest.Server(t)
	for _, p := range []struct {
		name      string
		open      func(context.Context, string) (*group, error)
		budgets   []budget
		allocates bool     // allocations are counted: the race detector has some of its own
		rows      []string // those that are counted; nil: all
	}{
		{"memory", func(context.Context, string) (*group, error) { return memoryRows() }, memoryBudgets, true, nil},
		{"telemetry", func(context.Context, string) (*group, error) { return telemetryRows() }, telemetryBudgets, true, nil},
		{"http-redis", redisHTTPRows, redisHTTPBudgets, false, []string{firstOnRedis, againOnRedis}},
		{"served", servedRows, servedBudgets, false, []string{forgedOn("net/http"), forgedOn("Echo"), forgedOn("Fiber")}},
		{"sizes", sizeRows, sizeBudgets, false, nil},
	} {
		t.Run(p.name, func(t *testing.T) {
			if p.allocates && racing {
				t.Skip("the race detector allocates too")
			}
			if err := empty(addr); err != nil {
				t.Fatal(err)
			}
			g, err := p.open(t.Context(), addr)
			if err != nil {
				t.Fatal(err)
			}
			defer g.end()
			if p.rows != nil { // the others are times, and a busy machine may not even answer them
				g.rows = slices.DeleteFunc(g.rows, func(r row) bool { return !slices.Contains(p.rows, r.name) })
			}
			all, err := g.measure(3, 50*time.Millisecond) // of which the middle is judged
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range p.budgets {
				if !b.counted {
					continue
				}
				is, must, verdict := b.shown(all)
				if t.Logf("%s, %s: %s, must be %s", b.name, b.says, is, must); verdict != isKept {
					t.Errorf("%s is %s", b.name, verdict)
				}
			}
		})
	}
}
