package idem

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"
)

// This file tells an observer of a whole request (StepAnswer) for callers that are
// not HTTP: every judged request ends with one verdict, whoever brought it
// (PROTOCOL I6). One that cannot be judged, because its intent or the guard is
// wrong, ends with none.

// judgedHere makes it an intent whose whole request is told of here, and returns
// the step of that. A key that nobody says the source of comes from the program.
func (in *Intent) judgedHere(t *telling) Step {
	in.Judged = true
	if in.Waited == nil {
		in.Waited = &t.waited
	}
	switch {
	case in.Source != "":
	case in.Token.IsZero():
		in.Source = "func"
	default:
		in.Source = "token"
	}
	return Step{Kind: StepAnswer, Operation: in.Operation, Source: in.Source}
}

// telling is what is found out for the end of that step.
type telling struct {
	clock   *clock
	handler time.Duration
	waited  time.Duration
	claims  []*Claim // of a run that did not return
}

// run times a run, and looks for its claims where it does not return.
func (t *telling) run(ctx context.Context, won []Item, fn func()) {
	begin, returned := t.clock.tick(), false
	defer func() {
		t.handler = t.clock.tick() - begin
		if returned {
			return
		}
		for _, at := range won {
			t.claims = append(t.claims, at.Claim)
		}
		if c, ok := ClaimFrom(ctx); ok && won == nil {
			t.claims = append(t.claims, c)
		}
	}()
	fn()
	returned = true
}

// doTold is Do between the two ends of a StepAnswer.
func doTold[T any](ctx context.Context, g *Guard, in Intent, codec Codec[T], fn func(context.Context) (T, error)) (v T, verdict Verdict, err error) {
	t := telling{clock: g.clock}
	ctx, end := g.step(ctx, in.judgedHere(&t))
	defer func() {
		if verdict == 0 && len(t.claims) > 0 {
			verdict = t.claims[0].ends() // what its settle, which is behind us, made of it
		}
		end.End(StepResult{Verdict: verdict, Err: refusal(err), Handler: t.handler, Waited: *in.Waited})
		g.logJudged(ctx, in.Operation, verdict)
	}()
	return Do(ctx, g, in, codec, func(run context.Context) (v T, err error) {
		t.run(run, nil, func() { v, err = fn(run) })
		return v, err
	})
}

// doBatchTold is DoBatch between the two ends of a StepAnswer for each item that
// nobody else tells of.
func doBatchTold[T any](ctx context.Context, g *Guard, intents []Intent, codec Codec[T], fn func(context.Context, []Item) []Answer[T], options []BatchOption) (answers []Answer[T], err error) {
	intents = slices.Clone(intents)
	ends, here := make([]Ending, len(intents)), make([]bool, len(intents))
	t, at := telling{clock: g.clock}, map[int]*Claim{}
	for i := range intents {
		if in := &intents[i]; !in.Judged {
			_, ends[i] = g.step(ctx, in.judgedHere(&t))
			here[i] = true
		}
	}
	defer func() {
		for i, end := range ends {
			if !here[i] {
				continue
			}
			r := StepResult{Handler: t.handler, Waited: *intents[i].Waited}
			switch c := at[i]; {
			case answers != nil:
				r.Verdict, r.Err = answers[i].Verdict, refusal(answers[i].Err)
			case c != nil && len(t.claims) > 0:
				r.Verdict = c.ends()
			}
			end.End(r)
			g.logJudged(ctx, intents[i].Operation, r.Verdict)
		}
	}()
	return DoBatch(ctx, g, intents, codec, func(run context.Context, won []Item) (given []Answer[T]) {
		for _, one := range won {
			at[one.Index] = one.Claim
		}
		t.run(run, won, func() { given = fn(run, won) })
		return given
	}, options...)
}

// tells says whether anybody wants to hear of whole requests: the observer, or a log
// that shows each decision.
func (g *Guard) tells(ctx context.Context) bool {
	return g.watch.at(StepAnswer) || g.log.Enabled(ctx, slog.LevelDebug)
}

// logJudged tells the log of a decision. One that is no request's of a guarded
// operation is none.
func (g *Guard) logJudged(ctx context.Context, operation string, v Verdict) {
	if v != 0 && g.operation(operation) != nil {
		g.log.LogAttrs(ctx, slog.LevelDebug, "request judged", slog.String("idem.operation", operation), slog.String("idem.verdict", v.String()))
	}
}

// refusal is err where it refuses the request: what a run returned is its own.
func refusal(err error) error {
	var why *RefusedError
	if errors.As(err, &why) && !errors.Is(err, ErrBatchRefused) {
		return why
	}
	return nil
}
