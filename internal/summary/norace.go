package main

import (
	"context"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// notUnderRace is what a test says that skips because of the race detector: it
// counts allocations, say, and the detector allocates too.
const notUnderRace = "race detector"

// withoutRace runs the tests of a suite that skipped because of the race
// detector again, without it, and moves them to a suite of their own. It returns
// nil where there are none.
func withoutRace(ctx context.Context, root, dir string, s *suite, o options, w io.Writer) *suite {
	var tests []string
	o.pkgs = nil
	for _, r := range s.results {
		if !leftOut(r) {
			continue
		}
		top, _, _ := strings.Cut(r.name, "/")
		if q := regexp.QuoteMeta(top); !slices.Contains(tests, q) {
			tests = append(tests, q)
		}
		if !slices.Contains(o.pkgs, r.path) {
			o.pkgs = append(o.pkgs, r.path)
		}
	}
	if len(tests) == 0 || ctx.Err() != nil {
		return nil
	}
	o.run = "^(" + strings.Join(tests, "|") + ")$"
	again := goSuite(ctx, root, dir, false, o, w)
	again.name += " (without -race)"
	again.empty = nil
	// A name may match in several packages, and beside a subtest stand others:
	// what already ran is not counted twice, what failed is counted anyway.
	again.results = slices.DeleteFunc(again.results, func(r result) bool {
		return r.outcome != failed && !slices.ContainsFunc(s.results, func(q result) bool { return leftOut(q) && covers(q, r) })
	})
	s.results = slices.DeleteFunc(s.results, func(q result) bool {
		return leftOut(q) && slices.ContainsFunc(again.results, func(r result) bool { return covers(q, r) })
	})
	return again
}

// leftOut tells whether a test skipped because of the race detector.
func leftOut(r result) bool {
	return r.outcome == skipped && r.path != "" && strings.Contains(r.why, notUnderRace)
}

// covers tells whether r is the test q or one of its subtests.
func covers(q, r result) bool {
	return q.path == r.path && (q.name == r.name || strings.HasPrefix(r.name, q.name+"/"))
}

// hasCompiler tells whether the C compiler that the race detector's run time is
// linked with can be found.
func hasCompiler(ctx context.Context) bool {
	out, err := exec.CommandContext(ctx, "go", "env", "CC").Output()
	if err != nil {
		return false
	}
	cc, _, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	_, err = exec.LookPath(cc)
	return err == nil
}
