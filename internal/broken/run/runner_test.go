package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

func TestOnlyATestThatPassesSoundAndFailsBrokenCounts(t *testing.T) {
	t.Parallel()
	const pkg = "testdata/noticing"
	r := &runner{root: ".", bin: t.TempDir(), limit: time.Minute, out: &bytes.Buffer{}}
	for _, c := range []struct {
		rule, pkg, test string
		want            verdict
	}{
		{"noticed", pkg, "TestNotices", noticedIt},
		{"noticed-below", pkg, "TestNoticesBelow/a (special) case", noticedIt},
		{"panicked", pkg, "TestPanics", noticedIt},
		{"noticed-beside", pkg, "TestNoticesBelow/a (special) case", blind},
		{"unused", pkg, "TestBlind", blind},
		{"any", pkg, "TestAlwaysFails", failsAlone},
		{"any", pkg, "TestAlwaysSkips", skips},
		{"skipped", pkg, "TestSkipsWhenBroken", skips},
		{"died", pkg, "TestDies", brokeOff},
		{"hung", pkg, "TestHangs", hangs},
		{"any", pkg, "TestNotThere", notThere},
		{"any", pkg, "TestNotice", notThere}, // a name's beginning is not the name
		{"any", pkg, "TestNoticesBelow/no such case", notThere},
		{"any", "testdata/nowhere", "TestNotices", unbuilt},
		{"any", "testdata", "TestNotices", unbuilt},
	} {
		if r.limit = time.Minute; c.want == hangs {
			r.limit = 5 * time.Second
		}
		got := r.judge(t.Context(), broken.Entry{Name: c.rule, Pkg: c.pkg, Test: c.test})
		if got.verdict != c.want {
			t.Errorf("%s %s broken %q: %s, want %s\n%s", c.pkg, c.test, c.rule, got.verdict, c.want, got.said)
		}
		if (got.verdict == noticedIt) != (got.said == "") {
			t.Errorf("%s broken %q: %s with the words %q", c.test, c.rule, got.verdict, got.said)
		}
	}
}

func TestARuleIsChosenByItsWholeName(t *testing.T) {
	all := []broken.Entry{{Name: "P1"}, {Name: "P10"}, {Name: "T1"}, {Name: "P10", Test: "another"}}
	for _, c := range []struct {
		names string
		want  string // the chosen, or "error"
	}{
		{"", "P1 P10 T1 P10"}, {"P1", "P1"}, {"T1,P10", "T1 P10 P10"}, {"P", "error"}, {"P1,", "error"},
	} {
		chosen, err := choose(all, c.names)
		var got []string
		for _, e := range chosen {
			got = append(got, e.Name)
		}
		if err != nil {
			got = []string{"error"}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("RULE=%s chooses %q, want %q", c.names, s, c.want)
		}
	}
	if _, err := choose(nil, ""); err == nil {
		t.Error("a list without a rule is taken for a success")
	}
}

func TestTheLineOfATimeOutSurvivesALongDump(t *testing.T) {
	said := tail("=== RUN TestX\npanic: test timed out after 2s\n" + strings.Repeat("goroutine 1 [select]:\n", 1000))
	if afterBreaking(trial{said: said}) != hangs {
		t.Errorf("kept %q", said)
	}
}
