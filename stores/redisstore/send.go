package redisstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"
)

// Commands go to one node's client and never through the driver's cluster client,
// which sends a command again by itself when a connection breaks, and whose
// pipelines report as lost what was done. A redirect is another thing: a node that
// redirects has refused the command, so following is no repeat.

// told is the answer to one of several commands. With err set its outcome is
// unknown, whatever became of the others.
type told struct {
	reply
	err  error
	wait *command // of a claim that waits: the WAIT behind it on the same connection
}

// noScript tells whether it was refused because the server does not know the script.
func (t told) noScript() bool {
	return t.err == nil && t.kind == failure && code(t.text) == "NOSCRIPT"
}

// run sends commands that concern one name to the node that has it, in order and
// in one write, together with what others send there at the time, and returns the
// answer to each. An error means that nothing at all is known of any; it matches
// ErrNotSent if none was sent. A command that a Cluster redirects, or a replica
// refuses, is sent on alone, after the others were answered.
func (s *Store) run(ctx context.Context, name string, cmds ...[]any) ([]told, error) {
	x := newExchange()
	for _, words := range cmds {
		x.add(ctx, words...)
	}
	node, err := s.send(ctx, name, x)
	if err != nil {
		return nil, err
	}
	defer x.free()
	answers := make([]told, len(cmds))
	for i := range answers {
		answers[i] = s.heard(ctx, node, x, i)
	}
	return answers, nil
}

// call is run for one command. An error means that no reply was read: the outcome
// is unknown. A refusal is a reply.
func (s *Store) call(ctx context.Context, name string, words ...any) (reply, error) {
	x := newExchange()
	x.add(ctx, words...)
	node, err := s.send(ctx, name, x)
	if err != nil {
		return reply{}, err
	}
	defer x.free()
	t := s.heard(ctx, node, x, 0)
	return t.reply, t.err
}

// send sends an exchange to the node that has a name and returns that node. With
// an error the exchange is gone; else it is the caller's to read and to free.
func (s *Store) send(ctx context.Context, name string, x *exchange) (*redis.Client, error) {
	node, err := s.node(ctx, name)
	if err != nil {
		x.free()
		return nil, err
	}
	return node, s.lane(node).send(ctx, node, x)
}

// heard returns the answer to a command of an exchange that came back, after
// dealing with a node that refused it.
func (s *Store) heard(ctx context.Context, node *redis.Client, x *exchange, i int) told {
	t := told{wait: x.cmds[i].wait}
	t.reply, t.err = x.reply(i)
	if t.err != nil {
		s.lookAround(ctx)
		return t
	}
	if t.kind != failure {
		return t
	}
	return s.follow(ctx, node, x.cmds[i].Args(), x.cmds[i].sync, t)
}

// lookAround has the driver read anew which node has what, in its own time, for the
// calls to come: a node that does not answer may have been replaced.
func (s *Store) lookAround(ctx context.Context) {
	if s.cluster != nil {
		s.cluster.ReloadState(ctx)
	}
}

// lane returns the way to a node.
func (s *Store) lane(node *redis.Client) *lane {
	addr := node.Options().Addr
	if l, ok := s.lanes.Load(addr); ok {
		return l.(*lane)
	}
	l, _ := s.lanes.LoadOrStore(addr, &lane{
		pipelines: s.options.Pipelines, size: s.options.PipelineSize, crowd: maxWaiting,
		wait: s.options.WaitReplicas.words(), flushed: s.options.OnFlush,
	})
	return l.(*lane)
}

// node returns the client of the node that has a name.
func (s *Store) node(ctx context.Context, name string) (*redis.Client, error) {
	if s.cluster == nil {
		return s.single, nil
	}
	node, err := s.cluster.MasterForKey(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("redisstore: which node of the cluster has the record: %w", err)
	}
	return node, nil
}

