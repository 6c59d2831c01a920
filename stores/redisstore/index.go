package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/broken"
)

// An index is a sorted set under a name of its own: a member for each record, its
// score the microsecond at which it is due. Doubles tell whole microseconds apart
// until the year 2255. In a Cluster an index lies on one node, wherever its
// records lie; no command touches both.

// Indexed sends the entry and op in one write on one connection, the entry
// first; in a Cluster side by side. Where the server refuses op for a reason of
// its own (a script it does not know, a full memory, a redirect) it is made
// again alone, behind its entry. It returns an error where the outcome of either
// is unknown, or the entry was refused.
func (s *Store) Indexed(ctx context.Context, index string, e idem.IndexEntry, ttl time.Duration, op idem.Op) (idem.Result, error) {
	for _, name := range []string{index, e.Name} {
		if err := admit(name, nil, ttl); err != nil {
			return idem.Result{}, err
		}
	}
	if op.Kind != idem.OpLoad {
		if err := admit(op.Name, op.Value, op.TTL); err != nil {
			return idem.Result{}, err
		}
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	sight, err := s.fit(ctx)
	if err != nil {
		return idem.Result{}, err
	}
	claim := claimCommand(op, sight)
	if s.cluster != nil || claim == nil {
		return s.indexedBeside(ctx, index, e, ttl, op)
	}
	entry := entryCommands(index, e, ttl)
	cmds := make([]*redis.RawCmd, 0, len(entry)+1)
	for _, args := range append(entry, claim) {
		cmds = append(cmds, redis.NewRawCmd(ctx, args...))
	}
	whole := pipeline(ctx, s.single, cmds...)
	if err := heardEntry(cmds[:len(entry)], whole); err != nil && !broken.Is(broken.S9EntryUnheard) {
		return idem.Result{}, err
	}
	r, err := answer(cmds[len(entry)], whole)
	if err != nil {
		return idem.Result{}, err
	}
	if done, ok := toldByClaim(op, r); ok {
		return done, nil
	}
	return s.alone(ctx, op) // it was refused, so it was not made
}

// indexedBeside adds the entry and does op at the same time, and waits for both.
func (s *Store) indexedBeside(ctx context.Context, index string, e idem.IndexEntry, ttl time.Duration, op idem.Op) (idem.Result, error) {
	var beside sync.WaitGroup
	var refused error
	beside.Go(func() {
		for _, args := range entryCommands(index, e, ttl) {
			r, err := s.call(ctx, index, args)
			if err == nil && r.kind != integer {
				err = r.unexpected("an index command")
			}
			if err != nil {
				refused = err
				return
			}
		}
	})
	r, err := s.alone(ctx, op)
	beside.Wait()
	if err == nil && refused != nil && !broken.Is(broken.S9EntryUnheard) {
		return idem.Result{}, fmt.Errorf("redisstore: the entry of a claim: %w", refused)
	}
	return r, err
}

func (s *Store) alone(ctx context.Context, op idem.Op) (idem.Result, error) {
	switch op.Kind {
	case idem.OpCreate:
		return s.Create(ctx, op.Name, op.Value, op.TTL)
	case idem.OpSwap:
		return s.Swap(ctx, op.Name, op.Old, op.Value, op.TTL)
	}
	return s.Load(ctx, op.Name)
}

// entryCommands add an entry, let go of those that nobody followed, and give the
// index its time to live.
func entryCommands(index string, e idem.IndexEntry, ttl time.Duration) [][]any {
	return [][]any{
		{"ZADD", index, "NX", score(e.Due), e.Name},
		{"ZREMRANGEBYSCORE", index, "-inf", "(" + score(e.Due.Add(-ttl))},
		{"PEXPIRE", index, millis(ttl)},
	}
}

// heardEntry reads the replies of entryCommands.
func heardEntry(cmds []*redis.RawCmd, whole error) error {
	for _, cmd := range cmds {
		r, err := answer(cmd, whole)
		if err == nil && r.kind != integer {
			err = r.unexpected("an index command")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// claimCommand is the one command that makes op, nil where it is not one.
func claimCommand(op idem.Op, seen *sight) []any {
	switch {
	case op.Kind == idem.OpCreate && !seen.byScript && !broken.Is(broken.S9StoreLooksFirst):
		return []any{"SET", op.Name, op.Value, "NX", "GET", "PX", millis(op.TTL)}
	case op.Kind == idem.OpSwap:
		return []any{"EVALSHA", swapScript.sha, 1, op.Name, op.Old, op.Value, millis(op.TTL)}
	}
	return nil
}

// toldByClaim reads the reply to claimCommand; ok is false where it was refused.
func toldByClaim(op idem.Op, r reply) (told idem.Result, ok bool) {
	switch {
	case op.Kind == idem.OpCreate && r.kind == nothing, op.Kind == idem.OpSwap && r.kind == integer && r.n == 1:
		return idem.Result{Done: true}, true
	case op.Kind == idem.OpCreate && r.kind == bulk:
		return idem.Result{Value: r.text}, true
	case op.Kind == idem.OpSwap && r.kind == integer && r.n == 0:
		return idem.Result{}, true
	case op.Kind == idem.OpSwap && r.kind == array && len(r.items) == 2 && r.items[0].kind == bulk && r.items[1].kind == integer:
		return idem.Result{Value: r.items[0].text, Left: timeLeft(r.items[1].n)}, true
	}
	return idem.Result{}, false
}

// Entries returns the entries due at until or before, the first due first, at
// most limit. One round trip.
func (s *Store) Entries(ctx context.Context, index string, until time.Time, limit int) ([]idem.IndexEntry, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if _, err := s.fit(ctx); err != nil {
		return nil, err
	}
	r, err := s.call(ctx, index, []any{"ZRANGEBYSCORE", index, "-inf", score(until), "WITHSCORES", "LIMIT", 0, limit})
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
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if _, err := s.fit(ctx); err != nil {
		return err
	}
	for len(moves) > 0 {
		n := min(len(moves), movesAtOnce)
		argv := make([]any, 0, 3*n)
		for _, m := range moves[:n] {
			argv = append(argv, m.Name, score(m.Was), score(m.Due))
		}
		if _, err := s.eval(ctx, reindexScript, index, argv...); err != nil {
			return err
		}
		moves = moves[n:]
	}
	return nil
}

// score is a moment as a score; "" of none.
func score(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMicro(), 10)
}
