package storetest_test

import (
	"context"
	"errors"
	"slices"
	"strings"

	idem "github.com/go-idem/idem/core"
)

// Apply does operations one after the other, with the flaws that a pipeline can
// have.
func (m *model) Apply(ctx context.Context, ops []idem.Op) []idem.OpResult {
	results := make([]idem.OpResult, len(ops))
	order := make([]int, len(ops))
	for i := range order {
		order[i] = i
	}
	if m.flaw == applyReorders {
		slices.SortStableFunc(order, func(a, b int) int { return -int(ops[a].Kind) + int(ops[b].Kind) })
	}
	before, failed := m.made(), error(nil)
	for n, i := range order {
		if m.flaw == applyStops && n >= 512 {
			break
		}
		results[i] = m.one(ctx, ops[i])
		failed = errors.Join(failed, results[i].Err)
		switch {
		case m.flaw == applyForgets:
			results[i].Value = nil
		case m.flaw == applyLostIsDone && errors.Is(results[i].Err, errLost):
			results[i] = idem.OpResult{Result: idem.Result{Done: true}}
			m.drop(ops[i].Name)
		}
	}
	switch {
	case m.flaw == applyFailsWhole && failed != nil:
		for i := range results {
			results[i] = idem.OpResult{Err: failed}
		}
	case m.flaw == applyAgain && failed != nil && m.made() > before:
		for _, op := range ops {
			_ = m.one(ctx, op)
		}
	case m.flaw == applyShuffles:
		byName := slices.Clone(order)
		slices.SortStableFunc(byName, func(a, b int) int { return strings.Compare(ops[a].Name, ops[b].Name) })
		shuffled := make([]idem.OpResult, len(ops))
		for at, i := range byName {
			shuffled[at] = results[i]
		}
		return shuffled
	}
	return results
}

func (m *model) one(ctx context.Context, op idem.Op) (r idem.OpResult) {
	if op.Wake && m.flaw != applyWakesNobody {
		ctx = idem.WithWake(ctx)
	}
	switch op.Kind {
	case idem.OpCreate:
		r.Result, r.Err = m.Create(ctx, op.Name, op.Value, op.TTL)
	case idem.OpSwap:
		r.Result, r.Err = m.Swap(ctx, op.Name, op.Old, op.Value, op.TTL)
	default:
		r.Result, r.Err = m.Load(ctx, op.Name)
	}
	return r
}

// drop is what a lost request looks like that was reported as done.
func (m *model) drop(name string) { m.mu.Lock(); defer m.mu.Unlock(); delete(m.items, name) }