// follow deals with a node that refused a command. It sends the command on where
// a Cluster says so, and again where that makes the driver drop a connection to a
// server that has become a replica; any other refusal is the answer.
func (s *Store) follow(ctx context.Context, node *redis.Client, words []any, sync bool, t told) told {
	for range maxRedirects {
		switch why := code(t.text); {
		case why == "READONLY":
			t.reply, t.err = askPlainly(ctx, node, words)
			return t
		case s.cluster != nil && (why == "MOVED" || why == "ASK"):
			node, t = s.sendOn(ctx, node, words, sync, t.text, why == "ASK")
		default:
			return t
		}
		if t.err != nil || t.kind != failure {
			return t
		}
	}
	return t
}

// sendOn sends a command to the node that a redirect names, past the lane: what is
// sent on was refused before and has waited once. It returns that node.
func (s *Store) sendOn(ctx context.Context, from *redis.Client, words []any, sync bool, redirect []byte, importing bool) (*redis.Client, told) {
	if !importing {
		s.lookAround(ctx)
	}
	for anew := false; ; anew = true {
		node, err := s.nodeAt(ctx, from, redirect, anew)
		if err != nil {
			return nil, told{err: err}
		}
		c := newCommand(ctx, words...)
		c.sync = sync
		cmds := []*command{c}
		if importing {
			cmds = []*command{newCommand(ctx, "ASKING"), c}
		}
		s.lane(node).fly(ctx, node, cmds, sync)
		t := told{wait: c.wait}
		if t.reply, t.err = c.answer(); errors.Is(t.err, redis.ErrClosed) && !anew {
			continue // the driver has closed this client, so nothing was sent
		}
		return node, t
	}
}

// nodeAt returns the client of the node that a redirect names: "MOVED 3999
// host:port", with the host left out where it is that of the node that says it.
// While slots move, many calls are redirected: the masters are asked for anew only
// where one is named that is not known, or anew is set.
func (s *Store) nodeAt(ctx context.Context, from *redis.Client, redirect []byte, anew bool) (*redis.Client, error) {
	addr := string(redirect[bytes.LastIndexByte(redirect, ' ')+1:])
	if host, port, err := net.SplitHostPort(addr); err == nil && host == "" {
		own, _, _ := net.SplitHostPort(from.Options().Addr)
		addr = net.JoinHostPort(own, port)
	}
	if node, ok := s.masters.Load(addr); ok && !anew {
		return node.(*redis.Client), nil
	}
	// Looking at the masters makes the client read the slots anew first.
	err := s.cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		s.masters.Store(node.Options().Addr, node)
		return nil
	})
	node, ok := s.masters.Load(addr)
	if err != nil || !ok {
		return nil, fmt.Errorf("redisstore: redirected to a node that is no known master: %w", errors.Join(err, refusal(redirect)))
	}
	return node.(*redis.Client), nil
}

// askPlainly sends a command in the driver's own form. It sees the refusal then,
// and closes the connection, so that the next one is made to whatever server the
// name leads to by now.
func askPlainly(ctx context.Context, node *redis.Client, args []any) (reply, error) {
	cmd := redis.NewCmd(ctx, args...)
	_ = node.Process(ctx, cmd)
	value, err := cmd.Result()
	var refused redis.Error
	switch {
	case errors.Is(err, redis.Nil):
		return reply{}, nil
	case errors.As(err, &refused):
		return reply{kind: failure, text: []byte(refused.Error())}, nil
	case err != nil:
		return reply{}, unknown(err)
	}
	return plain(value), nil
}

// plain is a reply that the driver has read.
func plain(value any) reply {
	switch v := value.(type) {
	case string:
		return reply{kind: bulk, text: []byte(v)}
	case int64:
		return reply{kind: integer, n: v}
	case []any:
		r := reply{kind: array, items: make([]reply, len(v))}
		for i := range v {
			r.items[i] = plain(v[i])
		}
		return r
	}
	return reply{}
}
