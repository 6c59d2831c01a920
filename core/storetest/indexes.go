package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	idem "github.com/go-idem/idem/core"
)

const anIndex = "idem:shop:order:create:index"

// aDay is a moment that no clock has to agree with: what is due is judged by
// those who ask.
var aDay = time.Date(2026, 3, 1, 12, 0, 0, 250_000, time.UTC)

var indexStatements = []statement{
	{says: "an index is kept where it is declared, and only there", holds: func(s *scene) {
		ctx, cancel := callContext()
		defer cancel()
		for _, h := range []idem.Store{s.here, s.there} {
			_, err := idem.Entries(ctx, h, anIndex, aDay, 10)
			s.declared("Indexer", s.Indexes, !errors.Is(err, idem.ErrUnable))
			err = idem.Reindex(ctx, h, anIndex, nil)
			s.declared("Indexer", s.Indexes, !errors.Is(err, idem.ErrUnable))
		}
	}},
	{says: "Indexed does its operation, on a store that keeps no index too", holds: func(s *scene) {
		if r := s.indexed("a", aDay, []byte("one"), s.unit*100); !r.Done {
			s.errorf("Indexed create on an empty name: %s, want Done", result(r))
		}
		if r := s.indexed("a", aDay, []byte("two"), s.unit*100); r.Done || string(r.Value) != "one" {
			s.errorf("Indexed create on a name that is taken: %s, want what is there", result(r))
		}
		ctx, cancel := callContext()
		defer cancel()
		swap := idem.Op{Kind: idem.OpSwap, Name: "a", Old: []byte("one"), Value: []byte("three"), TTL: s.unit * 100}
		r, err := idem.Indexed(ctx, s.there, anIndex, idem.IndexEntry{Name: "a", Due: aDay}, time.Hour, swap)
		if err != nil || !r.Done {
			s.errorf("Indexed swap: %s, %v; want Done", result(r), err)
		}
		r, err = idem.Indexed(ctx, s.there, anIndex, idem.IndexEntry{Name: "b", Due: aDay}, time.Hour, swapOf(swap, "b"))
		if err != nil || r.Done || r.Value != nil {
			s.errorf("Indexed swap of nothing: %s, %v; want the zero Result", result(r), err)
		}
	}},
	{says: "an entry is there when its operation is answered, whatever the answer", needs: needsIndex, holds: func(s *scene) {
		s.indexed("a", aDay, []byte("one"), s.unit*100)
		s.created("b", []byte("there"), s.unit*100)
		s.indexed("b", aDay.Add(time.Second), []byte("two"), s.unit*100)
		s.lists(aDay.Add(time.Minute), 10, "a", "b")
	}},
	{says: "entries are listed up to a moment, the first due first, no more than asked for", needs: needsIndex, holds: func(s *scene) {
		var moves []idem.IndexMove
		s.indexed("r0", aDay, []byte("v"), s.unit*100)
		for i := 39; i > 0; i-- {
			moves = append(moves, idem.IndexMove{Name: fmt.Sprint("r", i), Due: aDay.Add(time.Duration(i) * time.Microsecond)})
		}
		s.reindex(moves...)
		s.lists(aDay.Add(-time.Microsecond), 10)
		s.lists(aDay, 10, "r0")
		s.lists(aDay.Add(2*time.Microsecond), 10, "r0", "r1", "r2")
		s.lists(aDay.Add(time.Hour), 4, "r0", "r1", "r2", "r3")
		if all := s.entries(aDay.Add(time.Hour), 100); len(all) != 40 || !slices.IsSortedFunc(all, byDue) {
			s.errorf("of 40 entries %d were listed, in order of time: %v", len(all), slices.IsSortedFunc(all, byDue))
		}
	}},
	{says: "Index adds many entries, each where there is none", needs: needsIndex, holds: func(s *scene) {
		s.indexed("b", aDay, []byte("one"), s.unit*100)
		ctx, cancel := callContext()
		defer cancel()
		list := []idem.IndexEntry{{Name: "a", Due: aDay.Add(time.Hour)}, {Name: "b", Due: aDay.Add(time.Hour)}, {Name: "c", Due: aDay.Add(time.Minute)}}
		if err := idem.Index(ctx, s.there, anIndex, list, indexLife); err != nil {
			s.errorf("Index: %v", err)
		}
		if err := idem.Index(ctx, s.there, anIndex, nil, indexLife); err != nil {
			s.errorf("Index of nothing: %v", err)
		}
		s.lists(aDay.Add(time.Hour), 10, "b", "c", "a")
	}},
	{says: "an entry that is there stays as it is", needs: needsIndex, holds: func(s *scene) {
		s.indexed("a", aDay, []byte("one"), s.unit*100)
		s.indexed("a", aDay.Add(time.Hour), []byte("two"), s.unit*100)
		s.reindex(idem.IndexMove{Name: "a", Due: aDay.Add(2 * time.Hour)})
		if got := s.entries(aDay.Add(time.Minute), 10); len(got) != 1 || !got[0].Due.Equal(aDay) {
			s.errorf("a refused claim moved the entry: %v, want it due at %v", got, aDay)
		}
	}},
	{says: "a move is made from exactly where the entry is, to the microsecond", needs: needsIndex, holds: func(s *scene) {
		for i, name := range []string{"a", "b", "c"} {
			s.indexed(name, aDay.Add(time.Duration(i)*time.Microsecond), []byte("v"), s.unit*100)
		}
		s.reindex(
			idem.IndexMove{Name: "a", Was: aDay.Add(time.Microsecond)}, // elsewhere by a microsecond
			idem.IndexMove{Name: "b", Was: aDay.Add(time.Microsecond)},
			idem.IndexMove{Name: "c", Was: aDay.Add(2 * time.Microsecond), Due: aDay.Add(-time.Hour)},
			idem.IndexMove{Name: "nobody", Was: aDay, Due: aDay.Add(time.Hour)},
		)
		s.lists(aDay.Add(2*time.Hour), 10, "c", "a")
	}},
	{says: "entries that nobody followed for their ttl go with the next one", needs: needsIndex, holds: func(s *scene) {
		s.indexed("old", aDay, []byte("v"), s.unit*100)
		s.indexed("kept", aDay.Add(time.Second), []byte("v"), s.unit*100)
		s.indexed("new", aDay.Add(indexLife+time.Second), []byte("v"), s.unit*100)
		s.lists(aDay.Add(2*indexLife), 10, "kept", "new")
	}},
	{says: "an index is gone a ttl after its last claim", needs: func(f Factory, b *Backend) string {
		if why := needsIndex(f, b); why != "" {
			return why
		}
		return needsAdvance(f, b)
	}, holds: func(s *scene) {
		s.indexed("a", aDay, []byte("v"), s.unit)
		s.pass(indexLife - time.Minute)
		s.indexed("b", aDay, []byte("v"), s.unit)
		s.pass(indexLife - time.Minute)
		s.lists(aDay, 10, "a", "b")
		s.pass(2 * time.Minute)
		s.lists(aDay, 10)
		s.reindex(idem.IndexMove{Name: "c", Due: aDay})
		s.lists(aDay, 10)
	}},
	{says: "indexes are kept apart, and from records", needs: needsIndex, holds: func(s *scene) {
		s.indexed("a", aDay, []byte("v"), s.unit*100)
		ctx, cancel := callContext()
		defer cancel()
		if got, err := idem.Entries(ctx, s.here, anIndex+"2", aDay.Add(time.Hour), 10); err != nil || len(got) > 0 {
			s.errorf("another index has %v, %v", got, err)
		}
		s.reindex(idem.IndexMove{Name: "a", Was: aDay})
		if r, _, _ := s.load(s.there, "a"); string(r.Value) != "v" {
			s.errorf("taking an entry out left %s of the record", result(r))
		}
	}},
}

