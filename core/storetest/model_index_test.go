package storetest_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/storetest"
)

const (
	entryMoves      flaw = "a claim that is refused moves the entry that is there"
	entryOfWinners  flaw = "only a claim that is won leaves an entry"
	entryMillis     flaw = "an entry is due in whole milliseconds"
	movesBlindly    flaw = "a move does not look where the entry is"
	entriesUnsorted flaw = "entries are listed by name"
	entriesUnended  flaw = "all entries are listed"
	entriesForever  flaw = "entries that nobody followed stay"
	indexForever    flaw = "an index has no time to live"
	indexRevived    flaw = "Reindex makes an index"
	indexesShared   flaw = "there is one index"
	indexStopsAtOne flaw = "of many entries the first is added"
	walkSkips       flaw = "a page leaves out its last name"
	walkGlobs       flaw = "the prefix is taken for a pattern"
	walkTellsIndex  flaw = "a walk tells indexes"
	walkAnyCursor   flaw = "a cursor that is none begins anew"
)

// indexModel is the plainest store with an index and a walk.
type indexModel struct {
	*model
	indexes map[string]map[string]int64
	ends    map[string]time.Time
}

func newIndexModel(f flaw) *indexModel {
	return &indexModel{newModel(f, 1<<30), map[string]map[string]int64{}, map[string]time.Time{}}
}

func indexFactory(f flaw) storetest.Factory {
	made := factory(f)
	made.Indexes, made.Scans, made.Small = true, true, nil
	made.New = func() (*storetest.Backend, error) {
		m := newIndexModel(f)
		return &storetest.Backend{Open: func() (idem.Store, error) { return m, nil }, Advance: m.advance}, nil
	}
	return made
}

// at is an index, nil where it is not there. m.mu is held.
func (m *indexModel) at(index string) map[string]int64 {
	if m.flaw == indexesShared {
		index = "one"
	}
	if !m.now.Before(m.ends[index]) && m.flaw != indexForever {
		delete(m.indexes, index)
	}
	return m.indexes[index]
}

func (m *indexModel) Index(_ context.Context, index string, entries []idem.IndexEntry, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.flaw == indexesShared {
		index = "one"
	}
	there := m.at(index)
	if there == nil {
		there = map[string]int64{}
		m.indexes[index] = there
	}
	m.ends[index] = m.now.Add(ttl)
	for i, e := range entries {
		if i > 0 && m.flaw == indexStopsAtOne {
			break
		}
		due := e.Due.UnixMicro()
		if m.flaw == entryMillis {
			due -= due % 1000
		}
		if m.flaw != entriesForever {
			maps.DeleteFunc(there, func(_ string, d int64) bool { return d < e.Due.Add(-ttl).UnixMicro() })
		}
		if _, is := there[e.Name]; !is || m.flaw == entryMoves {
			there[e.Name] = due
		}
	}
	return nil
}

func (m *indexModel) Indexed(ctx context.Context, index string, e idem.IndexEntry, ttl time.Duration, op idem.Op) (idem.Result, error) {
	do := func() (idem.Result, error) {
		if op.Kind == idem.OpCreate {
			return m.Create(ctx, op.Name, op.Value, op.TTL)
		}
		return m.Swap(ctx, op.Name, op.Old, op.Value, op.TTL)
	}
	if m.flaw == entryOfWinners {
		r, err := do()
		if err == nil && r.Done {
			err = m.Index(ctx, index, []idem.IndexEntry{e}, ttl)
		}
		return r, err
	}
	if err := m.Index(ctx, index, []idem.IndexEntry{e}, ttl); err != nil {
		return idem.Result{}, err
	}
	return do()
}

func (m *indexModel) Entries(_ context.Context, index string, until time.Time, limit int) (list []idem.IndexEntry, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, due := range m.at(index) {
		if due <= until.UnixMicro() || m.flaw == entriesUnended {
			list = append(list, idem.IndexEntry{Name: name, Due: time.UnixMicro(due)})
		}
	}
	slices.SortFunc(list, func(a, b idem.IndexEntry) int {
		if m.flaw == entriesUnsorted {
			return strings.Compare(b.Name, a.Name)
		}
		return cmp.Or(a.Due.Compare(b.Due), strings.Compare(a.Name, b.Name))
	})
	return list[:min(len(list), limit)], nil
}

