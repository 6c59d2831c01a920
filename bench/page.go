package main

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// result is what came out for a part.
type result struct {
	part
	rows    []row
	figures figures
}

// page writes what was measured as a page of the documentation.
func page(w io.Writer, measured []result, began, ended string, rounds int, length time.Duration) {
	fmt.Fprintf(w, "# Benchmarks\n\n`make bench` measures idem beside its rivals and writes this page. Every figure is the middle of %d rounds of %v, "+
		"in turns and in one run, so that a busy neighbour slows all of them alike. Compare what stands in one table, and nothing with another machine.\n\n"+
		"- before: %s\n- after: %s\n\n", rounds, length, began, ended)
	fmt.Fprint(w, "µs CPU is the user and system time of the measuring process (getrusage), not of Redis. A budget that says BROKEN is one that this version does not keep.\n\n"+
		"![microseconds of CPU a call](benchmarks.svg)\n")
	for _, r := range measured {
		fmt.Fprintf(w, "\n## %s\n\n| what | a second | µs | µs CPU | allocations |\n|---|--:|--:|--:|--:|\n", r.title)
		for _, one := range r.rows {
			fmt.Fprintf(w, "| %s | %.0f |", one.name, r.figures.median(one.name, perSecond))
			if one.itself != nil {
				fmt.Fprintln(w, " | | |")
				continue
			}
			fmt.Fprintf(w, " %.2f | %.2f | %.1f |\n", r.figures.median(one.name, micros), r.figures.median(one.name, cpu), r.figures.median(one.name, allocs))
		}
		fmt.Fprint(w, "\n| budget | | is | must be | |\n|---|---|--:|--:|---|\n")
		for _, b := range r.budgets {
			is, must, verdict := b.value(r.figures)
			fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", b.name, b.says, is, must, verdict)
		}
	}
}

// chart draws the µs of CPU of every row as bars, each part to its own scale.
func chart(w io.Writer, measured []result) {
	const left, wide, line = 330, 380, 22
	height := 10
	for _, r := range measured {
		height += line * (len(r.rows) + 2)
	}
	fmt.Fprintf(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"13\" role=\"img\">\n<title>Microseconds of CPU a call</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", left+wide+80, height)
	y := 10
	for _, r := range measured {
		shown := slices.DeleteFunc(slices.Clone(r.rows), func(one row) bool { return one.itself != nil })
		most := 0.0
		for _, one := range shown {
			most = max(most, r.figures.median(one.name, cpu))
		}
		y += line
		fmt.Fprintf(w, "<text x=\"8\" y=\"%d\" font-weight=\"bold\">%s, µs of CPU a call</text>\n", y, text(r.title))
		for _, one := range shown {
			y += line
			v, fill := r.figures.median(one.name, cpu), "#9aa5b1"
			if strings.HasPrefix(one.name, "idem") {
				fill = "#1f6feb"
			}
			long := v / cmp.Or(most, 1) * wide
			fmt.Fprintf(w, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text><rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"14\" fill=\"%s\"/><text x=\"%.1f\" y=\"%d\">%.2f</text>\n",
				left-8, y, text(one.name), left, y-12, long, fill, left+long+5, y, v)
		}
		y += line / 2
	}
	fmt.Fprintln(w, "</svg>")
}

func text(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}
