package storetest

import (
	"bytes"
	"context"
	"fmt"
	"time"

	idem "github.com/go-idem/idem/core"
)

// faultyBatcher is a store's Apply with the plan before it. Every operation
// meets a fault of its own, as its method alone would; what is spared or only
// loses its reply goes to the store in one Apply.
type faultyBatcher struct {
	batcher idem.Batcher
	faults  *Faults
}

// fates are what the plan has for the operations of one Apply.
type fates struct {
	results []idem.OpResult
	lost    []error   // the reply is lost: what the caller is told instead
	sent    []idem.Op // what goes to the store, and
	place   []int     // where each of these stood
	slow    time.Duration
	silent  time.Duration
	silence bool
}

func (s faultyBatcher) Apply(ctx context.Context, ops []idem.Op) []idem.OpResult {
	fate := s.draw(ctx, ops)
	if fate.slow > 0 {
		err := pause(ctx, fate.slow)
		if err == nil && s.faults.dead() {
			err = ErrKilled
		}
		if err != nil { // a pipeline that is late is late as a whole
			for _, i := range fate.place {
				fate.results[i].Err = fmt.Errorf("%w: %w", ErrInjected, err)
			}
			return fate.results
		}
	}
	if len(fate.sent) > 0 {
		for i, r := range s.batcher.Apply(ctx, fate.sent) {
			if at := fate.place[i]; fate.lost[at] == nil || r.Err != nil {
				fate.results[at] = r
			} else {
				fate.results[at].Err = fate.lost[at]
			}
		}
	}
	if fate.silence {
		silence(ctx, fate.silent)
	}
	return fate.results
}

// draw asks the plan for each operation. What travels late starts on its way.
func (s faultyBatcher) draw(ctx context.Context, ops []idem.Op) *fates {
	fate := &fates{results: make([]idem.OpResult, len(ops)), lost: make([]error, len(ops))}
	var cut error
	for i, op := range ops {
		op.Old, op.Value = bytes.Clone(op.Old), bytes.Clone(op.Value)
		if op.Step == "" {
			op.Step = idem.StoreStep(ctx)
		}
		method := methodOf(op.Kind)
		fault, killed := s.faults.next(op.Step, method, op.Name, i > 0)
		injected := fmt.Errorf("in an Apply: %w", injection(method, op.Step, fault.Mode))
		told, goes := error(nil), true
		switch {
		case killed:
			told, goes = ErrKilled, false
		case fault.Mode == Refuse:
			told, goes = injected, false
		case fault.Mode == Timeout:
			told, goes = fmt.Errorf("%w: %w", injected, context.DeadlineExceeded), false
			fate.silence, fate.silent = true, max(fate.silent, fault.Delay)
		case fault.Mode == Late:
			told, goes = injected, false
			late := context.WithoutCancel(ctx)
			s.faults.makeLate(late, fault.Delay, func(ctx context.Context) { _ = s.batcher.Apply(ctx, []idem.Op{op}) })
		case fault.Mode == Slow:
			fate.slow = max(fate.slow, fault.Delay)
		case fault.Mode == LostReply:
			fate.lost[i] = injected
		case fault.Mode == CutOff:
			cut = injected
		}
		if !goes {
			fate.results[i].Err = told
			continue
		}
		if cut != nil {
			fate.lost[i] = cut
		}
		fate.sent, fate.place = append(fate.sent, op), append(fate.place, i)
	}
	return fate
}

func methodOf(kind idem.OpKind) string {
	switch kind {
	case idem.OpCreate:
		return "Create"
	case idem.OpSwap:
		return "Swap"
	}
	return "Load"
}
