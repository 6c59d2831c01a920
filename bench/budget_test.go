package main

import (
	"strings"
	"testing"
)

// A budget that is broken is said to be, one that was not measured too.
func TestBudgetsSayWhatBecameOfThem(t *testing.T) {
	all := figures{
		"ours":  {{PerSecond: 30, Allocs: 8}, {PerSecond: 90, Allocs: 10}, {PerSecond: 60, Allocs: 9}},
		"rival": {{PerSecond: 10}, {PerSecond: 20}, {PerSecond: 30}},
	}
	var b strings.Builder
	print(&b, all, []row{{name: "ours"}, {name: "rival"}}, []budget{
		{"B5", "as fast", ratio("ours", "rival", perSecond), 3, true, false}, // 3, 4.5 and 2: the middle is 3
		{"B5", "faster", ratio("ours", "rival", perSecond), 3.5, true, false},
		{"B5", "frugal", one("ours", allocs), 9, false, false},
		{"B5", "unseen", one("nobody", allocs), 9, false, false},
	})
	for what, verdict := range map[string]string{"as fast": "kept", "faster": "BROKEN", "frugal": "kept", "unseen": "not measured"} {
		for line := range strings.Lines(b.String()) {
			if strings.Contains(line, what) && !strings.Contains(line, verdict) {
				t.Errorf("want %s: %s", verdict, line)
			}
		}
	}
}
