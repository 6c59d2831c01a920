package redisstore

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/broken"
)

// A server that was restarted, flushed or promoted knows no script, and refuses
// every operation that names one. What it refused it has not made, so all of it is
// sent again, by the text, which the server then remembers. What left together
// leaves together again: a batch costs one exchange more and not one for each of
// its operations, with a WAIT behind each.

// errRefused is what an operation came to that a server refused for the form in
// which it was sent, and has not made.
var errRefused = errors.New("redisstore: the server does not know the command in this form")

// unmade says what of an operation was refused so.
type unmade uint8

const (
	unmadeOp    unmade = 1 << iota // the operation itself
	unmadeEntry                    // the entry that rode behind it
)

// repeat is an operation to be sent again.
type repeat struct {
	op     *idem.Op
	what   unmade
	result *idem.OpResult
}

// again sends by their text what a node refused, all in one exchange, and fills in
// what came of it.
func (s *Store) again(ctx context.Context, node *redis.Client, repeats []repeat) {
	if len(repeats) > 1 && broken.Is(broken.S9RefusedOneByOne) {
		for i := range repeats {
			s.again(ctx, node, repeats[i:i+1])
		}
		return
	}
	x := newExchange()
	for _, r := range repeats {
		if r.what&unmadeOp != 0 {
			sync := s.waits(ctx, r.op)
			x.add(ctx, s.textWords(r.op, sync)...)
			x.sync, x.cmds[len(x.cmds)-1].sync = x.sync || sync, sync
		}
		if r.what&unmadeEntry != 0 {
			x.add(ctx, entryWords(r.op, "EVAL", entryScriptNow().text)...)
		}
	}
	if err := s.lane(node).send(ctx, node, x); err != nil {
		for _, r := range repeats {
			if r.what&unmadeOp != 0 {
				*r.result = idem.OpResult{Err: err}
			}
		}
		return
	}
	at := 0
	for _, r := range repeats {
		if r.what&unmadeOp != 0 {
			t := s.heard(ctx, node, x, at)
			journaled := r.result.Journaled
			r.result.Result, r.result.Err = s.scripted(ctx, t, r.op)
			if errors.Is(r.result.Err, errRefused) {
				r.result.Err = refusal(t.text) // by its text, too
			}
			r.result.Journaled = journaled && r.result.Err == nil
			at++
		}
		if r.what&unmadeEntry != 0 {
			r.result.Journaled = s.heard(ctx, node, x, at).appended() && r.result.Err == nil
			at++
		}
	}
	x.free()
}

// oneAgain is again for an operation that was sent alone.
func (s *Store) oneAgain(ctx context.Context, node *redis.Client, op *idem.Op, what unmade, r idem.Result) (idem.Result, error) {
	result := idem.OpResult{Result: r}
	s.again(ctx, node, []repeat{{op, what, &result}})
	return result.Result, result.Err
}

// textWords is the command that makes an operation by the text of its script.
func (s *Store) textWords(op *idem.Op, sync bool) []any {
	words := []any{"EVAL", scriptFor(op, sync).text, "1", op.Name}
	if op.Kind == idem.OpSwap {
		words = append(words, op.Old)
	}
	words = append(words, op.Value, millis(op.TTL))
	if s.wakes(op) {
		words = append(words, wakeWord)
	}
	return words
}
