package adaptertest

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// statement is one sentence of the HTTP face, and the test of it.
type statement struct {
	name string // Statement05_255BytesPass256DoNot
	// alone keeps it from running beside others: it lives by leases of a fraction
	// of a second, which a crowded machine does not hold.
	alone bool
	play  func(*scene)
}

// statements are all of them, in the order of the design.
func statements() []statement {
	return slices.Concat(
		keyStatements, sourceStatements, scopeStatements, fingerprintStatements,
		lifeStatements, endingStatements, crashStatements, clientStatements,
		replayStatements, securityStatements, tokenStatements, ringStatements, sealingStatements, outageStatements, choiceStatements, wholeStatements, matrixStatements, rolloutStatements, itemStatements,
	)
}

// Statements lists the names of all statements, in order.
func Statements() []string {
	var names []string
	for _, st := range statements() {
		names = append(names, st.name)
	}
	return names
}

// Run plays every statement over the adapter on a backend, each as a subtest of
// its name. A statement that the adapter declares it cannot keep is skipped with
// its reason.
func Run(t *testing.T, adapter Adapter, backend Backend) {
	t.Helper()
	for name := range adapter.Cannot {
		if !slices.Contains(Statements(), name) {
			t.Errorf("%s cannot keep %s, but there is no such statement", adapter.Name, name)
		}
	}
	for _, st := range statements() {
		t.Run(st.name, func(t *testing.T) {
			if !st.alone {
				t.Parallel()
			}
			r := play(st, adapter, backend)
			if err := record(r); err != nil {
				t.Errorf("recording the result: %v", err)
			}
			for _, line := range r.Failures {
				t.Error(line)
			}
			if r.Plays > 1 {
				t.Logf("played %d times: the machine stood still meanwhile", r.Plays)
			}
			if r.Log != "" {
				t.Log("the servers' logs:\n" + r.Log)
			}
			if r.NotOfThis != "" {
				t.Skip("not of this framework: " + r.NotOfThis)
			}
		})
	}
}

// Check plays the statements without a *testing.T and returns a result for each:
// for reports, and to see that the suite finds out an adapter that is wrong.
// only picks statements by name; none picks all.
func Check(adapter Adapter, backend Backend, only ...string) []Result {
	var results []Result
	for _, st := range statements() {
		if len(only) == 0 || slices.Contains(only, st.name) {
			results = append(results, play(st, adapter, backend))
		}
	}
	return results
}

// play plays one statement in a scene of its own.
func play(st statement, adapter Adapter, backend Backend) (r Result) {
	r = Result{Statement: st.name, Adapter: adapter.Name, Backend: backend.Name}
	if r.NotOfThis = adapter.Cannot[st.name]; r.NotOfThis != "" {
		return r
	}
	begin := time.Now()
	defer func() { r.Took = time.Since(begin) }()
	for slowly := 1; r.Plays < attempts; slowly *= 3 {
		r.Plays++
		longest := watchStalls()
		once(st, adapter, backend, slowly, &r)
		stood := longest()
		if r.Failures == nil || stood < st.bears() {
			return r
		}
		r.Failures = append(r.Failures, fmt.Sprintf("beside that, the machine stood still for %v: leases of a fraction of a second cannot be held on it, nor deadlines of store calls", stood))
	}
	return r
}

// attempts is how often a statement is played before it counts as failed, where
// the machine itself stood still meanwhile: each time with more patience, and with
// short leases three times as long, which a busier machine holds. What is wrong is
// wrong each time.
const attempts = 3

// bears is how long the machine may stand still and still be expected to play the
// statement.
func (st *statement) bears() time.Duration {
	if st.alone {
		return longestStall
	}
	return longestPause
}

// once plays a statement once.
func once(st statement, adapter Adapter, backend Backend, slowly int, r *Result) {
	r.Failures, r.Log = nil, ""
	s, err := newScene(adapter, backend, slowly)
	if err != nil {
		r.Failures = []string{"the scene could not be set: " + err.Error()}
		return
	}
	// A goroutine of its own: fatalf ends it from any depth.
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer s.strike()
		st.play(s)
	}()
	<-done
	r.Failures = s.failed()
	if len(r.Failures) > 0 {
		r.Log = s.logs(60)
	}
}
