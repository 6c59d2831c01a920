package main

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// nodeReader reads results out of what Node's test runner prints, line by line,
// in either of its two usual forms: TAP (its default into a pipe before
// Node 23) and "spec" (its default since, and on a terminal). Any other line is
// passed over: a script may run a compiler before its tests.
type nodeReader struct {
	results []result
	depths  []int  // of each result: the indentation of the line it belongs under
	cur     int    // index + 1 of the result that details belong to; 0: to none
	tap     bool   // the last result came from TAP: a block of details may follow
	block   string // the line that ends the block of details we are in; "": in none
	over    bool   // spec repeats its failures at the end: not read twice
}

var (
	tapLine  = regexp.MustCompile(`^( *)(not )?ok \d+(?: - (.*?))?(?: # (SKIP|TODO)\b ?(.*))?$`)
	specLine = regexp.MustCompile(`^( *)([✔✖﹣▶⚠]) (.*?) \(([\d.]+)ms\)(?: # (.*))?$`)
	tapTime  = regexp.MustCompile(`^ *duration_ms: ([\d.]+)$`)
)

// line takes one line of output.
func (n *nodeReader) line(s string) {
	s = strings.TrimRight(s, "\r\n")
	if n.over || n.details(s) {
		return
	}
	if m := tapLine.FindStringSubmatch(s); m != nil {
		o := passed
		switch {
		case m[4] == "SKIP":
			o = skipped
		case m[2] != "" && m[4] != "TODO": // to Node, too, a "todo" that fails is no failure
			o = failed
		}
		n.tap = true
		n.add(len(m[1]), result{name: untap(m[3]), outcome: o}, m[5])
		return
	}
	if strings.TrimSpace(s) == "✖ failing tests:" {
		n.over = true
		return
	}
	if m := specLine.FindStringSubmatch(s); m != nil {
		o := map[string]outcome{"✖": failed, "﹣": skipped}[m[2]] // the others: passed
		if o == failed && m[5] == "TODO" {
			o = passed
		}
		n.tap = false
		n.add(len(m[1]), result{name: m[3], outcome: o, took: millis(m[4])}, m[5])
		return
	}
	// In spec an error follows its test, further in than the test's own line.
	if !n.tap && n.cur > 0 && n.results[n.cur-1].outcome == failed && strings.HasPrefix(s, strings.Repeat(" ", n.depths[n.cur-1]+2)) {
		n.results[n.cur-1].why += s + "\n"
	}
}

// details reads the block of details that may follow a TAP line. It reports
// whether the line was part of one.
func (n *nodeReader) details(s string) bool {
	if n.block == "" {
		margin, ok := strings.CutSuffix(s, "---")
		if !n.tap || !ok || strings.TrimSpace(margin) != "" {
			return false
		}
		n.block = margin + "..." // a diff inside it may hold "..." too, further in
		return true
	}
	if s == n.block {
		n.block = ""
		return true
	}
	if n.cur == 0 {
		return true
	}
	r := &n.results[n.cur-1]
	if m := tapTime.FindStringSubmatch(s); m != nil {
		r.took = millis(m[1])
	} else if r.outcome == failed {
		r.why += s + "\n"
	}
	return true
}

// add appends a result. Node prints a parent after its children: the results
// just before it that stand further in are its own, take its name in front and
// stand for it, unless it failed and none of them did.
func (n *nodeReader) add(depth int, r result, note string) {
	r.pkg = "frontend"
	if r.outcome == skipped {
		if r.why = note; note == "" || note == "SKIP" {
			r.why = "no reason given"
		}
	}
	children, blamed := 0, false
	for i := len(n.results) - 1; i >= 0 && n.depths[i] > depth; i-- {
		n.depths[i] = depth // its next parent stands further out
		n.results[i].name = r.name + " / " + n.results[i].name
		blamed = blamed || n.results[i].outcome == failed
		children++
	}
	if children > 0 && (r.outcome != failed || blamed) {
		n.cur = 0
		return
	}
	n.results = append(n.results, r)
	n.depths = append(n.depths, depth)
	n.cur = len(n.results)
}

// untap undoes TAP's escapes in a name.
func untap(s string) string { return strings.NewReplacer(`\\`, `\`, `\#`, `#`).Replace(s) }

func millis(s string) time.Duration {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return time.Duration(f * float64(time.Millisecond))
}
