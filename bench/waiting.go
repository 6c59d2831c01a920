package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/storetest"
	"github.com/go-idem/idem/stores/redisstore"
)

// The row of budget B8.
const (
	waiting = "idem: 1,000 duplicates wait for another process's run"

	duplicates = 1000
	// poll is how often a process looks at a record that nobody tells it about.
	poll = 500 * time.Millisecond
)

var waitingBudgets = []budget{
	atMost("B8", "1,000 duplicates on one record: ms from the settle's reply to an answer, p50", one(waiting, typical), 1).wait().instead(3),
	atMost("B8", "1,000 duplicates: looks of their process in a poll interval, the first included", one(waiting, looks), 1).count(),
}

// waitingRows has two guards with a store each, as two processes have: the calls
// of the one that waits are counted.
func waitingRows(ctx context.Context, addr string) (*group, error) {
	nameKey := idem.GenerateKey()
	guard := func(wrap func(idem.Store) idem.Store) (*idem.Guard, func(), error) {
		store, err := redisstore.Open(ctx, redisstore.Options{Universal: &redis.UniversalOptions{Addrs: []string{addr}}})
		if err != nil {
			return nil, nil, err
		}
		g, err := idem.New(idem.Config{Store: wrap(store), NameKey: nameKey, Policies: []idem.Policy{
			{Operation: operation, Preset: idem.API, OnDuplicate: idem.Wait, Wait: time.Minute},
		}})
		return g, func() { _, _ = g.Close(ctx), store.Close() }, err
	}
	counts := storetest.NewFaults() // without a fault: it counts
	owner, endOwner, err := guard(func(s idem.Store) idem.Store { return s })
	if err != nil {
		return nil, err
	}
	waiters, endWaiters, err := guard(counts.Wrap)
	if err != nil {
		return nil, err
	}
	// Once before: the connection that listens is made with the first who waits.
	if _, err := race(ctx, owner, waiters, counts, "first"); err != nil {
		return nil, err
	}
	round := 0
	return &group{
		reset: func() error { return nil },
		end:   func() { endWaiters(); endOwner() },
		rows: []row{{name: waiting, itself: func(time.Duration) (figure, error) {
			round++
			return race(ctx, owner, waiters, counts, fmt.Sprint("round ", round))
		}}},
	}, nil
}

// race has the duplicates wait, ends the run that they wait for, and looks when
// each was answered.
func race(ctx context.Context, owner, waiters *idem.Guard, counts *storetest.Faults, key string) (figure, error) {
	in := idem.Intent{Operation: operation, Scope: "alice", Key: key}
	c, err := owner.Claim(ctx, in)
	if err != nil {
		return nil, err
	}
	counts.Reset()
	began, used := time.Now(), cpuTime()
	var all sync.WaitGroup
	var wrong atomic.Int64
	answered := make([]time.Time, duplicates)
	for i := range duplicates {
		all.Go(func() {
			answer, v, err := idem.Do(ctx, waiters, in, idem.Codec[[]byte](bytesCodec{}), func(context.Context) ([]byte, error) { return nil, errors.New("a second run") })
			answered[i] = time.Now()
			if v != idem.Replayed || err != nil || string(answer) != string(kept) {
				wrong.Add(1)
			}
		})
	}
	time.Sleep(2*poll + poll/2) // all of them wait, and their process has looked again
	err = c.Complete(ctx, idem.Payload{Bytes: kept})
	ended := time.Now()
	all.Wait()
	spent := cpuTime() - used
	if err != nil || wrong.Load() > 0 {
		return nil, errors.Join(err, fmt.Errorf("%d of the duplicates were not answered with the run's answer", wrong.Load()))
	}
	took := make([]float64, duplicates)
	for i := range took {
		took[i] = max(0, answered[i].Sub(ended).Seconds()*1e3) // some are told before the owner is
	}
	slices.Sort(took)
	// Two calls are no looks at a run that goes on: the claim that met it, and the
	// one that brings its answer.
	made := float64(counts.Calls("claim", "") + counts.Calls("load", ""))
	return figure{
		typical: took[duplicates/2], slowest: took[duplicates*99/100], cpu: spent.Seconds() * 1e6 / duplicates,
		calls: made, looks: (made - 2) / math.Ceil(ended.Sub(began).Seconds()/poll.Seconds()),
	}, nil
}
