package memstore

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"

	idem "github.com/go-idem/idem/core"
)

// indexes are the indexes of a store, by name, under a lock of their own: a
// claim of an operation that nobody reconciles never comes here.
type indexes struct {
	mu     sync.Mutex
	byName map[string]*index
}

// index is a set of entries and their order.
type index struct {
	byRecord map[string]*entry
	order    entryHeap     // the first due first
	expires  time.Duration // on the store's clock
}

type entry struct {
	name  string
	due   int64 // microseconds since 1970
	place int   // in index.order
}

func entryCost(name string) int64 { return int64(len(name)) + recordCost }

// Indexed adds the entry, where the index has none for that record, and does op.
// The room that entries take is that of records; a full store is [ErrFull], and
// nothing was done. Other errors are those of op's method.
func (s *Store) Indexed(ctx context.Context, name string, e idem.IndexEntry, ttl time.Duration, op idem.Op) (idem.Result, error) {
	if err := admit(ctx, e.Name, nil, ttl); err != nil {
		return idem.Result{}, err
	}
	if err := s.addEntries(name, []idem.IndexEntry{e}, ttl); err != nil {
		return idem.Result{}, err
	}
	switch op.Kind {
	case idem.OpCreate:
		return s.Create(ctx, op.Name, op.Value, op.TTL)
	case idem.OpSwap:
		return s.Swap(ctx, op.Name, op.Old, op.Value, op.TTL)
	}
	return s.Load(ctx, op.Name)
}

// Index adds entries, each where the index has none for its record. Errors are
// those of Indexed; some may have been added then.
func (s *Store) Index(ctx context.Context, name string, entries []idem.IndexEntry, ttl time.Duration) error {
	for _, e := range entries {
		if err := admit(ctx, e.Name, nil, ttl); err != nil {
			return err
		}
	}
	return s.addEntries(name, entries, ttl)
}

func (s *Store) addEntries(name string, entries []idem.IndexEntry, ttl time.Duration) error {
	x := &s.indexes
	x.mu.Lock()
	defer x.mu.Unlock()
	now := s.elapsed()
	in := x.live(s, name, now)
	if in == nil {
		in = &index{byRecord: map[string]*entry{}}
		if x.byName == nil {
			x.byName = map[string]*index{}
		}
		x.byName[name] = in
	}
	in.expires = now + ttl
	for _, e := range entries {
		for oldest := e.Due.Add(-ttl).UnixMicro(); len(in.order) > 0 && in.order[0].due < oldest; {
			in.remove(s, in.order[0])
		}
		if err := in.add(s, e); err != nil {
			return err
		}
	}
	return nil
}

// Entries returns the entries due at until or before, the first due first, at
// most limit. Errors: a context that is over.
func (s *Store) Entries(ctx context.Context, name string, until time.Time, limit int) ([]idem.IndexEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	x := &s.indexes
	x.mu.Lock()
	defer x.mu.Unlock()
	in := x.live(s, name, s.elapsed())
	if in == nil {
		return nil, nil
	}
	return in.due(until.UnixMicro(), limit), nil
}

// Reindex makes moves. Errors: a context that is over, [ErrFull].
func (s *Store) Reindex(ctx context.Context, name string, moves []idem.IndexMove) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	x := &s.indexes
	x.mu.Lock()
	defer x.mu.Unlock()
	in := x.live(s, name, s.elapsed())
	if in == nil {
		return nil
	}
	for _, m := range moves {
		there := in.byRecord[m.Name]
		switch {
		case m.Was.IsZero():
			if err := in.add(s, idem.IndexEntry{Name: m.Name, Due: m.Due}); err != nil {
				return err
			}
		case there == nil || there.due != m.Was.UnixMicro():
		case m.Due.IsZero():
			in.remove(s, there)
		default:
			there.due = m.Due.UnixMicro()
			heap.Fix(&in.order, there.place)
		}
	}
	return nil
}

// live returns an index whose time is not over, nil where there is none. x.mu
// is held.
func (x *indexes) live(s *Store, name string, now time.Duration) *index {
	in := x.byName[name]
	if in != nil && in.expires <= now {
		for _, e := range in.byRecord {
			s.used.Add(-entryCost(e.name))
		}
		delete(x.byName, name)
		return nil
	}
	return in
}

func (in *index) add(s *Store, e idem.IndexEntry) error {
	if in.byRecord[e.Name] != nil {
		return nil
	}
	if !s.take(entryCost(e.Name), s.room-s.room/settleShare) {
		return ErrFull
	}
	added := &entry{name: e.Name, due: e.Due.UnixMicro()}
	in.byRecord[e.Name] = added
	heap.Push(&in.order, added)
	return nil
}

func (in *index) remove(s *Store, e *entry) {
	heap.Remove(&in.order, e.place)
	delete(in.byRecord, e.name)
	s.used.Add(-entryCost(e.name))
}

// due goes through the heap from its root and no deeper than it has to.
func (in *index) due(until int64, limit int) []idem.IndexEntry {
	var found []*entry
	next := []int{0}
	for len(next) > 0 && len(found) < limit {
		// The soonest of those whose parents were taken.
		soonest := 0
		for i := range next {
			if next[i] < len(in.order) && in.order[next[i]].due < in.order[next[soonest]].due {
				soonest = i
			}
		}
		at := next[soonest]
		next = slices.Delete(next, soonest, soonest+1)
		if at >= len(in.order) || in.order[at].due > until {
			continue
		}
		found = append(found, in.order[at])
		for _, child := range [2]int{2*at + 1, 2*at + 2} {
			if child < len(in.order) {
				next = append(next, child)
			}
		}
	}
	list := make([]idem.IndexEntry, len(found))
	for i, e := range found {
		list[i] = idem.IndexEntry{Name: e.name, Due: time.UnixMicro(e.due)}
	}
	return list
}

// entryHeap is a heap that knows where each entry stands.
type entryHeap []*entry

func (h entryHeap) Len() int           { return len(h) }
func (h entryHeap) Less(i, j int) bool { return h[i].due < h[j].due }
func (h entryHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push and Pop are for package container/heap.
func (h *entryHeap) Push(x any) {
	e := x.(*entry)
	e.place = len(*h)
	*h = append(*h, e)
}

// Pop takes the last one off.
func (h *entryHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return e
}
