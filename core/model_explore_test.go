package idem

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The models of this package draw one part of the protocol so small that every
// order of its events can be tried: a few sends, one taker, a wire that delays
// and loses. The rules themselves are not redrawn. Whatever is decided is
// decided by the functions that decide in a running guard (judge, taken,
// ownerHears, mend, the record codec, the owner's own bookkeeping), so a model
// says something about the code and not about a picture of it.
//
// Each model comes with variants that leave one rule out, and the test wants
// the order of events that goes wrong without it. A model that finds nothing
// wrong in those proves nothing about the rest.

// model is a machine whose states can be compared. S is a plain value: whatever
// is in it tells two states apart, and nothing else does.
type model[S comparable] struct {
	start S
	// next offers every step that can be taken from a state, in words, with the
	// state after it.
	next func(from S, step func(what string, to S))
	// bad says what is wrong with a state, "" where nothing is.
	bad func(S) string
	// show is a state in words, for the counterexample.
	show func(S) string
	// goals are what has to come about: a step of these words, or a state. A
	// model that never gets there is safe because it is idle.
	goals map[string]func(what string, s S) bool
}

// modelLimit bounds the states of one model. All of them are tried in a few
// seconds with the race detector; a model that grows beyond is drawn too large.
const modelLimit = 600_000

// explored is what came of trying every order of events.
type explored struct {
	states int
	wrong  string   // of the first bad state, "" if there is none
	trace  []string // how it came about, as short as possible
	missed []string // goals that nothing met
	cut    bool     // there were more states than the limit
}

// explore goes through the states breadth first, so that the first bad one is
// reached by as few steps as any.
func (m model[S]) explore(limit int) (e explored) {
	states, parents, seen := []S{m.start}, []int32{0}, map[S]struct{}{m.start: {}}
	open := maps.Clone(m.goals)
	meet := func(what string, s S) {
		maps.DeleteFunc(open, func(_ string, met func(string, S) bool) bool { return met(what, s) })
	}
	meet("", m.start)
	e.wrong = m.bad(m.start)
	for at := 0; at < len(states) && e.wrong == ""; at++ {
		m.next(states[at], func(what string, to S) {
			meet(what, to)
			if _, known := seen[to]; known || e.wrong != "" || e.cut {
				return
			}
			if e.wrong = m.bad(to); e.wrong == "" && len(states) == limit {
				e.cut = true
				return
			}
			seen[to] = struct{}{}
			states, parents = append(states, to), append(parents, int32(at))
		})
		if e.cut {
			break
		}
	}
	e.states = len(states)
	if e.wrong != "" {
		e.trace = m.trace(states, parents)
	}
	for name := range open {
		e.missed = append(e.missed, name)
	}
	return e
}

// trace tells how the last state came about. The words of a step are not kept
// with the states, they are asked for again.
func (m model[S]) trace(states []S, parents []int32) []string {
	var path []int32
	for i := int32(len(states) - 1); i != 0; i = parents[i] {
		path = append(path, i)
	}
	lines := []string{"   " + m.show(m.start)}
	for i := len(path) - 1; i >= 0; i-- {
		to, words := states[path[i]], ""
		m.next(states[parents[path[i]]], func(what string, s S) {
			if s == to && words == "" {
				words = what
			}
		})
		lines = append(lines, fmt.Sprintf("%2d %s\n      %s", len(path)-i, words, m.show(to)))
	}
	return lines
}

// wantSafe tries every order of events and wants nothing to be wrong in any.
func wantSafe[S comparable](t *testing.T, m model[S]) {
	t.Helper()
	e := m.explore(modelLimit)
	switch {
	case e.wrong != "":
		t.Fatalf("after %d states: %s\n%s", e.states, e.wrong, strings.Join(e.trace, "\n"))
	case e.cut:
		t.Fatalf("more than %d states: the model is drawn too large", modelLimit)
	}
	for _, name := range e.missed {
		t.Errorf("in %d states it never came about that %s: the model is idle there and shows nothing", e.states, name)
	}
	t.Logf("safe: %d states, all tried", e.states)
}

// wantBad wants a counterexample of a model that leaves a rule out, and that
// it shows what the rule is for.
func wantBad[S comparable](t *testing.T, m model[S], wrong string) {
	t.Helper()
	e := m.explore(modelLimit)
	switch {
	case e.wrong == "":
		t.Fatalf("nothing is wrong in %d states (cut short: %v), want %q: the model cannot tell whether the rule is kept", e.states, e.cut, wrong)
	case !strings.Contains(e.wrong, wrong):
		t.Fatalf("found %q, want %q\n%s", e.wrong, wrong, strings.Join(e.trace, "\n"))
	}
	t.Logf("found among %d states: %s\n%s", e.states, e.wrong, strings.Join(e.trace, "\n"))
}

// jugs is a machine whose answers are known without this explorer: two jugs of
// three and five litres, to be filled, emptied and poured over, reach sixteen
// states, and four litres take six steps.
func jugs(wrong int) model[[2]int] {
	size := [2]int{3, 5}
	return model[[2]int]{
		next: func(from [2]int, step func(string, [2]int)) {
			for i := range from {
				full, empty, poured := from, from, from
				full[i], empty[i] = size[i], 0
				over := min(from[i], size[1-i]-from[1-i])
				poured[i], poured[1-i] = from[i]-over, from[1-i]+over
				step("fill", full)
				step("empty", empty)
				step("pour", poured)
			}
		},
		bad: func(s [2]int) string {
			if s[1] == wrong {
				return "there it is"
			}
			return ""
		},
		show: func(s [2]int) string { return fmt.Sprint(s) },
		goals: map[string]func(string, [2]int) bool{
			"one litre":    func(_ string, s [2]int) bool { return s[0] == 1 },
			"seven litres": func(_ string, s [2]int) bool { return s[0] == 7 },
			"pouring":      func(what string, _ [2]int) bool { return what == "pour" },
			"drinking":     func(what string, _ [2]int) bool { return what == "drink" },
		},
	}
}

func TestExplorerTriesEverythingAndFindsTheShortestWay(t *testing.T) {
	e := jugs(-1).explore(100)
	if e.states != 16 || e.wrong != "" || e.cut {
		t.Errorf("two jugs: %d states, wrong %q, cut %v; want all 16", e.states, e.wrong, e.cut)
	}
	if slices.Sort(e.missed); fmt.Sprint(e.missed) != "[drinking seven litres]" {
		t.Errorf("goals missed: %q, want only those that cannot be met", e.missed)
	}
	e = jugs(4).explore(100)
	if e.wrong != "there it is" || len(e.trace) != 1+6 {
		t.Errorf("four litres: %q by\n%s\nwant six steps", e.wrong, strings.Join(e.trace, "\n"))
	}
	if want := " 1 fill\n      [0 5]"; len(e.trace) > 1 && e.trace[1] != want {
		t.Errorf("the way begins with %q, want %q", e.trace[1], want)
	}
	if e = jugs(-1).explore(9); !e.cut || e.states != 9 {
		t.Errorf("with a limit of 9: %d states, cut %v; want it cut there", e.states, e.cut)
	}
}
