package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/redisstore"
)

// The row of renewals: what it costs to keep very many claims on Redis.
const (
	renewals = "idem renews 10,000 claims, a renewal"

	manyClaims = 10_000
	// shortLease is renewed every third of it: 10,000 claims five thousand times a
	// second each, where the default of 30 s would make it a thousand for all.
	shortLease = 1800 * time.Millisecond
)

// No page names a limit for it. What is held here is that renewals go together:
// a hundred to an exchange, and at a few microseconds.
var renewalBudgets = []budget{
	atMost("P4", "10,000 claims: µs of CPU a renewal", one(renewals, cpu), 6),
	atMost("P4", "10,000 claims: exchanges a renewal", one(renewals, exchanges), 0.01).count(),
}

func renewalRows(ctx context.Context, addr string) (*group, error) {
	store, err := redisstore.Open(ctx, redisstore.Options{
		Universal: &redis.UniversalOptions{Addrs: []string{addr}}, CallTimeout: 80 * time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	guard, err := idem.New(idem.Config{Store: store, NameKey: idem.GenerateKey(), Policies: []idem.Policy{
		{Operation: operation, Preset: idem.API, Lease: shortLease},
	}})
	if err != nil {
		return nil, err
	}
	turn := 0
	return &group{
		reset: func() error { return nil },
		end:   func() { _, _ = guard.Close(ctx), store.Close() },
		rows: []row{{name: renewals, itself: func(time.Duration) (f figure, err error) {
			turn++
			held, err := claimMany(ctx, guard, turn)
			if err == nil {
				f = keepFor(store, shortLease)
			}
			if ended := release(ctx, guard, held); err == nil {
				err = ended
			}
			return f, err
		}}},
	}, nil
}

// claimMany makes the claims in batches, so that they become due one after the
// other as those of requests do.
func claimMany(ctx context.Context, guard *idem.Guard, turn int) (held []*idem.Claim, err error) {
	const some = 100
	for n := 0; n < manyClaims; n += some {
		intents := make([]idem.Intent, some)
		for i := range intents {
			intents[i] = idem.Intent{Operation: operation, Scope: "bench", Key: fmt.Sprintf("%d-%d", turn, n+i)}
		}
		claims, err := guard.ClaimBatch(ctx, intents)
		if err != nil {
			return held, err
		}
		held = append(held, claims...)
	}
	for _, c := range held {
		if !c.Won() {
			return held, fmt.Errorf("a claim is %s", c.Verdict())
		}
	}
	return held, nil
}

// keepFor watches the guard keep its claims: all that leaves meanwhile is renewals.
func keepFor(store *redisstore.Store, d time.Duration) figure {
	began, before, calls := time.Now(), spentNow(), store.Stats()
	time.Sleep(d)
	after, now, took := spentNow(), store.Stats(), time.Since(began)
	renewed := float64(now.Commands - calls.Commands)
	f := after.since(before, took, 1, renewed)
	delete(f, micros) // nobody waits for it
	f[exchanges] = float64(now.Flushes-calls.Flushes) / renewed
	return f
}
