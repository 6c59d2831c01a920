package idem

import (
	"context"
	"slices"
	"time"
)

// Op is one operation on a store, as data, for stores that take many at once.
type Op struct {
	Kind       OpKind
	Name       string
	Old, Value []byte
	TTL        time.Duration
	// Step is what a guard makes this operation for, where one exchange carries
	// several kinds; "" says that it is as [StoreStep] of the context tells.
	Step string
	// Wake says that a Swap that is done wakes those who watch Name, where the
	// store can: see [Watcher].
	Wake bool
	// Entry, if not nil, is appended to a journal by stores that keep one: see
	// [Journaler]. Others leave it out.
	Entry *JournalEntry

	index  *indexed // of a claim that a reconciler follows; nil of any other
	unsure bool     // it had no known outcome, if only at first
}

// OpKind says which method of [Store] an Op stands for.
type OpKind uint8

// The operations.
const (
	OpLoad   OpKind = iota // Name
	OpCreate               // Name, Value, TTL
	OpSwap                 // Name, Old, Value, TTL
)

// OpResult is the answer to one Op. Err set means that its outcome is unknown,
// whatever became of the others.
type OpResult struct {
	Result
	Err error
}

// Batcher is the ability of a store to take many operations in one exchange,
// or in one for each of its nodes.
type Batcher interface {
	// Apply does every operation as its method alone would, each atomic by
	// itself and none with another, and returns one answer for each, in order.
	// Operations on one name are done in the order given; those on different
	// names in any. One that fails fails alone. It may be called by any number
	// of goroutines at once, with any number of operations, none included.
	Apply(ctx context.Context, ops []Op) []OpResult
}

// Apply does many operations on a store: at once where it can, else one after
// the other.
func Apply(ctx context.Context, s Store, ops []Op) []OpResult {
	if x, ok := s.(Indexer); ok && slices.ContainsFunc(ops, isIndexed) {
		return applyIndexed(ctx, s, x, ops)
	}
	if b, ok := s.(Batcher); ok {
		return b.Apply(ctx, ops)
	}
	results := make([]OpResult, len(ops))
	for i := range ops {
		alone := ctx
		if ops[i].Step != "" {
			alone = WithStoreStep(ctx, ops[i].Step)
		}
		results[i].Result, results[i].Err = ops[i].on(alone, s)
	}
	return results
}

// on does the operation alone.
func (op *Op) on(ctx context.Context, s Store) (Result, error) {
	if x := op.index; x != nil {
		alone := *op
		alone.index = nil
		return Indexed(ctx, s, x.index, x.entry, x.ttl, alone)
	}
	if op.Wake {
		ctx = WithWake(ctx)
	}
	if op.Entry != nil {
		if b, ok := s.(Batcher); ok {
			r := b.Apply(ctx, []Op{*op})[0]
			return r.Result, r.Err
		}
	}
	switch op.Kind {
	case OpCreate:
		return s.Create(ctx, op.Name, op.Value, op.TTL)
	case OpSwap:
		return s.Swap(ctx, op.Name, op.Old, op.Value, op.TTL)
	}
	return s.Load(ctx, op.Name)
}
