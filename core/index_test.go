package idem

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// indexShelf is a shelf with an index: it notes what comes to it, in order, and
// can refuse the entries of one index.
type indexShelf struct {
	*shelf
	came    []string
	entries map[string]IndexEntry
	life    time.Duration
	refuses string
}

func (s *indexShelf) Create(ctx context.Context, name string, value []byte, ttl time.Duration) (Result, error) {
	if !isCard(name) {
		s.came = append(s.came, "create")
	}
	return s.shelf.Create(ctx, name, value, ttl)
}

func (s *indexShelf) Index(_ context.Context, index string, entries []IndexEntry, ttl time.Duration) error {
	if index == s.refuses {
		return errShelf
	}
	s.came, s.life = append(s.came, fmt.Sprint("index ", len(entries))), ttl
	for _, e := range entries {
		s.entries[e.Name] = e
	}
	return nil
}

func (s *indexShelf) Indexed(ctx context.Context, index string, e IndexEntry, ttl time.Duration, op Op) (Result, error) {
	if err := s.Index(ctx, index, []IndexEntry{e}, ttl); err != nil {
		return Result{}, err
	}
	return op.on(ctx, s)
}

func (s *indexShelf) Entries(context.Context, string, time.Time, int) ([]IndexEntry, error) {
	return nil, nil
}

func (s *indexShelf) Reindex(context.Context, string, []IndexMove) error { return nil }

type deaf struct{}

func (deaf) Resolve(context.Context, Record) (Resolution, error) { return Resolution{}, nil }

func newIndexShelf() *indexShelf {
	return &indexShelf{shelf: newShelf(), entries: map[string]IndexEntry{}}
}

func withResolver(c *Config) { c.Resolvers = map[string]Resolver{testOperation: deaf{}} }

// A claim leaves an entry ahead of it where a reconciler follows it: with a
// resolver, and under Hold.
func TestS9_AClaimLeavesItsEntryAheadOfIt(t *testing.T) {
	for _, c := range []struct {
		name   string
		change []func(*Config)
		want   []string
	}{
		{"with a resolver", []func(*Config){withResolver}, []string{"index 1", "create"}},
		{"without one", nil, []string{"create"}},
		{"under Retake", []func(*Config){withResolver, policy(func(p *Policy) { p.OnCrash = Retake })}, []string{"create"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newIndexShelf()
			g := guardOn(t, s, c.change...)
			claim := won(t, g, testIntent("k"))
			if !slices.Equal(s.came, c.want) {
				t.Errorf("to the store came %q, want %q", s.came, c.want)
			}
			if e, is := s.entries[claim.id.name]; is {
				if due := claim.rec.begun().Add(2 * time.Second); !e.Due.Equal(due) || s.life < claim.rec.retention() {
					t.Errorf("due at %v, want two leases after its beginning, %v; kept for %v", e.Due, due, s.life)
				}
			}
			_ = claim.Release(t.Context())
			rec, _ := s.record(t)
			if kept := rec.scope.String(); (kept != "") != (len(c.change) > 0) || kept != "" && kept != g.ScopeHash("alice") {
				t.Errorf("the record keeps the scope %q", kept)
			}
		})
	}
}

// A claim whose entry is not known to be there is not won, and given back.
func TestS9_WithoutItsEntryAClaimIsNotWon(t *testing.T) {
	s := newIndexShelf()
	s.refuses = "idem:" + testOperation + ":index"
	g := guardOn(t, s, withResolver)
	c, err := g.Claim(t.Context(), testIntent("k"))
	if c.Won() || !errors.Is(err, ErrUnavailable) {
		t.Errorf("won %v, %v", c.Won(), err)
	}
}

// Of claims that leave together, the entries go ahead in one call for each
// index; where that fails, so do the claims of that index, and no others.
func TestApplyTakesEntriesAhead(t *testing.T) {
	s := newIndexShelf()
	s.refuses = "b"
	var ops []Op
	for i, index := range []string{"a", "b", "", "a"} {
		op := Op{Kind: OpCreate, Name: fmt.Sprint("r", i), Value: []byte("v"), TTL: time.Minute}
		if index != "" {
			op.index = &indexed{index, IndexEntry{Name: op.Name, Due: time.UnixMicro(1)}, time.Hour}
		}
		ops = append(ops, op)
	}
	results := Apply(t.Context(), s, ops)
	for i, fails := range []bool{false, true, false, false} {
		if r := results[i]; (r.Err != nil) != fails || r.Done == fails {
			t.Errorf("operation %d: %+v, want it to fail: %v", i, r, fails)
		}
	}
	if want := []string{"index 2", "create", "create", "create"}; !slices.Equal(s.came, want) {
		t.Errorf("to the store came %q, want %q", s.came, want)
	}
	for i := range ops {
		if (ops[i].index == nil) != (i == 2) {
			t.Error("the caller's operations were changed: asked again they would leave no entry")
		}
	}
}

// A record that keeps the hash of its scope reads as one that does not to whoever
// does not know of it, and back.
func TestARecordKeepsItsScopeHash(t *testing.T) {
	r := record{state: StateProcessing, note: []byte("n"), scope: scopeHash{1, 2, 3}}
	value := r.append(nil)
	got, err := decodeRecord(value)
	if err != nil || got.scope != r.scope || string(got.note) != "n" || len(value) != r.size() {
		t.Errorf("%+v, %v; %d bytes, said to be %d", got, err, len(value), r.size())
	}
}
