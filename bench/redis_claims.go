package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	idem "github.com/go-idem/idem/core"
)

const (
	claimCrowd = "idem Guard.Claim, 256 callers"

	nakedLock = "go-redis SET NX, then DEL"
	theirLock = "redislock: obtain, then release"
	theirSync = "redsync: lock, then unlock"
	ourLock   = "idem Guard.Claim, then Release"

	// mostClaims bounds a round of claims that nobody settles meanwhile: they are
	// renewed, and a heap full of them is a worry of this program only.
	mostClaims = 1 << 14
)

// claimRow is Guard.Claim by many callers. The claims are kept in a place made
// before, and released after the round, where nobody measures.
func (b *redisBed) claimRow() row {
	held := make([]*idem.Claim, mostClaims+1)
	do := func(i int) error {
		c, err := b.guard.Claim(b.ctx, idem.Intent{Operation: operation, Scope: "bench", Key: b.name(i)})
		if err != nil {
			return err
		}
		if held[i] = c; !c.Won() {
			return fmt.Errorf("the claim of %s is %s", b.name(i), c.Verdict())
		}
		return nil
	}
	return row{name: claimCrowd, callers: crowd, most: mostClaims, do: do, after: func() error {
		err := release(b.ctx, b.guard, slices.DeleteFunc(slices.Clone(held), func(c *idem.Claim) bool { return c == nil }))
		clear(held)
		return err
	}}
}

// release ends claims, many in one exchange.
func release(ctx context.Context, guard *idem.Guard, held []*idem.Claim) error {
	var errs []error
	for some := range slices.Chunk(held, 512) {
		ends := make([]idem.Settlement, len(some))
		for i, c := range some {
			ends[i] = idem.Settlement{Claim: c, Outcome: idem.Releases}
		}
		errs = append(errs, guard.SettleBatch(ctx, ends)...)
	}
	return errors.Join(errs...)
}

// lockRows are the usual locks on Redis: claim and release, by one caller. None of
// the rivals remembers afterwards that somebody was there.
func (b *redisBed) lockRows() []row {
	locker, syncer := redislock.New(b.client), redsync.New(goredis.NewPool(b.client))
	return []row{
		{name: nakedLock, callers: 1, do: func(i int) error {
			if err := b.client.SetNX(b.ctx, b.name(i), claimValue, ttl).Err(); err != nil {
				return err
			}
			return b.client.Del(b.ctx, b.name(i)).Err()
		}},
		{name: theirLock, callers: 1, do: func(i int) error {
			l, err := locker.Obtain(b.ctx, b.name(i), ttl, nil)
			if err != nil {
				return err
			}
			return l.Release(b.ctx)
		}},
		{name: theirSync, callers: 1, do: func(i int) error {
			m := syncer.NewMutex(b.name(i), redsync.WithExpiry(ttl))
			if err := m.LockContext(b.ctx); err != nil {
				return err
			}
			_, err := m.UnlockContext(b.ctx)
			return err
		}},
		{name: ourLock, callers: 1, do: func(i int) error {
			c, err := b.guard.Claim(b.ctx, idem.Intent{Operation: operation, Scope: "bench", Key: b.name(i)})
			if err != nil {
				return err
			}
			return c.Release(b.ctx)
		}},
	}
}
