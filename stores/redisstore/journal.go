package redisstore

import (
	"context"
	"errors"
	"fmt"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/broken"
)

// A journal is a Redis stream: one key, in one slot of a Cluster. Records lie in
// all of them. So an entry rides behind its operation where there is one server, in
// the same write on the same connection, and costs no round trip; in a Cluster and
// through a Twemproxy it is written beside, by whoever holds the event.

// entryScript appends what follows ARGV[2] to the stream KEYS[2], if the value
// under KEYS[1] begins with ARGV[1]: then the operation ahead of it did its work,
// and nobody else has written since. Commands of other clients may come between
// the two, so that a swap which somebody overtook at once goes unwritten here;
// the reply says so.
var entryScript = newScript(`if redis.call('GETRANGE', KEYS[1], 0, #ARGV[1] - 1) ~= ARGV[1] then return 0 end
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[2], '*', unpack(ARGV, 3))
return 1`)

// blindScript is entryScript as it must not be: it appends whatever became of the
// operation.
var blindScript = newScript(`redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[2], '*', unpack(ARGV, 3))
return 1`)

// Journals says whether entries ride with their operations: see
// [idem.Journaler].
func (s *Store) Journals() bool { return s.cluster == nil && !s.options.Twemproxy }

// rides tells whether an operation has an entry that leaves with it.
func (s *Store) rides(op *idem.Op) bool {
	return op.Entry != nil && op.Kind != idem.OpLoad && s.Journals()
}

// entryWords is the command that appends an operation's entry, by a form of EVAL.
func entryWords(op *idem.Op, how, what string) []any {
	prefix := op.Value[:min(max(op.Entry.Prefix, 0), len(op.Value))]
	words := append(make([]any, 0, 7+len(op.Entry.Fields)), how, what, "2", op.Name, op.Entry.Journal, prefix, op.Entry.Max)
	for _, f := range op.Entry.Fields {
		words = append(words, f)
	}
	return words
}

func entryScriptNow() script {
	if broken.Is(broken.AuditRidesBlindly) {
		return blindScript
	}
	return entryScript
}

// appended tells whether t answers an entry that was appended. Whatever is not known
// to have been done is for others to do again.
func (t told) appended() bool { return t.err == nil && t.kind == integer && t.n == 1 }

// Append appends entries to a journal, in one round trip, and has the server keep
// about max of them. It is for entries that did not ride with an operation; on an
// error some of them may have been appended.
func (s *Store) Append(ctx context.Context, journal string, max int64, entries [][]string) error {
	if len(entries) == 0 {
		return nil
	}
	ctx = s.bound(ctx)
	if _, err := s.fit(ctx); err != nil {
		return err
	}
	cmds := make([][]any, len(entries))
	for i, fields := range entries {
		cmds[i] = []any{"XADD", journal, "MAXLEN", "~", max, "*"}
		for _, f := range fields {
			cmds[i] = append(cmds[i], f)
		}
	}
	answers, err := s.run(ctx, journal, cmds...)
	if err != nil {
		return err
	}
	var failed error
	for _, t := range answers {
		if t.err == nil && t.kind != bulk {
			t.err = t.unexpected("XADD")
		}
		failed = errors.Join(failed, t.err)
	}
	if failed != nil {
		return fmt.Errorf("redisstore: journal entries: %w", failed)
	}
	return nil
}
