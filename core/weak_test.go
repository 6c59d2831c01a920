package idem

import (
	"context"
	"sync"
	"testing"
)

// weakSteps notes how claims and settles ended.
type weakSteps struct {
	mu   sync.Mutex
	weak map[StepKind]bool
}

func (w *weakSteps) Chooses(k StepKind) bool { return k == StepClaim || k == StepSettle }

func (w *weakSteps) Start(ctx context.Context, s Step) (context.Context, func(StepResult)) {
	return ctx, func(r StepResult) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.weak[s.Kind] = r.Weak
	}
}

// Given a store that marks a claim, or the write of an outcome, as weak, then it
// is run and answered like any other, and both the observer and whoever looks at
// the record are told.
func TestWeakAnswersAreTold(t *testing.T) {
	for _, c := range []struct {
		name                string
		marks               string // the step whose writes the store marks
		claim, settle, kept bool
	}{
		{name: "a claim", marks: "claim", claim: true, settle: true, kept: true},
		{name: "a settle", marks: "settle", settle: true},
		{name: "neither"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, told := newShelf(), &weakSteps{weak: map[StepKind]bool{}}
			g := guardOn(t, s, func(cfg *Config) { cfg.Observer = told })
			s.script(only(c.marks, fault{weak: true}))
			if v, ran := ran(t, g, testIntent("k")); v != Executed || !ran {
				t.Errorf("%s, ran %v", v, ran)
			}
			if told.weak[StepClaim] != c.claim || told.weak[StepSettle] != c.settle {
				t.Errorf("the observer was told %v", told.weak)
			}
			name := g.RecordName(testOperation, "alice", KindKey, "k")
			if r, err := g.Record(context.Background(), name); err != nil || r.Weak != c.kept || r.State != StateSucceeded {
				t.Errorf("the record says weak %v (%v, %v)", r.Weak, r.State, err)
			}
			if v, ran := ran(t, g, testIntent("k")); v != Replayed || ran {
				t.Errorf("a repeat: %s, ran %v", v, ran)
			}
		})
	}
}
