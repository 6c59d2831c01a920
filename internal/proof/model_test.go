package proof

import (
	"errors"
	"testing"
)

// The judge itself, on histories of a few attempts: each that is legal has a
// neighbour that is not.
func TestModel_JudgesHistories(t *testing.T) {
	const lease = int64(stageLease)
	a := Attempt{Key: "key", Request: "A", Sent: 10, Heard: 90}
	b := Attempt{Key: "key", Request: "B", Sent: 100, Heard: 190}
	says := func(x Attempt, verdict, run string) Attempt {
		x.Verdict, x.Run = verdict, run
		return x
	}
	later := func(x Attempt, by int64) Attempt {
		x.Sent, x.Heard = x.Sent+by, x.Heard+by
		return x
	}
	ran := func(x Attempt, to phase) entry { return entry{began: x.Sent + 10, ended: x.Sent + 60, to: to} }
	died := entry{began: 20}
	marked := entry{began: 20, marking: 30, marked: 40}
	late := later(b, lease)
	for _, c := range []struct {
		says     string
		attempts []Attempt
		runs     map[string]entry
		legal    bool
	}{
		{"a run and its replay", []Attempt{says(a, "executed", "A"), says(b, "replayed", "A")},
			map[string]entry{"A": ran(a, done)}, true},
		{"a replay of a run that was released", []Attempt{says(a, "released", "A"), says(b, "replayed", "A")},
			map[string]entry{"A": ran(a, free)}, false},
		{"a run after a release", []Attempt{says(a, "released", "A"), says(b, "executed", "B")},
			map[string]entry{"A": ran(a, free), "B": ran(b, done)}, true},
		{"a run after a run", []Attempt{says(a, "executed", "A"), says(b, "executed", "B")},
			map[string]entry{"A": ran(a, done), "B": ran(b, done)}, false},
		{"a take-over of a crashed run after its lease", []Attempt{says(a, "", ""), says(late, "executed", "B")},
			map[string]entry{"A": died, "B": ran(late, done)}, true},
		{"a take-over within the lease", []Attempt{says(a, "", ""), says(b, "executed", "B")},
			map[string]entry{"A": died, "B": ran(b, done)}, false},
		{"marked effects that are held after the lease", []Attempt{says(a, "", ""), says(late, "uncertain", "")},
			map[string]entry{"A": marked}, true},
		{"marked effects that are run again", []Attempt{says(a, "", ""), says(late, "executed", "B")},
			map[string]entry{"A": marked, "B": ran(late, done)}, false},
		{"a run that was taken over and is told so",
			[]Attempt{{Key: "key", Request: "A", Sent: 10, Heard: lease + 300, Verdict: "unprotected", Run: "A"}, says(late, "executed", "B")},
			map[string]entry{"A": {began: 20, ended: lease + 280, to: done}, "B": ran(late, done)}, true},
		{"a run that is told it is unprotected, and nobody took over", []Attempt{says(a, "unprotected", "A")},
			map[string]entry{"A": ran(a, done)}, false},
		{"in-flight while another runs", []Attempt{says(a, "executed", "A"), Attempt{Key: "key", Request: "C", Sent: 30, Heard: 40, Verdict: "in-flight"}},
			map[string]entry{"A": ran(a, done)}, true},
		{"in-flight when all is done", []Attempt{says(a, "executed", "A"), says(b, "in-flight", "")},
			map[string]entry{"A": ran(a, done)}, false},
		{"in-flight after a release whose writing goes on behind its answer, and a run after that",
			[]Attempt{says(a, "released", "A"), {Key: "key", Request: "C", Sent: 94, Heard: 98, Verdict: "in-flight"}, says(b, "executed", "B")},
			map[string]entry{"A": {began: 20, ended: 70, to: free, soft: true}, "B": ran(b, done)}, true},
		{"in-flight after a release that is written", []Attempt{says(a, "released", "A"), {Key: "key", Request: "C", Sent: 94, Heard: 98, Verdict: "in-flight"}, says(b, "executed", "B")},
			map[string]entry{"A": ran(a, free), "B": ran(b, done)}, false},
		{"in-flight while a claim of unknown outcome may be there", []Attempt{says(a, "unavailable", ""), says(b, "in-flight", "")},
			nil, true},
	} {
		events, err := history(c.attempts, c.runs)
		if err != nil {
			t.Errorf("%s: %v", c.says, err)
			continue
		}
		err = legal(events, stageLease)
		if c.legal && err != nil || !c.legal && !errors.Is(err, errIllegal) {
			t.Errorf("%s: judged %v, want legal %v", c.says, err, c.legal)
		}
	}
}
