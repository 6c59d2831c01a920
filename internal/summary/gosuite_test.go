package main

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// runFixture runs `go test` over packages of testdata, the way `make test` does.
func runFixture(t *testing.T, pkgs ...string) (*suite, string) {
	t.Helper()
	for i := range pkgs {
		pkgs[i] = "./testdata/" + pkgs[i]
	}
	var out bytes.Buffer
	s := goSuite(t.Context(), ".", ".", false, options{timeout: time.Minute, pkgs: pkgs}, &out)
	return s, out.String()
}

// outcomes lists results as "word name", sorted.
func outcomes(rs []result) []string {
	var list []string
	for _, r := range rs {
		list = append(list, []string{"passed", "failed", "skipped"}[r.outcome]+" "+r.name)
	}
	slices.Sort(list)
	return list
}

func TestEveryTestIsCountedOnceAtTheDepthThatTells(t *testing.T) {
	t.Parallel()
	s, out := runFixture(t, "mixed")
	want := []string{
		"failed TestAbove",
		"failed TestTable/bad/with_a_slash",
		"passed TestAbove/below",
		"passed TestPasses",
		"passed TestSkipsBelow/there",
		"passed TestTable/good",
		"skipped TestSkips",
		"skipped TestSkipsBelow/not_there",
	}
	if got := outcomes(s.results); !slices.Equal(got, want) {
		t.Errorf("counted %q\nwant    %q", got, want)
	}
	for _, r := range s.results {
		switch r.name {
		case "TestSkips":
			if r.why != "redis-server is not installed" {
				t.Errorf("the reason of a skip is %q", r.why)
			}
		case "TestTable/bad/with_a_slash":
			if !strings.Contains(r.why, "want 1, got 2") || strings.Contains(r.why, "=== RUN") {
				t.Errorf("what a failed test said is kept as %q", r.why)
			}
		}
		if r.pkg != "internal/summary/testdata/mixed" {
			t.Errorf("package named %q", r.pkg)
		}
	}
	if !strings.Contains(out, "FAIL  internal/summary/testdata/mixed") || !strings.Contains(out, "failed: TestAbove") {
		t.Errorf("while running it printed %q", out)
	}
}

func TestAPackageThatDoesNotBuildIsOneFailureWithTheCompilersWords(t *testing.T) {
	t.Parallel()
	s, _ := runFixture(t, "unbuilt")
	if len(s.results) != 1 || s.results[0].outcome != failed || s.results[0].name != "" {
		t.Fatalf("counted %q", outcomes(s.results))
	}
	if why := s.results[0].why; !strings.Contains(why, "declared and not used: unused") {
		t.Errorf("kept %q", why)
	}
}

func TestATestInWhichTheProcessDiedHasFailed(t *testing.T) {
	t.Parallel()
	s, _ := runFixture(t, "dies")
	i := slices.IndexFunc(s.results, func(r result) bool { return r.name == "TestGoesDown" })
	if i < 0 || s.results[i].outcome != failed {
		t.Fatalf("counted %q", outcomes(s.results))
	}
	var all string
	for _, r := range s.results {
		all += r.why
	}
	if !strings.Contains(all, "out of the test's own goroutine") {
		t.Errorf("the panic is not told: %q", all)
	}
}

func TestAGoCommandThatFailsOutrightIsAFailure(t *testing.T) {
	t.Parallel()
	s, _ := runFixture(t, "no-such-folder")
	if s.count(failed) == 0 {
		t.Fatalf("counted %q", outcomes(s.results))
	}
}

func TestWhatRunsIsNamedWhileNothingEnds(t *testing.T) {
	tl := newTally(modulePath, &suite{}, func(pkgEnd) {})
	tl.feed(event{Action: "start", Package: modulePath + "/core"})
	tl.feed(event{Action: "run", Package: modulePath + "/core", Test: "TestLong"})
	tl.feed(event{Action: "start", Package: modulePath + "/stores/memstore"})
	if got, want := strings.Join(tl.running(), ", "), "core (TestLong), stores/memstore"; got != want {
		t.Errorf("running: %q, want %q", got, want)
	}
}

func TestLinesOfACommandArriveWholeAndInOrder(t *testing.T) {
	out, wait := lines(exec.CommandContext(t.Context(), "sh", "-c", "echo one; echo two >&2; printf three; exit 3"))
	var got []string
	each(out, func(l string) bool { got = append(got, l); return true }, func() {})
	if want := []string{"one\n", "two\n", "three"}; !slices.Equal(got, want) {
		t.Errorf("lines %q, want %q", got, want)
	}
	if err := wait(); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("the end is %v, want exit status 3", err)
	}
	if _, wait := lines(exec.CommandContext(t.Context(), "no such program")); wait() == nil {
		t.Error("a command that cannot start ends without an error")
	}
}

func TestLongOutputKeepsItsBeginningAndItsEnd(t *testing.T) {
	var k keep
	k.add("first\n")
	for range 100_000 {
		k.add("0123456789\n")
	}
	k.add("last\n")
	s := k.String()
	if !strings.HasPrefix(s, "first\n") || !strings.HasSuffix(s, "last\n") || !strings.Contains(s, "bytes left out") {
		t.Errorf("kept %q … %q", s[:40], s[len(s)-40:])
	}
	if len(s) > keepHead+2*keepTail+1000 {
		t.Errorf("kept %d bytes", len(s))
	}
}
