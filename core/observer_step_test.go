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
func (o quietObserver) Begin(ctx context.Context, _ *Step) (context.Context, StepEnder) {
	return ctx, o
}
func (quietObserver) Ended(context.Context, *Step, *StepResult) {}

// Given steps that end twice, while others use what they were kept in, then the
// second time does nothing (the race detector sees whether it does).
func TestAStepEndsOnce(t *testing.T) {
	begin := func() (many [64]Ending) {
		for i := range many {
			_, many[i] = Observe(context.Background(), quietObserver{}, Step{Kind: StepStore})
		}
		return many
	}
	end := func(many [64]Ending) {
		for _, e := range many {
			e.End(StepResult{})
		}
	}
	old := begin()
	end(old)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				end(begin())
			}
		})
		all.Go(func() {
			for range 50 {
				end(old)
			}
		})
	}
	all.Wait()
}
