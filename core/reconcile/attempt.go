package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/broken"
)

// What comes of one attempt, as spans, metrics and summaries say it.
const (
	resultSucceeded   = "succeeded"
	resultFailed      = "failed"
	resultReleased    = "released"
	resultLater       = "later"
	resultMoved       = "moved"
	resultGaveUp      = "gave-up"
	resultUnavailable = "unavailable"
	resultError       = "error"
)

var resultOf = map[idem.Outcome]string{idem.Completes: resultSucceeded, idem.Fails: resultFailed, idem.Releases: resultReleased}

// runScope is the scope of the reconcilers' own claims. No key of a user is in
// their operation, so it keeps nobody apart.
const runScope = "idem"

// errOver ends the run of a reconciler's own claim: it is released, whatever
// happened to it.
var errOver = idem.NoEffects(errors.New("reconcile: the attempt is over"))

// attempt is one try at one held record.
type attempt struct {
	*Reconciler
	rec    Record   // as it was seen
	run    Record   // that of the reconcilers' own claim, before
	before progress // as run told it
	left   progress // as it will be told to whoever comes next

	result string
	next   time.Time // when to look again; zero: never
	err    error
}

// try asks about a held record, if it is its turn and nobody else does. Without a
// result nothing was tried. The error is of the store, or of a guard that was
// closed: looking on makes no sense then.
func (r *Reconciler) try(ctx context.Context, rec Record) (result string, next time.Time, err error) {
	g := r.Guard
	run, err := g.Record(ctx, g.RecordName(idem.RunOperation, runScope, idem.KindKey, rec.Name))
	if err != nil {
		return "", next, err
	}
	now, before := g.Now(), progressOf(run.Note, rec.Fence)
	switch {
	case run.State == idem.StateProcessing && run.LeaseLeft > 0 && !broken.Is(broken.S9TwoReconcilers):
		return "", now.Add(run.LeaseLeft), nil
	case before.tries >= r.Attempts:
		return "", next, nil // a person was called
	case before.next.After(now):
		return "", before.next, nil
	}
	a := &attempt{Reconciler: r, rec: rec, run: run, before: before, left: before, next: now.Add(r.BackOff)}
	ctx, end := idem.Observe(ctx, g.Observer(), idem.Step{
		Kind: idem.StepReconcile, Operation: rec.Operation, Record: rec.Name, Attempt: before.tries + 1, Link: rec.Trace,
	})
	a.claimed(ctx)
	end.End(idem.StepResult{State: a.rec.State, Fence: a.rec.Fence, Result: a.result, Err: a.err})
	if errors.Is(a.err, idem.ErrClosed) {
		return a.result, a.next, a.err
	}
	return a.result, a.next, nil
}

// claimed asks under a claim of the reconcilers' own, so that one process does at
// a time. It is taken over where its process died, and released in the end.
func (a *attempt) claimed(ctx context.Context) {
	if broken.Is(broken.S9TwoReconcilers) {
		a.ask(ctx, ctx)
		return
	}
	in := idem.Intent{
		Operation: idem.RunOperation, Scope: runScope, Key: a.rec.Name, Judged: true, // it is nobody's request
		Note: progress{a.rec.Fence, a.before.tries + 1, a.Guard.Now()}.String(),
	}
	_, verdict, err := idem.Do(ctx, a.Guard, in, idem.JSON[struct{}](), func(run context.Context) (struct{}, error) {
		claim, _ := idem.ClaimFrom(run)
		if note := claim.Followed(); note != a.run.Note {
			a.result = resultMoved // somebody else was at it since we looked
			_ = claim.Note(note)
			return struct{}{}, errOver
		}
		a.ask(ctx, run)
		_ = claim.Note(a.left.String())
		return struct{}{}, errOver
	})
	switch {
	case errors.Is(err, errOver):
	case verdict == idem.Unavailable:
		a.result, a.err = resultUnavailable, err
	default:
		a.result = resultMoved // another one is at it
	}
}

// ask looks once more, asks the resolver and writes what it says. run ends with
// the claim, ctx with the reconciler.
func (a *attempt) ask(ctx, run context.Context) {
	now, err := a.Guard.Record(run, a.rec.Name)
	held, in := now.Held()
	switch {
	case err != nil:
		a.result, a.err = resultUnavailable, err
		return
	case !held || in > 0 || !now.Same(a.rec):
		a.result = resultMoved
		return
	}
	a.rec.Attempt = a.before.tries + 1
	limited, cancel := context.WithTimeout(run, a.Patience)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	res, err := ask(limited, a.Guard.Resolver(a.rec.Operation), a.rec)
	switch {
	case run.Err() != nil || ctx.Err() != nil:
		a.result = resultLater // the claim was lost, or the reconciler is closed: it does not count
	case err != nil || res.Outcome == 0:
		a.later(ctx, err)
	default:
		a.settle(run, res)
	}
}

// settle writes what the resolver said over exactly what it was asked about.
func (a *attempt) settle(ctx context.Context, res Resolution) {
	by := idem.By{Actor: "resolver", Reason: fmt.Sprintf("attempt %d", a.rec.Attempt)}
	now, err := a.Guard.Resolve(ctx, a.rec, res, by)
	switch {
	case err == nil, errors.Is(err, idem.ErrUnaudited) && !errors.Is(err, idem.ErrUnavailable): // it was settled
		a.rec, a.result = now, resultOf[res.Outcome]
		a.left, a.next = progress{}, time.Time{}
	case errors.Is(err, idem.ErrMoved):
		a.result, a.left = resultMoved, progress{}
	case errors.Is(err, idem.ErrUnavailable):
		a.result, a.err = resultUnavailable, err
	default:
		a.later(ctx, err)
	}
}

// later leaves the record as it is, until it is asked about again: after a pause,
// or, where that was the last attempt, never.
func (a *attempt) later(ctx context.Context, err error) {
	log, tries, now := a.Guard.Logger(), a.rec.Attempt, a.Guard.Now()
	attrs := []slog.Attr{slog.String("idem.operation", a.rec.Operation), slog.String("idem.key", a.rec.KeyHash()), slog.Int("idem.attempt", tries)}
	if a.result, a.err = resultLater, err; err != nil {
		a.result = resultError
		attrs = append(attrs, slog.String("error", err.Error()))
		log.LogAttrs(ctx, slog.LevelWarn, "resolver failed: it is asked again later", attrs...)
	}
	if tries >= a.Attempts {
		a.result, a.next = resultGaveUp, time.Time{}
		a.left = progress{a.rec.Fence, tries, now}
		log.LogAttrs(ctx, slog.LevelError, "resolver cannot tell: a person has to settle the record", attrs...)
		return
	}
	pause := a.pause(tries)
	a.next = now.Add(pause)
	a.left = progress{a.rec.Fence, tries, a.next}
	if a.rec.Left < 2*pause+keepAhead {
		// It would be forgotten before it is asked about once more, and its key
		// would run again.
		if kept, err := a.Guard.Keep(ctx, a.rec); err == nil {
			a.rec = kept
		}
	}
}

// keepAhead is how long before its end a record is kept on, beside its pauses.
const keepAhead = time.Minute
