package main

import (
	"context"
	"flag"
	"os"
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
		allocates bool // allocations are counted: the race detector has some of its own
	}{
		{"memory", func(context.Context, string) (*group, error) { return memoryRows() }, memoryBudgets, true},
		{"telemetry", func(context.Context, string) (*group, error) { return telemetryRows() }, telemetryBudgets, true},
		{"http-redis", redisHTTPRows, redisHTTPBudgets, false},
		{"served", servedRows, servedBudgets, false},
		{"sizes", sizeRows, sizeBudgets, false},
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
			all, err := g.measure(1, 10*time.Millisecond)
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
