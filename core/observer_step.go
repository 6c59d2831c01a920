package idem

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// This file is how a guard tells its observer of a step without allocating
// anything itself: a step under way lives in a pool.

// StepBeginner is the ability of an [Observer] that need not make a function for
// each step. A guard calls Begin in place of Start, and Ended of what it returned,
// where that is not nil, when the step is over, with the context that Begin
// returned. s and r are the guard's and may be read during the two calls only.
// An observer that wraps another and has Start alone hides Begin of the other,
// and loses nothing but speed.
type StepBeginner interface {
	Begin(ctx context.Context, s *Step) (context.Context, StepEnder)
}

// StepEnder is told of the end of a step: see [StepBeginner].
type StepEnder interface {
	Ended(ctx context.Context, s *Step, r *StepResult)
}

// Ending ends a step that [Observe] or a guard began. The zero Ending ends
// nothing. Use it once: a second time does nothing.
type Ending struct {
	begun *begun
	turn  uint64 // of begun that this is the ending of
}

// begun is a step under way.
type begun struct {
	turn   atomic.Uint64 // whoever ends it late reads it while others use it
	ctx    context.Context
	step   Step
	result StepResult
	ender  StepEnder        // of a StepBeginner
	end    func(StepResult) // of any other observer
	clock  *clock           // nil: Elapsed is not measured
	since  time.Duration
}

var steps = sync.Pool{New: func() any { return new(begun) }}

// idle tells that nobody waits for the end, so that no result need be made.
func (e Ending) idle() bool { return e.begun == nil }

// End tells the observer what came of the step; a panic of its is contained.
func (e Ending) End(r StepResult) {
	if e.begun != nil {
		e.begun.over(e.turn, &r)
	}
}

// over ends the step of a turn.
func (b *begun) over(turn uint64, r *StepResult) {
	if !b.turn.CompareAndSwap(turn, turn+1) {
		return
	}
	if b.clock != nil {
		r.Elapsed = b.clock.tick() - b.since
	}
	if b.ender != nil {
		b.result = *r
		b.tell()
	} else {
		endContained(b.end, *r)
	}
	b.release()
}

// release gives it back without what it would keep from being freed.
func (b *begun) release() {
	b.ctx, b.ender, b.end, b.clock = nil, nil, nil, nil
	b.step.Link, b.result.Err = nil, nil
	steps.Put(b)
}

// tell tells the observer; its panic is its own.
func (b *begun) tell() {
	defer func() { _ = recover() }()
	b.ender.Ended(b.ctx, &b.step, &b.result)
}

// begin asks the observer; its panic is its own.
func (b *begun) begin(ctx context.Context, o StepBeginner) (out context.Context) {
	defer func() {
		if recover() != nil {
			out, b.ender = ctx, nil
		}
	}()
	if out, b.ender = o.Begin(ctx, &b.step); out == nil {
		out = ctx
	}
	b.ctx = out
	return out
}

// Observe starts a step of this guard's on its observer: what it does not choose
// costs nothing. The step's Elapsed is measured.
func (g *Guard) Observe(ctx context.Context, s Step) (context.Context, Ending) {
	if g.watch.chosen == 0 {
		return ctx, Ending{}
	}
	return g.step(ctx, s)
}

// Observe starts a step on an observer that may be nil and contains its panics.
func Observe(ctx context.Context, o Observer, s Step) (context.Context, Ending) {
	if o == nil {
		return ctx, Ending{}
	}
	beginner, _ := o.(StepBeginner)
	return start(ctx, o, beginner, nil, &s)
}

// step starts a step of the guard's own; its Elapsed is measured.
func (g *Guard) step(ctx context.Context, s Step) (context.Context, Ending) {
	if !g.watch.at(s.Kind) {
		return ctx, Ending{}
	}
	return g.begin(ctx, &s)
}

// begin starts a step that the observer has chosen.
func (g *Guard) begin(ctx context.Context, s *Step) (context.Context, Ending) {
	return start(ctx, g.watch.observer, g.watch.beginner, g.clock, s)
}

func start(ctx context.Context, o Observer, beginner StepBeginner, measured *clock, s *Step) (context.Context, Ending) {
	b := steps.Get().(*begun)
	if measured != nil {
		b.clock, b.since = measured, measured.tick()
	}
	if beginner != nil {
		b.step = *s
		ctx = b.begin(ctx, beginner)
	} else {
		ctx, b.end = startContained(ctx, o, *s)
	}
	if b.ender == nil && b.end == nil {
		b.release()
		return ctx, Ending{}
	}
	return ctx, Ending{b, b.turn.Load()}
}

// place is where a kind stands in stepKinds, past its end for a word that is none.
func (k StepKind) place() int {
	switch k {
	case StepVerify:
		return 0
	case StepClaim:
		return 1
	case StepWait:
		return 2
	case StepRun:
		return 3
	case StepRenew:
		return 4
	case StepSettle:
		return 5
	case StepReplay:
		return 6
	case StepIssue:
		return 7
	case StepBury:
		return 8
	case StepCard:
		return 9
	case StepMend:
		return 10
	case StepStore:
		return 11
	case StepAnswer:
		return 12
	case StepObserve:
		return 13
	case StepReconcile:
		return 14
	case StepBatch:
		return 15
	case StepLost:
		return 16
	case StepDegraded:
		return 17
	}
	return len(stepKinds)
}