// indexLife is the ttl of every index of these statements.
const indexLife = 24 * time.Hour

func swapOf(op idem.Op, name string) idem.Op {
	op.Name = name
	return op
}

func byDue(a, b idem.IndexEntry) int { return a.Due.Compare(b.Due) }

// indexed creates a record by the first handle, with an entry.
func (s *scene) indexed(name string, due time.Time, value []byte, ttl time.Duration) idem.Result {
	ctx, cancel := callContext()
	defer cancel()
	op := idem.Op{Kind: idem.OpCreate, Name: name, Value: value, TTL: ttl}
	r, err := idem.Indexed(ctx, s.here, anIndex, idem.IndexEntry{Name: name, Due: due}, indexLife, op)
	if err != nil {
		s.fatalf("Indexed: %v", err)
	}
	return r
}

func (s *scene) entries(until time.Time, limit int) []idem.IndexEntry {
	ctx, cancel := callContext()
	defer cancel()
	list, err := idem.Entries(ctx, s.there, anIndex, until, limit)
	if err != nil {
		s.fatalf("Entries: %v", err)
	}
	return list
}

func (s *scene) reindex(moves ...idem.IndexMove) {
	ctx, cancel := callContext()
	defer cancel()
	if err := idem.Reindex(ctx, s.there, anIndex, moves); err != nil {
		s.fatalf("Reindex: %v", err)
	}
}

