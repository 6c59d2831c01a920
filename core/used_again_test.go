package idem_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	idem "github.com/go-idem/idem/core"
)

var errNoEffect = errors.New("refused before anything was done")

// Given a handler that keeps its context for longer than its run, when other
// requests run, which use its claim again, then the context still speaks of its
// own run, and reaches nobody else's.
func TestI1_AContextReachesNoRunButItsOwn(t *testing.T) {
	g := runContextGuard(t)
	do := func(key string, run func(ctx context.Context) ([]byte, error)) (idem.Verdict, error) {
		in := idem.Intent{Operation: "shop:order:create", Scope: "alice", Key: key}
		_, v, err := idem.Do(t.Context(), g, in, idem.Codec[[]byte](bytesCodec{}), run)
		return v, err
	}
	for n := range 100 {
		var old context.Context
		var fence uint64
		var downstream string
		if v, err := do(fmt.Sprint("old", n), func(ctx context.Context) ([]byte, error) {
			old, fence = ctx, idem.Fence(ctx)
			downstream, _ = idem.DownstreamKey(ctx, "bank")
			return []byte("42"), nil
		}); v != idem.Executed || err != nil {
			t.Fatal(v, err)
		}
		v, err := do(fmt.Sprint("new", n), func(ctx context.Context) ([]byte, error) {
			if err := idem.MarkEffects(old); !errors.Is(err, idem.ErrClaimLost) {
				t.Errorf("a mark of a run that is over: %v", err)
			}
			if err := idem.Note(old, "late"); !errors.Is(err, idem.ErrNoClaim) {
				t.Errorf("a note of a run that is over: %v", err)
			}
			if key, ok := idem.DownstreamKey(old, "bank"); key != downstream || !ok || idem.Fence(old) != fence || fence == 0 {
				t.Errorf("its downstream key is %s (%s), its fence %d (%d)", key, downstream, idem.Fence(old), fence)
			}
			if c, ok := idem.ClaimFrom(old); !ok || !c.Won() || c.Verdict() != idem.Executed || !idem.Recorded(old) {
				t.Errorf("its claim: %v", ok)
			}
			return nil, errNoEffect
		})
		if v != idem.Released || !errors.Is(err, errNoEffect) {
			t.Fatalf("the run beside it had no effect, and is %v, %v", v, err)
		}
		if t.Failed() {
			return
		}
	}
}

// Given many requests of few keys at once, whose claims are used again and again,
// each gets the answer of its own key, and each key runs once.
func TestI1_ClaimsUsedAgainAreNeverMixedUp(t *testing.T) {
	g := runContextGuard(t)
	const keys, callers, rounds = 40, 8, 60
	var runs [rounds][keys]int
	var mu sync.Mutex
	var kept []context.Context
	var all sync.WaitGroup
	for caller := range callers {
		r := rand.New(rand.NewPCG(uint64(caller), 7))
		all.Go(func() {
			for round := range rounds {
				for range keys / 2 {
					key := r.IntN(keys)
					in := idem.Intent{Operation: "shop:order:create", Scope: "alice", Key: fmt.Sprintf("%d-%d", round, key)}
					got, v, err := idem.Do(t.Context(), g, in, idem.Codec[[]byte](bytesCodec{}), func(ctx context.Context) ([]byte, error) {
						mu.Lock()
						defer mu.Unlock()
						if runs[round][key]++; len(kept) < 1000 {
							kept = append(kept, ctx)
						}
						if old := kept[r.IntN(len(kept))]; old.Err() == nil && old != ctx { // it runs now
							_ = idem.Note(old, "beside")
						} else if old != ctx && idem.MarkEffects(old) == nil {
							t.Error("a run that is over was marked")
						}
						return []byte(in.Key), nil
					})
					var refused *idem.RefusedError
					if errors.As(err, &refused) && v == idem.InFlight {
						continue
					}
					if string(got) != in.Key || err != nil || v != idem.Executed && v != idem.Replayed {
						t.Errorf("%s got %q, %v, %v", in.Key, got, v, err)
						return
					}
				}
			}
		})
	}
	all.Wait()
	for round := range runs {
		for key, n := range runs[round] {
			if n > 1 {
				t.Errorf("%d-%d ran %d times", round, key, n)
			}
		}
	}
}
