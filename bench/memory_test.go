package main

import (
	"testing"
	"time"
)

// What B1 and B2 say of allocations, which do not depend on the machine.
func TestBudgetsOfMemory(t *testing.T) {
	if racing {
		t.Skip("the race detector allocates too")
	}
	g, err := memoryRows()
	if err != nil {
		t.Fatal(err)
	}
	defer g.end()
	all, err := g.measure(1, 10*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range memoryBudgets {
		if !b.counted {
			continue
		}
		is, must, verdict := b.shown(all)
		if t.Logf("%s, %s: %s, must be %s", b.name, b.says, is, must); verdict != isKept {
			t.Errorf("%s is %s", b.name, verdict)
		}
	}
}
