package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// report is everything that ran.
type report struct {
	ci     bool // CI=true: a skip that is not allowed fails the run
	suites []*suite
	notes  []string
	broken bool // the run itself went wrong
	took   time.Duration
}

// mayLack are the parts a continuous-integration machine may be without: they
// come from no package of its distribution, or only to double what Chromium
// shows. A skip whose reason names one of them is in order everywhere.
var mayLack = []string{"jaeger", "firefox"}

// notOfThis begins the reason of a sentence that does not apply, as the suites
// for stores and adapters give it: the store or the framework declares that it
// cannot, and the suite holds it to that declaration.
var notOfThis = []string{"not of this store: ", "not of this framework: "}

// allowedSkip tells whether a test may be skipped for this reason with CI=true.
func allowedSkip(why string) bool {
	if slices.ContainsFunc(notOfThis, func(s string) bool { return strings.HasPrefix(why, s) }) {
		return true
	}
	why = strings.ToLower(why)
	return slices.ContainsFunc(mayLack, func(s string) bool { return strings.Contains(why, s) })
}

// all yields the results that ended in o.
func (r *report) all(o outcome) []result {
	var rs []result
	for _, s := range r.suites {
		for _, res := range s.results {
			if res.outcome == o {
				rs = append(rs, res)
			}
		}
	}
	return rs
}

// outOfOrder are the skips that fail a run with CI=true.
func (r *report) outOfOrder() []result {
	if !r.ci {
		return nil
	}
	return slices.DeleteFunc(r.all(skipped), func(res result) bool { return allowedSkip(res.why) })
}

// ok tells whether the run counts as passed: something passed, nothing failed,
// nothing was skipped out of order.
func (r *report) ok() bool {
	return !r.broken && len(r.all(passed)) > 0 && len(r.all(failed)) == 0 && len(r.outOfOrder()) == 0
}

// print writes the report; its last line is the closing line.
func (r *report) print(w io.Writer) {
	r.printFailed(w)
	r.printSkipped(w)
	r.printSlowest(w, 10)
	r.printTable(w)
	for _, n := range r.notes {
		fmt.Fprintln(w, n)
	}
	r.printAgain(w, 12)
	if n := len(r.outOfOrder()); n > 0 {
		fmt.Fprintf(w, "with CI=true every test must run: %d skipped out of order\n", n)
	}
	fmt.Fprintf(w, "\n%d passed, %d failed, %d skipped\n", len(r.all(passed)), len(r.all(failed)), len(r.all(skipped)))
}

// printTable prints one row for each suite.
func (r *report) printTable(w io.Writer) {
	fmt.Fprintf(w, "\nWhat ran, in %s\n", r.took.Round(time.Second))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "  passed\tfailed\tskipped\tpackages\ttime\t  suite")
	var empty []string
	for _, s := range r.suites {
		fmt.Fprintf(t, "  %d\t%d\t%d\t%d\t%.0f s\t  %s\n", s.count(passed), s.count(failed), s.count(skipped), s.packages, s.took.Seconds(), s.name)
		empty = append(empty, s.empty...)
	}
	t.Flush()
	if len(empty) > 0 {
		fmt.Fprintf(w, "packages without a test: %s\n", strings.Join(empty, ", "))
	}
}

// printFailed prints every failed test with what it said.
func (r *report) printFailed(w io.Writer) {
	rs := r.all(failed)
	if len(rs) == 0 {
		return
	}
	fmt.Fprintln(w, "\nFailed")
	for _, res := range rs {
		fmt.Fprintf(w, "  %s\n", res.title())
		for line := range strings.Lines(res.why) {
			fmt.Fprintf(w, "      %s\n", strings.TrimRight(line, "\n"))
		}
	}
}

// printAgain names what failed once more, with the last n lines it said and those
// skipped out of order: whoever is shown only the end of a long log looks here.
func (r *report) printAgain(w io.Writer, n int) {
	for _, res := range r.all(failed) {
		fmt.Fprintf(w, "failed: %s\n", res.title())
		lines := strings.Split(strings.TrimRight(res.why, "\n"), "\n")
		for _, line := range lines[max(0, len(lines)-n):] {
			fmt.Fprintf(w, "      %s\n", line)
		}
	}
	for _, res := range r.outOfOrder() {
		fmt.Fprintf(w, "skipped out of order: %s: %s\n", res.title(), res.why)
	}
}

// printSkipped prints the skipped tests by name under the reason they gave.
func (r *report) printSkipped(w io.Writer) {
	rs := r.all(skipped)
	if len(rs) == 0 {
		return
	}
	fmt.Fprintln(w, "\nSkipped")
	var whys []string
	names := map[string][]string{}
	for _, res := range rs {
		if names[res.why] == nil {
			whys = append(whys, res.why)
		}
		names[res.why] = append(names[res.why], res.title())
	}
	for _, why := range whys {
		fmt.Fprintf(w, "  %s\n", why)
		for _, n := range names[why] {
			fmt.Fprintf(w, "      %s\n", n)
		}
	}
}

// printSlowest prints the n tests that took longest.
func (r *report) printSlowest(w io.Writer, n int) {
	rs := append(r.all(passed), r.all(failed)...)
	if len(rs) == 0 {
		return
	}
	slices.SortStableFunc(rs, func(a, b result) int { return cmp.Compare(b.took, a.took) })
	fmt.Fprintln(w, "\nSlowest")
	for _, res := range rs[:min(n, len(rs))] {
		fmt.Fprintf(w, "  %7.2f s  %s\n", res.took.Seconds(), res.title())
	}
}
