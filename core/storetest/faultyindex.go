package storetest

import (
	"bytes"
	"context"
	"time"

	idem "github.com/go-idem/idem/core"
)

// Indexes and walks of a store with faults before it. A store that can do
// neither says so through here, too: these methods are the package functions of
// core, which fall back or say [idem.ErrUnable].

// Indexed meets the faults of its operation's step as one call: the entry and
// the operation are applied together, or neither is.
func (s faulty) Indexed(ctx context.Context, index string, e idem.IndexEntry, ttl time.Duration, op idem.Op) (idem.Result, error) {
	op.Old, op.Value = bytes.Clone(op.Old), bytes.Clone(op.Value)
	return meet(ctx, s.faults, "Indexed", op.Name, func(ctx context.Context) (idem.Result, error) {
		return idem.Indexed(ctx, s.store, index, e, ttl, op)
	})
}

// Index meets the faults of the step that the caller says.
func (s faulty) Index(ctx context.Context, index string, entries []idem.IndexEntry, ttl time.Duration) error {
	_, err := meet(ctx, s.faults, "Index", "", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, idem.Index(ctx, s.store, index, entries, ttl)
	})
	return err
}

// Entries, Reindex and Scan are of the step "scan", where the caller says so.
func (s faulty) Entries(ctx context.Context, index string, until time.Time, limit int) ([]idem.IndexEntry, error) {
	return meet(ctx, s.faults, "Entries", "", func(ctx context.Context) ([]idem.IndexEntry, error) {
		return idem.Entries(ctx, s.store, index, until, limit)
	})
}

func (s faulty) Reindex(ctx context.Context, index string, moves []idem.IndexMove) error {
	_, err := meet(ctx, s.faults, "Reindex", "", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, idem.Reindex(ctx, s.store, index, moves)
	})
	return err
}

func (s faulty) Scan(ctx context.Context, prefix, cursor string, limit int) (idem.Page, error) {
	return meet(ctx, s.faults, "Scan", "", func(ctx context.Context) (idem.Page, error) {
		return idem.Scan(ctx, s.store, prefix, cursor, limit)
	})
}
