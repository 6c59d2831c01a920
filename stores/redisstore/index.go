package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/broken"
)

// An index is a sorted set under a name of its own: a member for each record, its
// score the microsecond at which it is due. Doubles tell whole microseconds apart
// until the year 2255. In a Cluster an index lies on one node, wherever its
// records lie; no command touches both.

// Indexed sends the entry and op in one write on one connection, the entry
// first; in a Cluster, and through a Twemproxy, side by side. It returns an error where the outcome of
// either is unknown, or the entry was refused.
func (s *Store) Indexed(ctx context.Context, index string, e idem.IndexEntry, ttl time.Duration, op idem.Op) (idem.Result, error) {
	if err := errors.Join(admit(&op), admitEntry(index, e, ttl)); err != nil {
		return idem.Result{}, err
	}
	ctx = s.bound(ctx)
	seen, err := s.fit(ctx)
	if err != nil {
		return idem.Result{}, err
	}
	if s.cluster != nil || s.options.Twemproxy {
		return s.indexedBeside(ctx, index, e, ttl, op)
	}
	x := newExchange()
	entry := entryCommands(index, []idem.IndexEntry{e}, ttl)
	for _, words := range entry {
		x.add(ctx, words...)
	}
	s.put(ctx, x, seen, &op)
	node, err := s.send(ctx, op.Name, x)
	if err != nil {
		return idem.Result{}, err
	}
	for i := range entry {
		if err := heardEntry(s.heard(ctx, node, x, i)); err != nil && !broken.Is(broken.S9EntryUnheard) {
			x.free()
			return idem.Result{}, err
		}
	}
	return s.outcome(ctx, node, x, len(entry), &op)
}

// indexedBeside adds the entry and does op at the same time, and waits for both.
func (s *Store) indexedBeside(ctx context.Context, index string, e idem.IndexEntry, ttl time.Duration, op idem.Op) (idem.Result, error) {
	var beside sync.WaitGroup
	var unheard error
	beside.Go(func() { unheard = s.Index(ctx, index, []idem.IndexEntry{e}, ttl) })
	r, err := s.one(ctx, &op)
	beside.Wait()
	if err == nil && unheard != nil && !broken.Is(broken.S9EntryUnheard) {
		return idem.Result{}, unheard
	}
	return r, err
}

// Index adds entries, each where the index has none for its record. One round
// trip.
func (s *Store) Index(ctx context.Context, index string, entries []idem.IndexEntry, ttl time.Duration) error {
	if len(entries) == 0 {
		return nil
	}
	for _, e := range entries {
		if err := admitEntry(index, e, ttl); err != nil {
			return err
		}
	}
	ctx = s.bound(ctx)
	if _, err := s.fit(ctx); err != nil {
		return err
	}
	answers, err := s.run(ctx, index, entryCommands(index, entries, ttl)...)
	if err != nil {
		return err
	}
	for _, a := range answers {
		if err := heardEntry(a); err != nil {
			return err
		}
	}
	return nil
}

// entryCommands add entries, let go of those that nobody followed, and give the
// index its time to live.
func entryCommands(index string, entries []idem.IndexEntry, ttl time.Duration) [][]any {
	words := []any{"ZADD", index, "NX"}
	first := entries[0].Due
	for _, e := range entries {
		words = append(words, score(e.Due), e.Name)
		if e.Due.Before(first) {
			first = e.Due
		}
	}
	return [][]any{
		words,
		{"ZREMRANGEBYSCORE", index, "-inf", "(" + score(first.Add(-ttl))},
		{"PEXPIRE", index, millis(ttl)},
	}
}

// heardEntry reads the reply to one of entryCommands: each answers by a number.
func heardEntry(t told) error {
	if t.err == nil && t.kind != integer {
		t.err = t.unexpected("an index command")
	}
	if t.err != nil {
		return fmt.Errorf("the entry of a claim: %w", t.err)
	}
	return nil
}

func admitEntry(index string, e idem.IndexEntry, ttl time.Duration) error {
	return errors.Join(admit(&idem.Op{Kind: idem.OpCreate, Name: index, TTL: ttl}), admit(&idem.Op{Kind: idem.OpCreate, Name: e.Name, TTL: ttl}))
}

// Entries returns the entries due at until or before, the first due first, at
// most limit. One round trip.
func (s *Store) Entries(ctx context.Context, index string, until time.Time, limit int) ([]idem.IndexEntry, error) {
	ctx = s.bound(ctx)
	if _, err := s.fit(ctx); err != nil {
		return nil, err
	}
	r, err := s.call(ctx, index, "ZRANGEBYSCORE", index, "-inf", score(until), "WITHSCORES", "LIMIT", 0, limit)
	if err != nil {
		return nil, err
	}
	if r.kind != array || len(r.items)%2 != 0 {
		return nil, r.unexpected("ZRANGEBYSCORE")
	}
	list := make([]idem.IndexEntry, 0, len(r.items)/2)
	for i := 0; i < len(r.items); i += 2 {
		due, err := strconv.ParseFloat(string(r.items[i+1].text), 64)
		if err != nil {
			return nil, fmt.Errorf("redisstore: an index has a score that is no number: %w", err)
		}
		list = append(list, idem.IndexEntry{Name: string(r.items[i].text), Due: time.UnixMicro(int64(due))})
	}
	return list, nil
}

// reindexScript makes moves: of each the member, its score now ("" where it must
// be new), its score from now on ("" where it goes).
var reindexScript = newScript(`if redis.call('EXISTS', KEYS[1]) == 0 then return 1 end
for i = 1, #ARGV, 3 do
  local there = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if ARGV[i + 1] == '' then
    if not there then redis.call('ZADD', KEYS[1], ARGV[i + 2], ARGV[i]) end
  elseif there and tonumber(there) == tonumber(ARGV[i + 1]) then
    if ARGV[i + 2] == '' then redis.call('ZREM', KEYS[1], ARGV[i])
    else redis.call('ZADD', KEYS[1], ARGV[i + 2], ARGV[i]) end
  end
end
return 1`)

// movesAtOnce bounds how long one script keeps the server to itself.
const movesAtOnce = 200

// Reindex makes moves, some hundred in a round trip.
func (s *Store) Reindex(ctx context.Context, index string, moves []idem.IndexMove) error {
	ctx = s.bound(ctx)
	if _, err := s.fit(ctx); err != nil {
		return err
	}
	for len(moves) > 0 {
		n := min(len(moves), movesAtOnce)
		argv := make([]any, 0, 3*n)
		for _, m := range moves[:n] {
			argv = append(argv, m.Name, score(m.Was), score(m.Due))
		}
		if err := s.reindex(ctx, index, argv); err != nil {
			return err
		}
		moves = moves[n:]
	}
	return nil
}

func (s *Store) reindex(ctx context.Context, index string, argv []any) error {
	r, err := s.call(ctx, index, append([]any{"EVALSHA", reindexScript.sha, "1", index}, argv...)...)
	if err == nil && r.kind == failure && code(r.text) == "NOSCRIPT" {
		r, err = s.call(ctx, index, append([]any{"EVAL", reindexScript.text, "1", index}, argv...)...)
	}
	if err == nil && r.kind != integer {
		err = r.unexpected("a script")
	}
	return err
}

// score is a moment as a score; "" of none.
func score(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMicro(), 10)
}
