package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// result is what came out for a part.
type result struct {
	part
	rows    []row
	figures figures
	rounds  int
	length  time.Duration
}

// table is what is shown of the rows: a line each, the first with the titles. A
// column that no row has is left out, a figure that a row does not have is empty.
func (r result) table() [][]string {
	lines := make([][]string, len(r.rows)+1)
	lines[0] = []string{"what"}
	for i, one := range r.rows {
		lines[i+1] = []string{one.name}
	}
	for _, c := range columns {
		if !slices.ContainsFunc(r.rows, func(one row) bool { _, ok := r.figures.median(one.name, c.quantity); return ok }) {
			continue
		}
		lines[0] = append(lines[0], string(c.quantity))
		for i, one := range r.rows {
			cell := ""
			if v, ok := r.figures.median(one.name, c.quantity); ok {
				cell = strconv.FormatFloat(v, 'f', c.digits, 64)
			}
			lines[i+1] = append(lines[i+1], cell)
		}
	}
	return lines
}

// verdicts is what is shown of the budgets.
func (r result) verdicts() [][]string {
	lines := [][]string{{"", "budget", "is", "must be", "verdict"}}
	for _, b := range r.budgets {
		is, must, verdict := b.shown(r.figures)
		lines = append(lines, []string{b.name, b.says, is, must, verdict})
	}
	return lines
}

// kept counts the budgets that are kept.
func (r result) kept() (n int) {
	for _, b := range r.budgets {
		if _, verdict := b.judge(r.figures); verdict == isKept {
			n++
		}
	}
	return n
}

// print writes a part for a terminal.
func print(w io.Writer, r result) {
	fmt.Fprintf(w, "%s\n\n", r.title)
	for _, lines := range [][][]string{r.table(), r.verdicts()} {
		wide := make([]int, len(lines[0]))
		for _, line := range lines {
			for i, cell := range line {
				wide[i] = max(wide[i], utf8.RuneCountInString(cell))
			}
		}
		for _, line := range lines {
			for i, cell := range line {
				pad := strings.Repeat(" ", wide[i]-utf8.RuneCountInString(cell))
				if number := i > 0 && len(cell) < 16; number {
					cell, pad = pad+cell, ""
				}
				fmt.Fprint(w, cell+pad+"  ")
			}
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w)
	}
}

// page writes what was measured as a page of the documentation.
func page(w io.Writer, measured []result, began, ended machine, o options) {
	budgets, good := 0, 0
	for _, r := range measured {
		budgets, good = budgets+len(r.budgets), good+r.kept()
	}
	fmt.Fprintf(w, "# Benchmarks\n\nidem beside its rivals, measured by `make bench`, which writes this page. **%d of %d budgets are kept.**\n\n", good, budgets)
	fmt.Fprintf(w, "- before: %s\n- after: %s\n", began, ended)
	if began.busy() {
		fmt.Fprint(w, "\n**Others were at work on this machine: the times of this run say little.** Counts stand.\n")
	}
	if good < budgets {
		fmt.Fprint(w, "\nNot kept in this run:\n\n")
	}
	for _, r := range measured {
		for _, b := range r.budgets {
			if is, must, verdict := b.shown(r.figures); verdict != isKept {
				why := ""
				if verdict == isWaived {
					why = ", [waived](../adr/0011-waived-budgets.md)"
				}
				fmt.Fprintf(w, "- %s (%s): %s, must be %s%s\n", b.name, b.says, is, must, why)
			}
		}
	}
	fmt.Fprintln(w)
	fmt.Fprintf(w, `## How to read it

- Every figure is the middle of up to %d rounds. Rows of a table are measured in turns, a short round of each after the other, so that a busy neighbour slows all of them alike; a ratio or a difference is taken within each round, and its middle is shown. So compare what stands in one table, and nothing with another machine.
- *µs* is what one caller waits. *µs CPU* is the user and system time of the measured process (getrusage): of this program, or, where a server is measured, of the server's process alone. Redis and the load are not in it. *a second* is the machine's more than ours: it is shown, and promised only as a ratio.
- A budget is a promise of the design. %s means that this version, on this machine and in this run, does not keep it; *waived* that a [decision](../adr/0011-waived-budgets.md) sets the limit in brackets in its place, and why. A load above the number of cores makes times longer and their ratios less sure; counts (allocations, round trips, bytes, store calls) are the same on any machine, and `+"`make bench-check`"+` fails on them.

![microseconds of CPU a call](benchmarks.svg)
`, o.rounds, isBroken)
	for _, r := range measured {
		fmt.Fprintf(w, "\n## %s\n\n%s %s\n", r.title, r.about, roundsSay(r))
		markdown(w, r.table(), 1)
		markdown(w, r.verdicts(), 2)
	}
	fmt.Fprint(w, "\nWhich rivals, in which versions, and why these: [0009](../adr/0009-rivals-in-benchmarks.md). One part alone: `go run ./bench -only memory`.\n")
}

func roundsSay(r result) string {
	if r.rows[0].itself != nil {
		return fmt.Sprintf("(%s.)", count(r.rounds, "round"))
	}
	return fmt.Sprintf("(%s of %v.)", count(r.rounds, "round"), r.length)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// markdown writes a table whose columns after the first few are numbers.
func markdown(w io.Writer, lines [][]string, words int) {
	if len(lines) < 2 {
		return
	}
	fmt.Fprintf(w, "\n| %s |\n|", strings.Join(lines[0], " | "))
	for i := range lines[0] {
		if i < words || lines[0][i] == "verdict" {
			fmt.Fprint(w, "---|")
		} else {
			fmt.Fprint(w, "--:|")
		}
	}
	fmt.Fprintln(w)
	for _, line := range lines[1:] {
		fmt.Fprintf(w, "| %s |\n", strings.Join(line, " | "))
	}
}
