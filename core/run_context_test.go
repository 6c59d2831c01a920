package idem_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
)

func runContextGuard(t *testing.T) *idem.Guard {
	t.Helper()
	g, err := idem.New(idem.Config{Store: memstore.New(memstore.Options{}), Policies: []idem.Policy{{Operation: "shop:order:create", Preset: idem.API}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close(context.Background()) })
	return g
}

// Given a run whose context nobody has waited for yet, when it ends, then whoever
// asks first only now finds it ended, by its cause; and so does what was derived
// from it before.
func TestP7_TheContextOfARunIsTheSameWhenItIsAskedForLate(t *testing.T) {
	type key struct{}
	for name, early := range map[string]bool{"asked before the end": true, "asked after the end": false} {
		t.Run(name, func(t *testing.T) {
			g := runContextGuard(t)
			ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "the request's"))
			c, err := g.Claim(ctx, idem.Intent{Operation: "shop:order:create", Scope: "alice", Key: "k"})
			if err != nil || !c.Won() {
				t.Fatalf("%v, %v", c, err)
			}
			run := c.Context()
			var derived context.Context
			if early {
				var stop func()
				derived, stop = context.WithTimeout(run, time.Hour)
				defer stop()
			}
			cancel() // the browser has gone
			if run.Err() != nil {
				t.Errorf("the run ended with its connection: %v", run.Err())
			}
			if _, there := run.Deadline(); there {
				t.Error("the run has a deadline")
			}
			if err := c.Complete(t.Context(), idem.Payload{}); err != nil {
				t.Fatal(err)
			}
			if !early {
				var stop func()
				derived, stop = context.WithTimeout(run, time.Hour)
				defer stop()
			}
			for what, ctx := range map[string]context.Context{"run": run, "derived": derived} {
				select {
				case <-ctx.Done():
				case <-time.After(10 * time.Second):
					t.Fatalf("%s: it does not end", what)
				}
				if !errors.Is(ctx.Err(), context.Canceled) || !errors.Is(context.Cause(ctx), context.Canceled) {
					t.Errorf("%s: %v, by %v", what, ctx.Err(), context.Cause(ctx))
				}
				if ctx.Value(key{}) != "the request's" {
					t.Errorf("%s: what the request's context held is gone", what)
				}
				if of, ok := idem.ClaimFrom(ctx); !ok || of != c {
					t.Errorf("%s: it is not the claim's", what)
				}
			}
		})
	}
}

// Given a run under a request whose connection has gone, when the first question
// about it is why it ends, then the request's own end is no answer.
func TestP7_TheCauseOfARunIsItsOwnWhoeverAsksFirst(t *testing.T) {
	type key struct{}
	g := runContextGuard(t)
	gone, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "the request's"))
	cancel(errors.New("the browser has gone"))
	c, err := g.Claim(gone, idem.Intent{Operation: "shop:order:create", Scope: "alice", Key: "k"})
	if err != nil || !c.Won() {
		t.Fatalf("%v, %v", c, err)
	}
	if c.Context().Value(key{}) != "the request's" {
		t.Error("what the request's context held is gone")
	}
	if why := context.Cause(c.Context()); why != nil {
		t.Errorf("it ended by %v", why)
	}
	if err := c.Complete(t.Context(), idem.Payload{}); err != nil {
		t.Fatal(err)
	}
	if why := context.Cause(c.Context()); !errors.Is(why, context.Canceled) {
		t.Errorf("it ended by %v", why)
	}
}

// Given a handler that keeps its claim for ever, when its repeats are answered,
// which use their own claims again, then the one that was kept is what it was.
func TestAClaimThatAHandlerHoldsIsNeverUsedAgain(t *testing.T) {
	g := runContextGuard(t)
	in := idem.Intent{Operation: "shop:order:create", Scope: "alice", Key: "k"}
	var held *idem.Claim
	run := func(ctx context.Context) ([]byte, error) {
		held, _ = idem.ClaimFrom(ctx)
		return []byte("42"), nil
	}
	if _, v, err := idem.Do(t.Context(), g, in, idem.Codec[[]byte](bytesCodec{}), run); v != idem.Executed || err != nil {
		t.Fatal(v, err)
	}
	fence, record := held.Fence(), held.Record()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				got, v, err := idem.Do(t.Context(), g, in, idem.Codec[[]byte](bytesCodec{}), run)
				if string(got) != "42" || v != idem.Replayed || err != nil {
					t.Errorf("%q, %v, %v", got, v, err)
					return
				}
			}
		})
	}
	all.Wait()
	if !held.Won() || held.Verdict() != idem.Executed || held.Fence() != fence || held.Record() != record || fence == 0 {
		t.Errorf("won %v, %v, fence %d (%d), %s (%s)", held.Won(), held.Verdict(), held.Fence(), fence, held.Record(), record)
	}
}
