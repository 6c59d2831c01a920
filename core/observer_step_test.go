package idem

import (
	"context"
	"sync"
	"testing"
)

// Given the list of the kinds of steps, then each knows its own place, and a word
// that is none has no place.
func TestEachKindOfStepKnowsItsPlace(t *testing.T) {
	for i, kind := range stepKinds {
		if kind.place() != i {
			t.Errorf("%q is at %d and says %d", kind, i, kind.place())
		}
	}
	if n := StepKind("none").place(); n < len(stepKinds) {
		t.Errorf("a word that is no kind has place %d", n)
	}
}

// quietObserver is one that is told and says nothing.
type quietObserver struct{}

func (quietObserver) Start(ctx context.Context, _ Step) (context.Context, func(StepResult)) {
	return ctx, nil
}
func (o quietObserver) Begin(ctx context.Context, _ *Step) (context.Context, StepEnder) { return ctx, o }
func (quietObserver) Ended(context.Context, *Step, *StepResult)                         {}

// Given steps that end twice, while others use what they were kept in, then the
// second time does nothing (the race detector sees whether it does).
func TestAStepEndsOnce(t *testing.T) {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			var old [16]Ending
			for i := range 2000 {
				_, end := Observe(context.Background(), quietObserver{}, Step{Kind: StepStore})
				end.End(StepResult{})
				old[i%len(old)].End(StepResult{})
				old[i%len(old)] = end
			}
		})
	}
	all.Wait()
}