// lists says which records are due at a moment.
func (s *scene) lists(until time.Time, limit int, want ...string) {
	var got []string
	for _, e := range s.entries(until, limit) {
		got = append(got, e.Name)
	}
	if !slices.Equal(got, want) {
		s.errorf("due until %v, at most %d: %v, want %v", until.Sub(aDay), limit, got, want)
	}
}

func needsIndex(f Factory, _ *Backend) string {
	if !f.Indexes {
		return "the store declares no index"
	}
	return ""
}

var scanStatements = []statement{
	{says: "a store can be walked where it is declared, and only there", holds: func(s *scene) {
		ctx, cancel := callContext()
		defer cancel()
		for _, h := range []idem.Store{s.here, s.there} {
			_, err := idem.Scan(ctx, h, "", "", 10)
			s.declared("Scanner", s.Scans, !errors.Is(err, idem.ErrUnable))
		}
	}},
	{says: "a walk tells every record that is there all the time, and no other prefix", needs: needsScan, holds: func(s *scene) {
		want := map[string]bool{}
		for i := range 300 {
			prefix := "idem*:"
			if i%3 == 0 {
				prefix = "idem?[:"
			}
			name := fmt.Sprintf("%sshop:order:%03d", prefix, i)
			s.created(name, []byte("v"), s.unit*100)
			if prefix == "idem*:" {
				want[name] = true
			}
		}
		pages := s.walk("idem*:", 20, want, func(page int) {
			s.created(fmt.Sprintf("idem*:new:%d", page), []byte("v"), s.unit*100)
		})
		if pages < 2 && !s.OnePage {
			s.errorf("300 records came on %d pages of about 20", pages)
		}
	}},
	{says: "a walk over nothing ends", needs: needsScan, holds: func(s *scene) {
		s.walk("idem:", 10, nil, func(int) {})
	}},
	{says: "a walk tells no index", needs: func(f Factory, b *Backend) string {
		if why := needsScan(f, b); why != "" {
			return why
		}
		return needsIndex(f, b)
	}, holds: func(s *scene) {
		s.indexed("idem:shop:order:create:a", aDay, []byte("v"), s.unit*100)
		s.walk("", 10, map[string]bool{"idem:shop:order:create:a": true}, func(int) {})
	}},
	{says: "a cursor that the store did not give is an error", needs: needsScan, holds: func(s *scene) {
		ctx, cancel := callContext()
		defer cancel()
		if _, err := idem.Scan(ctx, s.here, "", "no cursor of yours", 10); err == nil {
			s.errorf("a cursor that is none was followed")
		}
	}},
}

// walk goes through a prefix to the end, and compares what it was told with what
// has to be told; between is called after each page but the last. It returns how
// many pages there were.
func (s *scene) walk(prefix string, limit int, want map[string]bool, between func(page int)) (pages int) {
	told := map[string]bool{}
	for cursor := ""; ; {
		ctx, cancel := callContext()
		page, err := idem.Scan(ctx, s.there, prefix, cursor, limit)
		cancel()
		if err != nil {
			s.fatalf("Scan: %v", err)
		}
		if pages++; len(page.Names) > 10*limit && !s.OnePage {
			s.errorf("a page of about %d had %d names", limit, len(page.Names))
		}
		for _, name := range page.Names {
			told[name] = true
			if !strings.HasPrefix(name, prefix) || strings.HasSuffix(name, ":index") {
				s.errorf("told %q, which is no record under %q", name, prefix)
			}
		}
		if cursor = page.Next; cursor == "" {
			break
		}
		if between(pages); pages > 2000 {
			s.fatalf("the walk does not end")
		}
	}
	for name := range want {
		if !told[name] {
			s.errorf("%q was there all the time and not told", name)
		}
	}
	return pages
}

func needsScan(f Factory, _ *Backend) string {
	if !f.Scans {
		return "the store declares that it cannot be walked"
	}
	return ""
}
