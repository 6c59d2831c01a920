package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/redisstore"
)

// The rows of budgets B5 and B6 (docs/reference/benchmarks.md).
const (
	crowd = 256
	batch = 100
	ttl   = time.Hour

	rivalAlone  = "go-redis SetNX, 1 caller"
	oursAlone   = "idem Create, 1 caller"
	rivalCrowd  = "go-redis SetNX, 256 callers"
	autoCrowd   = "go-redis AutoPipeline, 256 callers"
	oursCrowd   = "idem Create, 256 callers"
	serverLimit = "redis-benchmark SET NX PX -P 64"
	rivalBatch  = "100 SetNX, one after the other"
	pipeBatch   = "100 in a go-redis pipeline"
	oursBatch   = "idem Apply of 100"
	wholeBatch  = "idem ClaimBatch, SettleBatch of 100"
)

var redisBudgets = []budget{
	atLeast("B5", "256 callers: claims a second, × SetNX", ratio(oursCrowd, rivalCrowd, perSecond), 2.5),
	atLeast("B5", "256 callers: claims a second, × redis-benchmark -P 64", ratio(oursCrowd, serverLimit, perSecond), 0.55),
	atMost("B5", "256 callers: µs of CPU a claim", one(oursCrowd, cpu), 3.5),
	atMost("B5", "256 callers: allocations a claim", one(oursCrowd, allocs), 9).count(),
	atMost("B5", "256 callers: µs of CPU that Guard.Claim adds to it", more(claimCrowd, oursCrowd, cpu), 1).instead(4),
	atMost("B5", "80 µs away: one caller: time, × SetNX", ratio(oursFarAlone, rivalFarAlone, micros), 1.05),
	atLeast("B6", "80 µs away: a batch of 100, × one after the other", ratio(oursFar, rivalFar, perSecond), 20),
}

// claimValue is as long as the value of a claim.
var claimValue = make([]byte, 44)

// names are as long as a record's: made before, so that nobody pays for them.
func names(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("idem:shop:order:create:%026d", i)
	}
	return list
}

// redisBed is what the rows work on.
type redisBed struct {
	ctx    context.Context
	addr   string
	client *redis.Client
	ours   *redisstore.Store
	guard  *idem.Guard
	pool   []string
	ends   []func()
}

func newRedisBed(ctx context.Context, addr string) (b *redisBed, err error) {
	b = &redisBed{ctx: ctx, addr: addr, pool: names(1 << 20)}
	b.client = redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, MaxRetries: -1})
	b.ends = append(b.ends, func() { _ = b.client.Close() })
	if b.ours, err = redisstore.Open(ctx, redisstore.Options{Universal: &redis.UniversalOptions{Addrs: []string{addr}}}); err != nil {
		return b, err
	}
	b.ends = append(b.ends, func() { _ = b.ours.Close() })
	b.guard, err = idem.New(idem.Config{
		Store: b.ours, NameKey: idem.GenerateKey(), Policies: []idem.Policy{{Operation: operation, Preset: idem.API}},
	})
	if err == nil {
		b.ends = append(b.ends, func() { _ = b.guard.Close(ctx) })
	}
	return b, err
}

// end ends what was begun, the last first.
func (b *redisBed) end() {
	for _, end := range slices.Backward(b.ends) {
		end()
	}
}

func (b *redisBed) name(i int) string { return b.pool[i%len(b.pool)] }

// setNX and create make the ith claim, without and with the store.
func (b *redisBed) setNX(c redis.Cmdable) func(i int) error {
	return func(i int) error { return c.SetNX(b.ctx, b.name(i), claimValue, ttl).Err() }
}

func (b *redisBed) create(s idem.Store) func(i int) error {
	return func(i int) error {
		_, err := s.Create(b.ctx, b.name(i), claimValue, ttl)
		return err
	}
}

// hundred makes a hundred claims one after the other.
func (b *redisBed) hundred(c redis.Cmdable) func(i int) error {
	return func(i int) error {
		for j := range batch {
			if err := c.SetNX(b.ctx, b.name(i*batch+j), claimValue, ttl).Err(); err != nil {
				return err
			}
		}
		return nil
	}
}

