package idem

import (
	"context"
	"errors"
	"time"
)

// ErrUnable is returned by the package functions of an ability that a store
// does not have and that nothing can stand in for.
var ErrUnable = errors.New("idem: the store cannot do that")

// IndexEntry is one line of an index: a record that somebody wants to look at
// later. An entry promises nothing about its record; whoever follows it looks.
type IndexEntry struct {
	Name string    // of the record
	Due  time.Time // when to look, in whole microseconds
}

// IndexMove changes one entry of an index.
type IndexMove struct {
	Name string
	// Was is when the entry is due now. Where it is due at another time, or is
	// not there, the move does nothing. Zero: add the entry, where there is none.
	Was time.Time
	// Due is when it is due from now on. Zero: the entry goes.
	Due time.Time
}

// Indexer is the ability of a store to keep indexes: per name of an index a set
// of entries, at most one for each record, listed by when they are due. It is
// how a reconciler finds the records of crashed runs without walking all there
// are (design: PROTOCOL section 9). Every method may be called by any number of
// goroutines at once; any error means that the outcome is unknown.
type Indexer interface {
	// Indexed adds an entry to an index, where the index has none for that
	// record, and does op. It is for claims: the entry leaves ahead of op (in a
	// cluster beside it), so that there is no moment at which the record stands
	// there without it. It returns op's result, and an error where the outcome of
	// either is unknown; asked again with the same bytes it does no harm.
	//
	// The index lives for ttl from its last Indexed on, and entries that were due
	// more than ttl before e go: nobody will follow them any more.
	Indexed(ctx context.Context, index string, e IndexEntry, ttl time.Duration, op Op) (Result, error)
	// Index adds entries, each where the index has none for its record, as Indexed
	// does: ahead of many operations that leave together.
	Index(ctx context.Context, index string, entries []IndexEntry, ttl time.Duration) error
	// Entries returns the entries due at until or before, the first due first, at
	// most limit; none where there are none.
	Entries(ctx context.Context, index string, until time.Time, limit int) ([]IndexEntry, error)
	// Reindex makes moves, each for itself. It creates no index.
	Reindex(ctx context.Context, index string, moves []IndexMove) error
}

// Indexed does op with an entry ahead of it on a store that keeps indexes, and
// op alone on any other.
func Indexed(ctx context.Context, s Store, index string, e IndexEntry, ttl time.Duration, op Op) (Result, error) {
	if x, ok := s.(Indexer); ok {
		return x.Indexed(ctx, index, e, ttl, op)
	}
	return op.on(ctx, s)
}

// Index adds entries to an index of a store; ErrUnable where it keeps none.
func Index(ctx context.Context, s Store, index string, entries []IndexEntry, ttl time.Duration) error {
	if x, ok := s.(Indexer); ok {
		return x.Index(ctx, index, entries, ttl)
	}
	return ErrUnable
}

// Entries lists an index of a store; ErrUnable where it keeps none.
func Entries(ctx context.Context, s Store, index string, until time.Time, limit int) ([]IndexEntry, error) {
	if x, ok := s.(Indexer); ok {
		return x.Entries(ctx, index, until, limit)
	}
	return nil, ErrUnable
}

// Reindex changes an index of a store; ErrUnable where it keeps none.
func Reindex(ctx context.Context, s Store, index string, moves []IndexMove) error {
	if x, ok := s.(Indexer); ok {
		return x.Reindex(ctx, index, moves)
	}
	return ErrUnable
}

// indexed is what a claim's operation carries on its way to an [Indexer].
type indexed struct {
	index string
	entry IndexEntry
	ttl   time.Duration
}

// entry is what goes into the operation's index ahead of a claim, nil where no
// reconciler follows it: without a resolver, or under Retake, where the next
// request takes over by itself.
func (c *Claim) entry(mine *record) *indexed {
	op := c.id.op
	if op.resolver == nil || op.policy.OnCrash != Hold || !c.g.indexes {
		return nil
	}
	due := mine.begun().Add(2 * mine.leaseTime())
	return &indexed{op.index, IndexEntry{Name: c.id.name, Due: due}, mine.retention() + slack}
}

func isIndexed(op Op) bool { return op.index != nil }

// applyIndexed adds the entries of many operations, in one exchange for each
// index, and then does those whose entries are known to be there.
func applyIndexed(ctx context.Context, s Store, x Indexer, ops []Op) []OpResult {
	results := make([]OpResult, len(ops))
	entries := map[string][]IndexEntry{}
	life := map[string]time.Duration{}
	for _, op := range ops {
		if in := op.index; in != nil {
			entries[in.index] = append(entries[in.index], in.entry)
			life[in.index] = max(life[in.index], in.ttl)
		}
	}
	failed := map[string]error{}
	for index, list := range entries {
		if failed[index] = x.Index(ctx, index, list, life[index]); errors.Is(failed[index], ErrUnable) {
			failed[index] = nil // a decorator before a store that keeps none
		}
	}
	var sent []Op
	var place []int
	for i, op := range ops {
		if op.index != nil {
			if results[i].Err = failed[op.index.index]; results[i].Err != nil {
				continue
			}
			op.index = nil
		}
		sent, place = append(sent, op), append(place, i)
	}
	for i, r := range Apply(ctx, s, sent) {
		results[place[i]] = r
	}
	return results
}
