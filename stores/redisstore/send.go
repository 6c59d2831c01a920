package redisstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/go-idem/idem/internal/broken"
)

// Commands go to one node's client and never through the driver's cluster client,
// which sends a command again by itself when a connection breaks, and whose
// pipelines report as lost what was done. A redirect is another thing: a node that
// redirects has refused the command, so following is no repeat.

// call sends one command that concerns a name and returns its reply. An error
// means that no reply was read: the outcome is unknown. A refusal is a reply.
func (s *Store) call(ctx context.Context, name string, args []any) (reply, error) {
	node, err := s.node(ctx, name)
	if err != nil {
		return reply{}, err
	}
	r, err := ask(ctx, node, args)
	if err != nil || r.kind != failure {
		return r, err
	}
	return s.follow(ctx, node, args, r)
}

// ask sends one command to a node as it is.
func ask(ctx context.Context, node *redis.Client, args []any) (reply, error) {
	cmd := redis.NewRawCmd(ctx, args...)
	_ = node.Process(ctx, cmd)
	return answer(cmd, nil)
}

// pipeline sends commands to a node in one write. What became of each is in its
// own reply: the error returned is of the whole and explains a command without one.
func pipeline(ctx context.Context, node *redis.Client, cmds ...*redis.RawCmd) error {
	pipe := node.Pipeline()
	for _, cmd := range cmds {
		_ = pipe.Process(ctx, cmd)
	}
	_, err := pipe.Exec(ctx)
	return err
}

// answer reads a command's own reply, and only if it came without an error. The
// driver leaves the commands of a pipeline without reply and without error when
// the server turned the connection away; then whole says why.
func answer(cmd *redis.RawCmd, whole error) (reply, error) {
	raw, err := cmd.Result()
	if err == nil && len(raw) == 0 {
		err = cmp.Or(whole, errMalformed)
	}
	if err != nil {
		return reply{}, fmt.Errorf("redisstore: no reply, so the outcome is unknown: %w", err)
	}
	return parse(raw)
}

// read sends GET and PTTL in one write and returns both replies. In this order a
// record that changes between the two is told with too much time, never with too
// little, so a live claim is not taken for a lapsed one (PROTOCOL section 9).
func (s *Store) read(ctx context.Context, name string) (value, left reply, err error) {
	node, err := s.node(ctx, name)
	if err != nil {
		return reply{}, reply{}, err
	}
	get, pttl := redis.NewRawCmd(ctx, "GET", name), redis.NewRawCmd(ctx, "PTTL", name)
	first, second := get, pttl
	if broken.Is(broken.S9TimeBeforeValue) {
		first, second = pttl, get
	}
	whole := pipeline(ctx, node, first, second)
	if value, err = answer(get, whole); err != nil {
		return reply{}, reply{}, err
	}
	if left, err = answer(pttl, whole); err != nil {
		return reply{}, reply{}, err
	}
	if value.kind != failure && left.kind != failure {
		return value, left, nil
	}
	// A node refused: one after the other, wherever they are sent on to.
	if value, err = s.call(ctx, name, []any{"GET", name}); err == nil {
		left, err = s.call(ctx, name, []any{"PTTL", name})
	}
	return value, left, err
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
// server that has become a replica; any other refusal is the reply.
func (s *Store) follow(ctx context.Context, node *redis.Client, args []any, r reply) (reply, error) {
	for range maxRedirects {
		var err error
		switch why := code(r.text); {
		case why == "READONLY":
			return askPlainly(ctx, node, args)
		case s.cluster != nil && (why == "MOVED" || why == "ASK"):
			if node, err = s.nodeAt(ctx, node, r.text); err != nil {
				return reply{}, err
			}
			if why == "ASK" {
				r, err = askImporting(ctx, node, args)
			} else {
				r, err = ask(ctx, node, args)
			}
		default:
			return r, nil
		}
		if err != nil || r.kind != failure {
			return r, err
		}
	}
	return r, nil
}

// nodeAt returns the client of the node that a redirect names: "MOVED 3999
// host:port", with the host left out where it is that of the node that says it.
func (s *Store) nodeAt(ctx context.Context, from *redis.Client, redirect []byte) (*redis.Client, error) {
	addr := string(redirect[bytes.LastIndexByte(redirect, ' ')+1:])
	if host, port, err := net.SplitHostPort(addr); err == nil && host == "" {
		own, _, _ := net.SplitHostPort(from.Options().Addr)
		addr = net.JoinHostPort(own, port)
	}
	var mu sync.Mutex
	var found *redis.Client
	// Looking at the masters makes the client read the slots anew first.
	err := s.cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		if node.Options().Addr == addr {
			mu.Lock()
			found = node
			mu.Unlock()
		}
		return nil
	})
	if err != nil || found == nil {
		return nil, fmt.Errorf("redisstore: redirected to a node that is no known master: %w", errors.Join(err, refusal(redirect)))
	}
	return found, nil
}

// askImporting sends a command to the node that a slot is moving to.
func askImporting(ctx context.Context, node *redis.Client, args []any) (reply, error) {
	cmd := redis.NewRawCmd(ctx, args...)
	whole := pipeline(ctx, node, redis.NewRawCmd(ctx, "ASKING"), cmd)
	return answer(cmd, whole)
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
		return reply{}, fmt.Errorf("redisstore: no reply, so the outcome is unknown: %w", err)
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
