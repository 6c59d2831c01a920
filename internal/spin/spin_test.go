package spin

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// limit is how long one search may take (half a minute, where it has a core for
// itself), and memory, in MB, how much it may use.
const (
	limit  = 8 * time.Minute
	memory = "2000"
)

// leastStates is how many states the whole model has at least: one that was
// cut short by a slip has few, and nothing wrong.
const leastStates = 1_000_000

// Given the model with every rule kept, when every order of its events is looked
// through, then no owner is live beside another (I1), fences grow (I2), an
// outcome stays (I3), nobody takes his own record for another's (P2), and no
// claim turns up after its janitor is done (I13).
func TestSpin_TheProtocolHoldsInEveryOrder(t *testing.T) {
	s := look(t, 0)
	t.Logf("%d states, %d transitions, %s s", s.states, s.transitions, s.seconds)
	switch {
	case s.wrong != "":
		t.Errorf("the model is not safe: %s\n%s", s.wrong, s.text)
	case s.states < leastStates:
		t.Errorf("only %d states were looked through, want %d at least:\n%s", s.states, leastStates, s.text)
	}
	// A step that no order of events leads to proves nothing.
	if unreached := s.unreached("Owner"); unreached != "" {
		t.Errorf("no order of events leads to these steps of an owner:\n%s", unreached)
	}
}

// Given the model with one rule left out, when it is looked through, then the
// very thing that the rule is for is found broken.
func TestSpin_EachRuleLeftOutIsFoundOut(t *testing.T) {
	for _, left := range []struct {
		out    string
		broken int // as claim.pml numbers them
		wrong  string
	}{
		{"an owner takes only the very value it wrote for its own", 1, "!(ownRecordToldStale)"},
		{"the deadline counts from the reply", 2, "two live owners"},
		{"a take-over does not raise the fence", 3, "!(fenceDidNotGrow)"},
		{"the janitor looks and does not write", 4, "!(claimAfterTheJanitor)"},
	} {
		t.Run(left.out, func(t *testing.T) {
			s := look(t, left.broken)
			t.Logf("%s after %d states", s.wrong, s.states)
			if s.wrong != left.wrong {
				t.Errorf("found %q, want %q:\n%s", s.wrong, left.wrong, s.text)
			}
		})
	}
}

// search is what the checker found.
type search struct {
	text                string
	wrong               string // what does not hold, "" if all does
	states, transitions int
	seconds             string
}

var (
	states      = regexp.MustCompile(`(?m)^ *(\d+) states, stored`)
	transitions = regexp.MustCompile(`(?m)^ *(\d+) transitions`)
	seconds     = regexp.MustCompile(`elapsed time ([0-9.]+)`)
	assertion   = regexp.MustCompile(`assertion violated +(.*?) \(at depth`)
	errorCount  = regexp.MustCompile(`errors: (\d+)`)
)

// look has the checker make a program of the model, and that look through it.
func look(t *testing.T, broken int) search {
	t.Helper()
	need(t)
	model, err := os.ReadFile("claim.pml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "claim.pml"), model, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "spin", "-DBROKEN="+strconv.Itoa(broken), "-a", "claim.pml")
	// -w silences warnings about code that we have not written.
	run(t, dir, "gcc", "-w", "-O2", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM="+memory, "-o", "pan", "pan.c")
	return read(t, run(t, dir, filepath.Join(dir, "pan"), "-m10000", "-w23"))
}

func run(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(program), err, out)
	}
	return string(out)
}

// read reads the checker's report. A search that was cut short, by its bounds of
// depth or memory, is a failure whatever it found.
func read(t *testing.T, text string) search {
	t.Helper()
	s := search{text: text, states: number(states, text), transitions: number(transitions, text), seconds: first(seconds, text)}
	if errorCount.FindString(text) == "" || strings.Contains(text, "max search depth too small") || strings.Contains(text, "out of memory") {
		t.Fatalf("the search was not brought to an end:\n%s", text)
	}
	if first(errorCount, text) == "0" {
		return s
	}
	switch {
	case strings.Contains(text, "assertion violated"):
		s.wrong = first(assertion, text)
	case strings.Contains(text, "claim violated"), strings.Contains(text, "end state in claim reached"):
		s.wrong = "two live owners" // the only thing that the never claim is about
	default:
		s.wrong = "something that this test cannot name"
	}
	return s
}

// unreached lists the steps of a process that were not reached.
func (s search) unreached(process string) string {
	_, rest, ok := strings.Cut(s.text, "unreached in proctype "+process+"\n")
	if !ok {
		return "the report does not name " + process
	}
	list, _, _ := strings.Cut(rest, "unreached in ")
	if strings.Contains(list, "(0 of ") {
		return ""
	}
	return list
}

func first(what *regexp.Regexp, in string) string {
	if found := what.FindStringSubmatch(in); found != nil {
		return found[1]
	}
	return ""
}

func number(what *regexp.Regexp, in string) int {
	n, _ := strconv.Atoi(first(what, in)) // 0 where there is none
	return n
}
