package idem

import (
	"context"
	"errors"
	"slices"

	"github.com/go-idem/idem/internal/broken"
)

// Item is one item of a batch that was won.
type Item struct {
	Index int    // of its intent
	Claim *Claim // its Context ends when this claim is lost
}

// Answer is what became of one item: what the run answered, or what is known
// about it.
type Answer[T any] struct {
	Value   T
	Verdict Verdict // the run leaves it zero
	Err     error
}

var errNoAnswer = errors.New("idem: the run of the batch gave this item no answer")

// DoBatch is [Do] for many intents: fn runs once, with those items that are to be
// run now, and gives one answer for each of them, in their order. DoBatch returns
// one answer for each intent, in order, each with the value, verdict and error
// that Do would have returned. fn is not called where there is nothing to run;
// under [Atomic] it is called with all items or not at all.
//
// The claims are made in one exchange with the store and settled in another. What
// other owners are running is waited for where the policy says so, and before
// the run only where there is nothing to run: see [Guard.ClaimBatch].
//
// fn's context ends when the first claim of the batch is lost; an item's own
// context ends with its own. [MarkEffects] on fn's context marks all items, in
// one exchange; whatever else belongs to one run ([Note], [Fence],
// [DownstreamKey], [ClaimFrom]) works on an item's context or its claim. A panic
// of fn ends every item by policy and goes on unchanged. An item that fn left
// without an answer ends as an error would.
//
// The error says that an intent is wrong or the guard closed; then no answers are
// returned and nothing ran.
func DoBatch[T any](ctx context.Context, g *Guard, intents []Intent, codec Codec[T], fn func(ctx context.Context, won []Item) []Answer[T], options ...BatchOption) ([]Answer[T], error) {
	if codec == nil || fn == nil {
		return nil, errNothingToRun
	}
	if slices.ContainsFunc(intents, func(in Intent) bool { return !in.Judged }) && g.tells(ctx) {
		return doBatchTold(ctx, g, intents, codec, fn, options)
	}
	watched := g.hooks.enter()
	if watched {
		defer g.hooks.leave()
	}
	b, err := g.claimBatch(ctx, intents, watched, options)
	if b == nil {
		return nil, err
	}
	won := b.won()
	answers := make([]Answer[T], len(intents))
	if len(won) > 0 {
		given := runBatch(ctx, g, won, fn)
		list, read := make([]ended, len(won)), false
		for i, at := range won {
			list[i].Settlement = Settlement{Claim: at.Claim, Outcome: Doubts}
		}
		defer func() {
			if !read && !broken.Is(broken.P10CodecUnsettled) { // the codec panicked; that goes on by itself
				g.settleAll(context.Background(), list)
			}
		}()
		for i, at := range won {
			a := Answer[T]{Err: errNoAnswer}
			if i < len(given) {
				a = given[i]
			}
			answers[at.Index] = a
			if at.Claim.hooked != nil {
				at.Claim.returned(a.Value, a.Err)
			}
			ending(ctx, &list[i], codec, a.Value, a.Err)
		}
		read = true
		g.settleAll(ctx, list) // the verdicts say what became of it
		for _, at := range won {
			answers[at.Index].Verdict = at.Claim.ends()
		}
		b.catchUp()
		b.tell()
	}
	first := make(map[*Claim]int, len(won))
	for _, at := range won {
		first[at.Claim] = at.Index
	}
	for i, c := range b.claims {
		at, ran := first[c]
		switch {
		case ran && at == i:
		case ran: // the same key twice: the second is told what the first was
			answers[i] = answers[at]
		default:
			answers[i].Value, answers[i].Verdict, answers[i].Err = replay(ctx, c, codec)
		}
	}
	for i := range intents {
		if in := &intents[i]; in.Waited != nil {
			*in.Waited = b.waited
		}
	}
	b.judged()
	return answers, nil
}

// won are the claims of the batch that are to be run, each once.
func (b *batch) won() []Item {
	var list []Item
	seen := make(map[*Claim]bool, len(b.claims))
	for i, c := range b.claims {
		if c.won && !seen[c] {
			seen[c] = true
			list = append(list, Item{Index: i, Claim: c})
		}
	}
	return list
}

// runBatch calls fn once. Where it does not return, every claim ends by policy.
func runBatch[T any](ctx context.Context, g *Guard, won []Item, fn func(context.Context, []Item) []Answer[T]) []Answer[T] {
	run := newBatchRun(ctx, g, won)
	obs, end := g.step(run, Step{Kind: StepRun, Operation: won[0].Claim.policy().Operation, Source: won[0].Claim.source, Items: len(won)})
	returned := false
	defer func() {
		run.end(context.Canceled)
		if !returned { // a panic or runtime.Goexit, which go on by themselves
			end.End(StepResult{Err: errAbrupt})
			g.endAbruptlyAll(run.claims)
		}
	}()
	answers := fn(obs, won)
	returned = true
	end.End(StepResult{})
	return answers
}

// batchRun is the context of a run of many claims: cut loose from the connection
// as theirs are, ended by the loss of the first.
type batchRun struct {
	context.Context
	end    context.CancelCauseFunc
	g      *Guard
	claims []*Claim
}

type batchKey struct{}

func (r *batchRun) Value(key any) any {
	switch key.(type) {
	case batchKey:
		return r
	case runKey: // it is of no single claim, and not of one that the batch is claimed under
		return nil
	}
	return r.Context.Value(key)
}

func newBatchRun(ctx context.Context, g *Guard, won []Item) *batchRun {
	r := &batchRun{g: g, claims: make([]*Claim, len(won))}
	r.Context, r.end = context.WithCancelCause(context.WithoutCancel(ctx))
	for i, at := range won {
		r.claims[i] = at.Claim
		context.AfterFunc(at.Claim.run, func() { r.end(context.Cause(at.Claim.run)) })
	}
	return r
}