func (b *redisBed) piped(i int) error {
	_, err := b.client.Pipelined(b.ctx, func(p redis.Pipeliner) error {
		for j := range batch {
			p.SetNX(b.ctx, b.name(i*batch+j), claimValue, ttl)
		}
		return nil
	})
	return err
}

func redisRows(ctx context.Context, addr string) (*group, error) {
	b, err := newRedisBed(ctx, addr)
	if err != nil {
		b.end()
		return nil, err
	}
	auto, err := b.client.AutoPipeline()
	if err != nil {
		b.end()
		return nil, err
	}
	b.ends = append(b.ends, func() { _ = auto.Close() })
	far, err := b.farRows()
	if err != nil {
		b.end()
		return nil, err
	}
	g := &group{
		reset: func() error { return b.client.FlushAll(ctx).Err() },
		end:   b.end,
		rows: []row{
			{name: rivalAlone, callers: 1, do: b.setNX(b.client)},
			{name: oursAlone, callers: 1, do: b.create(b.ours)},
			{name: rivalCrowd, callers: crowd, do: b.setNX(b.client)},
			{name: autoCrowd, callers: crowd, do: b.setNX(auto)},
			b.claimRow(),
			{name: oursCrowd, callers: crowd, most: mostClaims, do: b.create(b.ours)},
		},
	}
	if path, err := exec.LookPath("redis-benchmark"); err == nil {
		g.rows = append(g.rows, row{name: serverLimit, itself: func(time.Duration) (figure, error) {
			v, err := redisBenchmark(ctx, path, addr)
			return figure{perSecond: v}, err
		}})
	}
	g.rows = append(g.rows,
		row{name: rivalBatch, callers: 1, calls: batch, do: b.hundred(b.client)},
		row{name: pipeBatch, callers: 1, calls: batch, do: b.piped},
		row{name: oursBatch, callers: 1, calls: batch, do: func(i int) error { return applyOf(ctx, b.ours, b.name, i) }},
		row{name: wholeBatch, callers: 1, calls: batch, do: func(i int) error { return claimsOf(ctx, b.guard, b.name, i) }},
	)
	g.rows = append(g.rows, far...)
	g.rows = append(g.rows, b.lockRows()...)
	return g, nil
}

// applyOf makes a batch of claims.
func applyOf(ctx context.Context, s idem.Batcher, name func(int) string, i int) error {
	ops := make([]idem.Op, batch)
	for j := range ops {
		ops[j] = idem.Op{Kind: idem.OpCreate, Name: name(i*batch + j), Value: claimValue, TTL: ttl}
	}
	var errs []error
	for _, r := range s.Apply(ctx, ops) {
		errs = append(errs, r.Err)
	}
	return errors.Join(errs...)
}

// claimsOf makes a batch of claims as a guard does, and settles it.
func claimsOf(ctx context.Context, guard *idem.Guard, name func(int) string, i int) error {
	intents := make([]idem.Intent, batch)
	for j := range intents {
		intents[j] = idem.Intent{Operation: operation, Scope: "bench", Key: name(i*batch + j)}
	}
	claims, err := guard.ClaimBatch(ctx, intents)
	if err != nil {
		return err
	}
	ends := make([]idem.Settlement, batch)
	for j, c := range claims {
		ends[j] = idem.Settlement{Claim: c, Outcome: idem.Completes, Payload: idem.Payload{Bytes: claimValue}}
	}
	return errors.Join(guard.SettleBatch(ctx, ends)...)
}

// redisBenchmark is what the server can do at all, by its own tool.
func redisBenchmark(ctx context.Context, path, addr string) (perSecond float64, err error) {
	host, port, _ := net.SplitHostPort(addr)
	out, err := exec.CommandContext(ctx, path, "-h", host, "-p", port, "-n", "200000", "-r", "1000000", "-c", "50", "-P", "64", "--csv",
		"SET", "idem:shop:order:create:00000000000000__rand_int__", strings.Repeat("v", len(claimValue)), "NX", "PX", "3600000").Output()
	if err != nil {
		return 0, err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	fields := strings.Split(lines[len(lines)-1], `","`)
	if len(fields) < 2 {
		return 0, fmt.Errorf("redis-benchmark said %q", out)
	}
	return strconv.ParseFloat(strings.Trim(fields[1], `"`), 64)
}
