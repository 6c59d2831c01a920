package idem

import (
	"context"
	"sync"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// talk is one claim's conversation with the store: the call that it needs next,
// and what it makes of the answer. inquiry, renewing and settling are talks; by
// itself a claim holds them call by call, and together many do in few exchanges.
type talk interface {
	// next tells whether a call is needed. Where none is, the talk is over.
	next(ctx context.Context) bool
	// call is the call that next found to be needed.
	call() *Op
	// hear takes its answer; an error says that its outcome is unknown.
	hear(ctx context.Context, res Result, err error)
}

func (q *inquiry) call() *Op  { return &q.op }
func (w *renewing) call() *Op { return &w.op }
func (w *settling) call() *Op { return &w.op }

const (
	// maxPipeline bounds what one exchange carries: its calls have to be over
	// within the limit of one.
	maxPipeline = 1000
	// callsAtOnce is how many calls are made beside each other on a store that
	// does not take many at once.
	callsAtOnce = 8
)

// together has talks about different records go on until all are over: in each
// round one exchange carries the next call of each. tries is how often a call is
// made before its outcome stays unknown; heard, if given, is called after each
// exchange, before its answers are told.
func (g *Guard) together(ctx context.Context, limit time.Duration, tries int, talks []talk, heard func()) {
	asking := make([]talk, 0, len(talks))
	ops := make([]Op, 0, len(talks))
	for ; ; talks = asking {
		round := asking[:0]
		ops = ops[:0]
		for _, t := range talks {
			if t.next(ctx) {
				round, ops = append(round, t), append(ops, *t.call())
			}
		}
		if asking = round; len(asking) == 0 {
			return
		}
		results := g.askMany(ctx, limit, tries, ops)
		if heard != nil {
			heard()
		}
		for i, r := range results {
			asking[i].hear(ctx, r.Result, r.Err)
		}
	}
}

// askMany makes calls about different records and asks again, with the same
// bytes, for those whose outcome is unknown.
func (g *Guard) askMany(ctx context.Context, limit time.Duration, tries int, ops []Op) []OpResult {
	results := g.callMany(ctx, limit, ops)
	var again []Op
	var place []int
	for try := 1; try < tries && !broken.Is(broken.S9NoAskAgain); try++ {
		again, place = again[:0], place[:0]
		for i := range ops {
			if results[i].Err != nil {
				again, place = append(again, ops[i]), append(place, i)
			}
		}
		if len(again) == 0 {
			break
		}
		for i, r := range g.callMany(ctx, limit, again) {
			results[place[i]] = r
		}
	}
	return results
}

// callMany makes each call once: in one exchange for each thousand, where the
// store takes many at once.
func (g *Guard) callMany(ctx context.Context, limit time.Duration, ops []Op) []OpResult {
	if g.batcher == nil || len(ops) == 1 {
		return g.callEach(ctx, limit, ops)
	}
	if len(ops) <= maxPipeline {
		return g.exchange(ctx, limit, ops)
	}
	results := make([]OpResult, 0, len(ops))
	for len(ops) > 0 {
		n := min(len(ops), maxPipeline)
		results = append(results, g.exchange(ctx, limit, ops[:n])...)
		ops = ops[n:]
	}
	return results
}

// exchange is one Apply, bounded like a call: see Guard.call.
func (g *Guard) exchange(ctx context.Context, limit time.Duration, ops []Op) []OpResult {
	if g.steps {
		bounded := g.bounded(ctx, ops[0].Step, limit)
		defer bounded.end()
		ctx = bounded
	}
	ctx, end := g.step(ctx, Step{Kind: StepStore, Call: ops[0].Step, Store: g.describe.Name, Items: len(ops)})
	if !g.steps {
		ctx = context.Background()
	}
	results := g.heardAll(Apply(ctx, g.store, ops))
	var failed error
	for i := range results {
		if failed = results[i].Err; failed != nil {
			break
		}
	}
	end.End(StepResult{Err: failed})
	return results
}

// callEach makes the calls one by one, some beside each other.
func (g *Guard) callEach(ctx context.Context, limit time.Duration, ops []Op) []OpResult {
	results := make([]OpResult, len(ops))
	one := func(i int) {
		results[i].Result, results[i].Err = g.call(ctx, ops[i].Step, limit, &ops[i])
	}
	if len(ops) == 1 {
		one(0)
		return results
	}
	var work sync.WaitGroup
	for first := range min(len(ops), callsAtOnce) {
		work.Go(func() {
			for i := first; i < len(ops); i += callsAtOnce {
				one(i)
			}
		})
	}
	work.Wait()
	return results
}
