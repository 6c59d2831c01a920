package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/redisstore"
)

// The rows of budgets B5 and B6 (design: PERFORMANCE).
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

func redisRows(ctx context.Context, addr string) (*group, error) {
	rival := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, MaxRetries: -1})
	auto, err := rival.AutoPipeline()
	if err != nil {
		return nil, err
	}
	ours, err := redisstore.Open(ctx, redisstore.Options{Universal: &redis.UniversalOptions{Addrs: []string{addr}}})
	if err != nil {
		return nil, err
	}
	guard, err := idem.New(idem.Config{
		Store: ours, NameKey: make(idem.NameKey, 32), Policies: []idem.Policy{{Operation: "shop:order:create", Preset: idem.API}},
	})
	if err != nil {
		return nil, err
	}
	pool := names(1 << 20)
	name := func(i int) string { return pool[i%len(pool)] }
	setNX := func(c redis.Cmdable) func(i int) error {
		return func(i int) error { return c.SetNX(ctx, name(i), claimValue, ttl).Err() }
	}
	create := func(i int) error {
		_, err := ours.Create(ctx, name(i), claimValue, ttl)
		return err
	}
	g := &group{
		reset: func() error { return rival.FlushAll(ctx).Err() },
		end:   func() { _, _, _, _ = guard.Close(ctx), auto.Close(), rival.Close(), ours.Close() },
		rows: []row{
			{name: rivalAlone, callers: 1, do: setNX(rival)},
			{name: oursAlone, callers: 1, do: create},
			{name: rivalCrowd, callers: crowd, do: setNX(rival)},
			{name: autoCrowd, callers: crowd, do: setNX(auto)},
			{name: oursCrowd, callers: crowd, do: create},
			{name: rivalBatch, callers: 1, calls: batch, do: func(i int) error {
				for j := range batch {
					if err := rival.SetNX(ctx, name(i*batch+j), claimValue, ttl).Err(); err != nil {
						return err
					}
				}
				return nil
			}},
			{name: pipeBatch, callers: 1, calls: batch, do: func(i int) error {
				_, err := rival.Pipelined(ctx, func(p redis.Pipeliner) error {
					for j := range batch {
						p.SetNX(ctx, name(i*batch+j), claimValue, ttl)
					}
					return nil
				})
				return err
			}},
			{name: oursBatch, callers: 1, calls: batch, do: func(i int) error { return applyOf(ctx, ours, name, i) }},
			{name: wholeBatch, callers: 1, calls: batch, do: func(i int) error { return claimsOf(ctx, guard, name, i) }},
		},
	}
	if path, err := exec.LookPath("redis-benchmark"); err == nil {
		g.rows = append(g.rows, row{name: serverLimit, itself: func(time.Duration) (float64, error) { return redisBenchmark(ctx, path, addr) }})
	}
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
		intents[j] = idem.Intent{Operation: "shop:order:create", Scope: "bench", Key: name(i*batch + j)}
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
