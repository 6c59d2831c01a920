package idem_test

import (
	"context"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
)

type beginKey struct{}

// begins is an observer that has Begin, and notes what it is told.
type begins struct {
	t            *testing.T
	panics, mute bool
	ended        []idem.StepResult
	ctx          context.Context
	step         idem.Step
}

func (b *begins) Start(context.Context, idem.Step) (context.Context, func(idem.StepResult)) {
	b.t.Error("Start was called beside Begin")
	return nil, nil
}

func (b *begins) Begin(ctx context.Context, s *idem.Step) (context.Context, idem.StepEnder) {
	if b.mute {
		return ctx, nil
	}
	return context.WithValue(ctx, beginKey{}, "inside"), b
}

func (b *begins) Ended(ctx context.Context, s *idem.Step, r *idem.StepResult) {
	if b.panics {
		panic("an observer's own")
	}
	b.ctx, b.step, b.ended = ctx, *s, append(b.ended, *r)
}

// Given an observer that has Begin, when a step ends, then it is told once, with
// the step, its result and the context it made; and a guard measures the time.
func TestAnObserverThatBeginsIsToldOfTheEnd(t *testing.T) {
	b := &begins{t: t}
	ctx, end := idem.Observe(t.Context(), b, idem.Step{Kind: idem.StepReconcile, Operation: "shop:order:create"})
	if ctx.Value(beginKey{}) != "inside" {
		t.Error("its context is not handed on")
	}
	end.End(idem.StepResult{Result: "later", Elapsed: time.Second})
	end.End(idem.StepResult{Result: "twice"})
	if len(b.ended) != 1 || b.ended[0].Result != "later" || b.ended[0].Elapsed != time.Second ||
		b.ctx.Value(beginKey{}) != "inside" || b.step.Operation != "shop:order:create" {
		t.Errorf("told %+v of %+v", b.ended, b.step)
	}
}

// Given an observer that has Begin and wants no end, or panics, then nothing comes of it.
func TestAnObserverThatBeginsMayPanicOrWantNoEnd(t *testing.T) {
	for _, b := range []*begins{{t: t, mute: true}, {t: t, panics: true}} {
		ctx, end := idem.Observe(t.Context(), b, idem.Step{Kind: idem.StepReconcile})
		if ctx == nil {
			t.Error("no context")
		}
		end.End(idem.StepResult{})
		if len(b.ended) != 0 {
			t.Errorf("told %v", b.ended)
		}
	}
}
