package main

import (
	"fmt"
	"strings"
	"time"
)

// outcome is what became of one test.
type outcome uint8

const (
	passed outcome = iota
	failed
	skipped
)

// result is one test as it is counted: a test without subtests, or a test that
// failed although none of its subtests did. A parent whose subtests tell the
// story is not counted beside them.
type result struct {
	pkg, name string // package relative to its repository; test as the runner names it
	path      string // the package's import path; empty for what is not Go
	outcome   outcome
	took      time.Duration
	why       string // output of a failed test, reason of a skipped one, else empty
}

// title is the result's full name in reports.
func (r result) title() string {
	if r.name == "" {
		return r.pkg
	}
	return r.pkg + " " + r.name
}

// suite is what one module or one npm script brought.
type suite struct {
	name     string
	packages int      // packages with at least one test
	empty    []string // packages without any
	results  []result
	took     time.Duration
}

// count returns how many results ended in o.
func (s *suite) count(o outcome) int {
	n := 0
	for _, r := range s.results {
		if r.outcome == o {
			n++
		}
	}
	return n
}

// Bounds of what is kept of one test's output: enough to see how it began and
// how it ended, little enough that a test that prints for ever costs nothing.
const (
	keepHead = 8 << 10
	keepTail = 24 << 10
)

// keep holds the beginning and the end of a text. The zero value is empty.
type keep struct {
	head, tail []byte
	lost       int
}

// add appends s.
func (k *keep) add(s string) {
	if room := keepHead - len(k.head); room > 0 {
		n := min(room, len(s))
		k.head = append(k.head, s[:n]...)
		s = s[n:]
	}
	k.tail = append(k.tail, s...)
	if over := len(k.tail) - keepTail; over > keepTail { // trimmed in large steps, not at each line
		k.tail = append(k.tail[:0], k.tail[over:]...)
		k.lost += over
	}
}

// String is the kept text, with a line that says how much was left out.
func (k *keep) String() string {
	if k.lost == 0 {
		return string(k.head) + string(k.tail)
	}
	return fmt.Sprintf("%s\n… %d bytes left out …\n%s", k.head, k.lost, k.tail)
}

// spoken is the kept text without the test runner's own marks: what the test
// itself had to say.
func (k *keep) spoken() string {
	var b strings.Builder
	for line := range strings.Lines(k.String()) {
		t := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(t, "=== RUN"), strings.HasPrefix(t, "=== PAUSE"),
			strings.HasPrefix(t, "=== CONT"), strings.HasPrefix(t, "=== NAME"),
			strings.HasPrefix(t, "--- PASS"), strings.HasPrefix(t, "--- SKIP"), strings.HasPrefix(t, "--- FAIL"):
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}
