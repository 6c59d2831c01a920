package main

import (
	"strings"
	"testing"
)

// A budget that is broken is said to be, one that was not measured too.
func TestBudgetsSayWhatBecameOfThem(t *testing.T) {
	all := figures{
		"ours":  {{perSecond: 30, allocs: 8}, {perSecond: 90, allocs: 10}, {perSecond: 60, allocs: 9}},
		"rival": {{perSecond: 10}, {perSecond: 20}, {perSecond: 30}},
	}
	times := ratio("ours", "rival", perSecond) // 3, 4.5 and 2: the middle is 3, the best 4.5
	for _, c := range []struct {
		says    string
		b       budget
		verdict string
		passes  bool // a check on a busy machine
	}{
		{"a wait, missed", atMost("B8", "slow", one("ours", allocs), 1).wait(), isBroken, true},
		{"kept", atLeast("B5", "as fast", times, 3), isKept, true},
		{"kept by the best round only", atLeast("B5", "faster", times, 4.5), isBroken, true},
		{"missed by less than a quarter", atLeast("B5", "much faster", times, 5.6), isBroken, true},
		{"missed by more", atLeast("B5", "ten times", times, 10), isBroken, false},
		{"waived", atLeast("B5", "ten times", times, 10).instead(2.5), isWaived, true},
		{"more than was waived", atLeast("B5", "twenty times", times, 20).instead(10), isBroken, false},
		{"waived and kept", atLeast("B5", "as fast", times, 3).instead(2), isKept, true},
		{"a count kept", atMost("B5", "frugal", one("ours", allocs), 9).count(), isKept, true},
		{"a count missed by little", atMost("B5", "more frugal", one("ours", allocs), 7).count(), isBroken, false},
		{"a count that is another", exactly("B5", "so many", one("ours", allocs), 11), isBroken, false},
		{"no such row", atMost("B5", "unseen", one("nobody", allocs), 9), notMeasured, false},
		{"no such figure", atMost("B5", "unseen", one("rival", allocs), 9), notMeasured, false},
	} {
		t.Run(c.says, func(t *testing.T) {
			if _, _, verdict := c.b.shown(all); verdict != c.verdict {
				t.Errorf("is %s, want %s", verdict, c.verdict)
			}
			if err := c.b.check(all, true); (err == nil) != c.passes {
				t.Errorf("the check says %v", err)
			}
		})
	}
}

// A row is shown with the figures that it has, and the page counts what is kept.
func TestThePageShowsWhatWasMeasured(t *testing.T) {
	r := result{
		part:    part{title: "A part", budgets: []budget{atMost("B1", "dear", one("a", cpu), 1), atMost("B2", "cheap", one("a", cpu), 3)}},
		rows:    []row{{name: "a"}, {name: "b"}},
		figures: figures{"a": {{cpu: 2}}, "b": {{runs: 10_000}}},
		rounds:  1,
	}
	var b strings.Builder
	page(&b, []result{r}, machine{2, "9.5 1 1"}, machine{2, "1.5 1 1"}, options{rounds: 1})
	for _, want := range []string{
		"1 of 2 budgets", "before: 2 cores for everything, load 9.5 1 1", "load 1.5", "say little", "- B1 (dear): 2.00, must be ≤ 1.00",
		"| what | µs CPU | runs |", "| a | 2.00 |  |", "| b |  | 10000 |",
		"| B1 | dear | 2.00 | ≤ 1.00 | **BROKEN** |", "| B2 | cheap | 2.00 | ≤ 3.00 | kept |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page does not say %q:\n%s", want, b.String())
		}
	}
}
