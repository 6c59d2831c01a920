package reconcile

import (
	"context"
	"errors"

	idem "github.com/go-idem/idem/core"
)

// Resolve settles one held record by the word of a person: seen is what he saw
// (from Guard.Record), and if anything about it has changed since, nothing is
// done and the error is [idem.ErrMoved]. The rules are those of a resolver's word:
// only what is held can be settled, and a crashed run not sooner than one more
// lease after its own is over ([idem.ErrNotHeld]). by says who decides and why;
// both are required. It needs no Reconciler and no resolver.
func Resolve(ctx context.Context, g *idem.Guard, seen Record, res Resolution, by idem.By) (Record, error) {
	if by.Actor == "" || by.Reason == "" {
		return seen, errors.New("reconcile: settling a record that is not yours needs an actor and a reason")
	}
	ctx, end := idem.Observe(ctx, g.Observer(), idem.Step{
		Kind: idem.StepReconcile, Operation: seen.Operation, Record: seen.Name, Source: "operator", Link: seen.Trace,
	})
	now, err := g.Resolve(ctx, seen, res, by)
	result := resultOf[res.Outcome]
	switch {
	case errors.Is(err, idem.ErrMoved):
		result = resultMoved
	case errors.Is(err, idem.ErrUnavailable):
		result = resultUnavailable
	case err != nil:
		result = resultError
	}
	end.End(idem.StepResult{State: now.State, Fence: now.Fence, Result: result, Err: err})
	return now, err
}
