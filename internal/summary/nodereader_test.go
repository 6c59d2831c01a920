package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// The same run in both forms, as Node 20 prints it. "outer" failed only because
// "bad" did; "quiet" failed by itself beside a good child.
const tapText = `
> idem@1.0.0 test
TAP version 13
# Subtest: outer
    # Subtest: inner
        # Subtest: deep \# C4
        ok 1 - deep \# C4
          ---
          duration_ms: 0.5
          ...
        1..1
    ok 1 - inner
      ---
      duration_ms: 0.6
      type: 'suite'
      ...
    # Subtest: bad
    not ok 2 - bad
      ---
      duration_ms: 12.5
      error: |-
        + actual
        ...
        want 1
      ...
    1..2
not ok 1 - outer
  ---
  duration_ms: 13.4
  failureType: 'subtestsFailed'
  ...
# Subtest: quiet
    # Subtest: fine
    ok 1 - fine
      ---
      duration_ms: 0.1
      ...
    1..1
not ok 2 - quiet
  ---
  duration_ms: 1
  error: 'by itself'
  ...
ok 3 - later # SKIP needs Firefox
  ---
  duration_ms: 0.1
  ...
not ok 4 - some day # TODO
  ---
  duration_ms: 0.1
  error: 'not yet'
  ...
1..4
# tests 8
# pass 2
`

const specText = `▶ outer
  ▶ inner
    ✔ deep # C4 (0.5ms)
  ▶ inner (0.6ms)
  ✖ bad (12.5ms)
    AssertionError: want 1
        at somewhere

✖ outer (13.4ms)
▶ quiet
  ✔ fine (0.1ms)
✖ quiet (1ms)
  Error: by itself

﹣ later (0.1ms) # needs Firefox
✔ some day (0.1ms) # TODO
ℹ tests 8

✖ failing tests:

test at a.test.mjs:2:82
✖ bad (12.5ms)
  AssertionError: want 1
`

func TestNodesTestsAreReadFromBothItsForms(t *testing.T) {
	want := []string{
		"failed outer / bad",
		"failed quiet",
		"passed outer / inner / deep # C4",
		"passed quiet / fine",
		"passed some day",
		"skipped later",
	}
	for form, text := range map[string]string{"tap": tapText, "spec": specText} {
		t.Run(form, func(t *testing.T) {
			var n nodeReader
			for line := range strings.Lines(text) {
				n.line(line)
			}
			if got := outcomes(n.results); !slices.Equal(got, want) {
				t.Errorf("read %q\nwant %q", got, want)
			}
			for _, r := range n.results {
				switch r.name {
				case "outer / bad":
					if !strings.Contains(r.why, "want 1") || r.took != 12500*time.Microsecond {
						t.Errorf("bad: %v, %q", r.took, r.why)
					}
				case "quiet":
					if !strings.Contains(r.why, "by itself") {
						t.Errorf("quiet: %q", r.why)
					}
				case "later":
					if r.why != "needs Firefox" {
						t.Errorf("later: %q", r.why)
					}
				}
			}
		})
	}
}

func TestOutputOfOtherProgramsIsNoTest(t *testing.T) {
	var n nodeReader
	for _, l := range []string{"> tsc --strict", "idem.js: 2113 bytes gzip, limit 2200: ok", "  ---", "ok", "not ok"} {
		n.line(l)
	}
	if len(n.results) != 0 {
		t.Errorf("read %q", outcomes(n.results))
	}
}
