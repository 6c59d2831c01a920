package idem

import (
	"context"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// call makes one call of the store for a step. It is cut loose from the
// request, because a client that leaves does not make an outcome unknown, and
// it ends by limit.
func (g *Guard) call(ctx context.Context, step string, limit time.Duration, op *Op) (Result, error) {
	var end Ending
	if g.steps {
		bounded := g.bounded(ctx, step, limit)
		defer bounded.end()
		ctx = bounded
	}
	if g.watch.at(StepStore) {
		ctx, end = g.step(ctx, Step{Kind: StepStore, Call: step, Store: g.describe.Name})
	}
	if !g.steps { // a store in this process, which needs to know nothing
		ctx = context.Background()
	}
	res, err := op.on(ctx, g.store)
	g.outage.heard(err)
	if !end.idle() {
		end.End(StepResult{Err: err})
	}
	return res, err
}

// bounded is the context of a call of a store that is not in this process, or of
// an exchange with it.
func (g *Guard) bounded(ctx context.Context, step string, limit time.Duration) *callContext {
	if g.describe.Local { // behind a decorator, which may be slow; a busy machine is, too
		limit = max(limit, settleWait)
	}
	bounded := newCallContext(ctx, step, limit)
	if broken.Is(broken.P7SettleAttached) {
		bounded.whole, bounded.stop = context.WithDeadline(WithStoreStep(ctx, step), bounded.at)
	}
	return bounded
}

// askTries is how often a call is made before its outcome stays unknown.
const askTries = 3

// ask makes a call whose outcome must be known and asks again, with the same
// bytes, where it is not: an error says only that nothing is known.
func (g *Guard) ask(ctx context.Context, step string, op *Op) (res Result, err error) {
	for try := 1; ; try++ {
		if res, err = g.call(ctx, step, g.describe.WorstCall, op); err != nil {
			op.unsure = true
		}
		if err == nil || try == askTries || broken.Is(broken.S9NoAskAgain) {
			return res, err
		}
	}
}
