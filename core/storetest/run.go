package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// statement is one sentence of the contract.
type statement struct {
	// says is the sentence; it becomes the subtest's name.
	says string
	// needs tells why the statement cannot be asked of this backend, "" if it
	// can; nil means always.
	needs func(Factory, *Backend) string
	// full has the statement run on [Factory].Small instead of New.
	full bool
	// holds asks the store and reports on s.
	holds func(s *scene)
}

// statements lists the contract in the order in which a new store is best
// brought to pass it.
func statements() []statement {
	var all []statement
	all = append(all, createStatements...)
	all = append(all, swapStatements...)
	all = append(all, loadStatements...)
	all = append(all, lifeStatements...)
	all = append(all, valueStatements...)
	all = append(all, raceStatements...)
	all = append(all, batchStatements...)
	all = append(all, abilityStatements...)
	all = append(all, watchStatements...)
	all = append(all, indexStatements...)
	all = append(all, scanStatements...)
	all = append(all, callStatements...)
	all = append(all, fullStatements...)
	return all
}

// Run runs the suite, one subtest for each sentence of the contract. What the
// factory declares itself unable to be asked is skipped by name.
func Run(t *testing.T, f Factory) {
	t.Helper()
	for _, st := range statements() {
		t.Run(st.says, func(t *testing.T) {
			skipped, faults := f.ask(st)
			if skipped != "" {
				t.Skip("not of this store: " + skipped)
			}
			for _, fault := range faults {
				t.Error(fault)
			}
		})
	}
}

// Failure is a sentence of the contract that a store breaks.
type Failure struct {
	// Statement is the sentence, as in the name of its subtest.
	Statement string
	// Details says what was seen; never empty.
	Details []string
}

// Check runs the suite without a test around it and returns what failed, in the
// order of the contract; nil if the store keeps it all. With parts given it asks
// only the sentences that contain one of them. It is there for tests of the suite
// itself.
func Check(f Factory, parts ...string) []Failure {
	var failures []Failure
	for _, st := range statements() {
		asked := slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(st.says, part) })
		if len(parts) > 0 && !asked {
			continue
		}
		if _, details := f.ask(st); len(details) > 0 {
			failures = append(failures, Failure{Statement: st.says, Details: details})
		}
	}
	return failures
}

// tries is how often a statement is asked again because the machine was so slow
// that a value was rightly gone when it was looked for.
const tries = 5

// ask asks one statement, of a new store each time that it could not be told.
func (f Factory) ask(st statement) (skipped string, details []string) {
	for try := range tries {
		var late bool
		if skipped, details, late = f.askOnce(st, try); !late {
			return skipped, details
		}
	}
	return "", []string{fmt.Sprintf("asked %d times, and each time the machine was so slow that the value was rightly gone: nothing can be told", tries)}
}

// askOnce asks one statement of a new store. Late says that nothing can be told.
func (f Factory) askOnce(st statement, try int) (skipped string, details []string, late bool) {
	build := f.New
	if st.full {
		if f.Small == nil {
			return "the store's size is not its own affair", nil, false
		}
		build = f.Small
	}
	backend, err := build()
	if err != nil {
		return "", []string{fmt.Sprintf("no store to ask: %v", err)}, false
	}
	if backend.Close != nil {
		defer backend.Close()
	}
	if st.needs != nil {
		if why := st.needs(f, backend); why != "" {
			return why, nil, false
		}
	}
	s, err := newScene(f, backend, try)
	if err != nil {
		return "", []string{fmt.Sprintf("no handle on the store: %v", err)}, false
	}
	s.play(st.holds)
	return "", s.faults(), s.late
}
