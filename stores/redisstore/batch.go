package redisstore

import (
	"context"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
)

// Apply makes many operations: one pipeline for each node that has some of them,
// all nodes at once, several only beyond Options.PipelineSize commands or where a
// name comes more than once. Every operation has its own answer: a pipeline that
// breaks half-way leaves those known that were answered and the others unknown.
func (s *Store) Apply(ctx context.Context, ops []idem.Op) []idem.OpResult {
	results := make([]idem.OpResult, len(ops))
	ctx = s.bound(ctx)
	seen, err := s.fit(ctx)
	if err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	todo := make([]int, 0, len(ops))
	for i := range ops {
		if results[i].Err = admit(&ops[i]); results[i].Err == nil {
			todo = append(todo, i)
		}
	}
	for len(todo) > 0 {
		var wave []int
		wave, todo = firstOfEachName(ops, todo)
		s.wave(ctx, seen, ops, wave, results)
	}
	return results
}

// firstOfEachName parts operations into those that may leave now and those whose
// name is among them: an operation that a node redirects, or a server without the
// script refuses, is sent again, and must not be overtaken then by the next one
// on its name.
func firstOfEachName(ops []idem.Op, todo []int) (now, later []int) {
	names := make(map[string]struct{}, len(todo))
	for at, i := range todo {
		if _, twice := names[ops[i].Name]; !twice {
			names[ops[i].Name] = struct{}{}
			if later != nil {
				now = append(now, i)
			}
			continue
		}
		if later == nil {
			now, later = append(now, todo[:at]...), make([]int, 0, len(todo)-at)
		}
		later = append(later, i)
	}
	if later == nil {
		return todo, nil
	}
	return now, later
}

// share is what one node gets of a batch.
type share struct {
	node *redis.Client
	ops  []int
}

// wave makes operations on names that are all different, and fills in their
// results.
func (s *Store) wave(ctx context.Context, seen *sight, ops []idem.Op, which []int, results []idem.OpResult) {
	var shares []share
	for _, i := range which {
		node, err := s.node(ctx, ops[i].Name)
		if err != nil {
			results[i].Err = err
			continue
		}
		at := 0
		for at < len(shares) && shares[at].node != node {
			at++
		}
		if at == len(shares) {
			shares = append(shares, share{node: node})
		}
		shares[at].ops = append(shares[at].ops, i)
	}
	var all sync.WaitGroup
	for i, sh := range shares {
		if i == len(shares)-1 {
			s.serve(ctx, seen, ops, sh, results)
			break
		}
		all.Go(func() { s.serve(ctx, seen, ops, sh, results) })
	}
	all.Wait()
}

// serve makes one node's operations, in pipelines that are not too long.
func (s *Store) serve(ctx context.Context, seen *sight, ops []idem.Op, sh share, results []idem.OpResult) {
	for rest := sh.ops; len(rest) > 0; {
		n, commands := 0, 0
		for n < len(rest) && (n == 0 || commands+s.commandsOf(&ops[rest[n]]) <= s.options.PipelineSize) {
			commands += s.commandsOf(&ops[rest[n]])
			n++
		}
		s.pipe(ctx, seen, sh.node, ops, rest[:n], results)
		rest = rest[n:]
	}
}

// pipe makes operations in one pipeline.
func (s *Store) pipe(ctx context.Context, seen *sight, node *redis.Client, ops []idem.Op, which []int, results []idem.OpResult) {
	x := newExchange()
	for _, i := range which {
		s.put(ctx, x, seen, &ops[i])
	}
	if err := s.lane(node).send(ctx, node, x); err != nil {
		for _, i := range which {
			results[i].Err = fmt.Errorf("a batch of %d: %w", len(which), err)
		}
		return
	}
	at := 0
	var refused []repeat
	for _, i := range which {
		var what unmade
		results[i].Result, what, results[i].Err = s.came(ctx, node, x, at, &ops[i])
		if what != 0 {
			refused = append(refused, repeat{&ops[i], what, &results[i]})
		}
		at += s.commandsOf(&ops[i])
	}
	x.free()
	if len(refused) > 0 {
		s.again(ctx, node, refused)
	}
}