func (m *indexModel) Reindex(_ context.Context, index string, moves []idem.IndexMove) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	there := m.at(index)
	if there == nil && m.flaw == indexRevived {
		there = map[string]int64{}
		m.indexes[index], m.ends[index] = there, m.now.Add(time.Hour)
	}
	if there == nil {
		return nil
	}
	for _, move := range moves {
		due, is := there[move.Name]
		switch {
		case move.Was.IsZero() && is, !move.Was.IsZero() && !is:
		case is && due != move.Was.UnixMicro() && m.flaw != movesBlindly:
		case move.Due.IsZero():
			delete(there, move.Name)
		default:
			there[move.Name] = move.Due.UnixMicro()
		}
	}
	return nil
}

func (m *indexModel) Scan(_ context.Context, prefix, cursor string, limit int) (page idem.Page, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if cursor != "" && !strings.HasPrefix(cursor, "after ") {
		if m.flaw != walkAnyCursor {
			return page, errors.New("no cursor of this store")
		}
		cursor = ""
	}
	names := slices.Sorted(maps.Keys(m.items))
	if m.flaw == walkTellsIndex {
		names = append(names, slices.Sorted(maps.Keys(m.indexes))...)
	}
	if m.flaw == walkGlobs {
		prefix, _, _ = strings.Cut(prefix, "*")
	}
	after, _ := strconv.Unquote(strings.TrimPrefix(cursor, "after "))
	for _, name := range names {
		if !strings.HasPrefix(name, prefix) || name <= after {
			continue
		}
		if len(page.Names) == limit {
			page.Next = "after " + strconv.Quote(page.Names[limit-1])
			break
		}
		page.Names = append(page.Names, name)
	}
	if n := len(page.Names); m.flaw == walkSkips && n > 1 {
		page.Names = page.Names[:n-1]
	}
	return page, nil
}

func TestIndexesAndWalksThatKeepTheContractPass(t *testing.T) {
	storetest.Run(t, indexFactory(flawless))
}

func TestEveryFlawOfIndexesAndWalksIsFoundOut(t *testing.T) {
	for f, sentence := range map[flaw]string{
		entryMoves:      "an entry that is there stays as it is",
		entryOfWinners:  "an entry is there when its operation is answered",
		entryMillis:     "a move is made from exactly where the entry is",
		movesBlindly:    "a move is made from exactly where the entry is",
		entriesUnsorted: "entries are listed up to a moment",
		entriesUnended:  "entries are listed up to a moment",
		entriesForever:  "entries that nobody followed",
		indexForever:    "an index is gone a ttl after its last claim",
		indexRevived:    "an index is gone a ttl after its last claim",
		indexesShared:   "indexes are kept apart",
		indexStopsAtOne: "Index adds many entries",
		walkSkips:       "a walk tells every record",
		walkGlobs:       "a walk tells every record",
		walkTellsIndex:  "a walk tells no index",
		walkAnyCursor:   "a cursor that the store did not give",
	} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			if failures := storetest.Check(indexFactory(f), sentence); len(failures) != 1 {
				t.Fatalf("wrong as it is, the store keeps the sentence %q; failures: %v", sentence, failures)
			}
		})
	}
	for sentence, change := range map[string]func(*storetest.Factory){
		"an index is kept where it is declared":        func(f *storetest.Factory) { f.Indexes = false },
		"a store can be walked where it is declared":   func(f *storetest.Factory) { f.Scans = false },
		"an index is kept where it is declared, and o": func(f *storetest.Factory) { f.New = bare(f.New) },
	} {
		f := indexFactory(flawless)
		change(&f)
		if failures := storetest.Check(f, sentence); len(failures) != 1 {
			t.Errorf("a wrong declaration went through %q: %v", sentence, failures)
		}
	}
}
