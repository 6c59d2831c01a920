package idem_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
)

// hardOfHearing is a store that can be told to take no Swap: no renewal, no outcome.
type hardOfHearing struct {
	*memstore.Store
	now atomic.Bool
}

func (d *hardOfHearing) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (idem.Result, error) {
	if d.now.Load() {
		return idem.Result{}, errors.New("not now")
	}
	return d.Store.Swap(ctx, name, old, value, ttl)
}

func (d *hardOfHearing) Apply(ctx context.Context, ops []idem.Op) []idem.OpResult {
	if !d.now.Load() {
		return d.Store.Apply(ctx, ops)
	}
	list := make([]idem.OpResult, len(ops))
	for i := range list {
		list[i].Err = errors.New("not now")
	}
	return list
}

// Given records of two operations in every state that a request can leave one in,
// and one whose process went silent, when they are counted, then each is counted
// once, where a request would read it, with the age of the one claimed longest ago.
func TestACensusCountsEachRecordOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		store := &hardOfHearing{Store: memstore.New(memstore.Options{})}
		g, err := idem.New(idem.Config{Store: store, Policies: []idem.Policy{
			{Operation: "shop:order:create", Preset: idem.API, Lease: 2 * time.Second}, {Operation: "shop:tea:pour", Preset: idem.Payment},
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			store.now.Store(false)
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			_ = g.Close(ctx)
		})
		claim := func(operation, key string) *idem.Claim {
			c, err := g.Claim(ctx, idem.Intent{Operation: operation, Scope: "alice", Key: key})
			if err != nil || !c.Won() {
				t.Fatalf("%s: %v, %v", key, c, err)
			}
			return c
		}
		end := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		const order, tea = "shop:order:create", "shop:tea:pour"
		end(claim(order, "first").Complete(ctx, idem.Payload{Bytes: []byte("1")}))
		time.Sleep(time.Hour)
		end(claim(order, "second").Complete(ctx, idem.Payload{}))
		end(claim(order, "third").Complete(ctx, idem.Payload{}))
		end(claim(order, "refused").Fail(ctx, idem.Payload{}))
		end(claim(order, "undone").Release(ctx))
		end(claim(tea, "doubtful").Doubt(ctx))
		time.Sleep(time.Minute)
		silent := claim(order, "silent")
		store.now.Store(true) // its process is heard of no more
		<-silent.Context().Done()
		time.Sleep(5 * time.Second)
		store.now.Store(false)
		running := claim(tea, "running")
		time.Sleep(time.Second)

		list, whole, err := g.Census(ctx, 1000)
		if err != nil || !whole {
			t.Fatalf("whole %v, %v", whole, err)
		}
		got := map[string]idem.Tally{}
		for _, one := range list {
			got[one.Operation+" "+one.State.String()] = one
		}
		want := map[string]struct {
			records  int64
			from, to time.Duration
		}{
			order + " succeeded": {3, time.Hour + time.Minute, time.Hour + 2*time.Minute},
			order + " failed":    {1, time.Minute, 2 * time.Minute},
			order + " released":  {1, time.Minute, 2 * time.Minute},
			order + " uncertain": {1, 6 * time.Second, 20 * time.Second},
			tea + " uncertain":   {1, time.Minute, 2 * time.Minute},
			tea + " processing":  {1, time.Second, 2 * time.Second},
		}
		for place, w := range want {
			if is := got[place]; is.Records != w.records || is.Oldest < w.from || is.Oldest > w.to {
				t.Errorf("%s: %d records, the oldest %v; want %d, between %v and %v", place, is.Records, is.Oldest, w.records, w.from, w.to)
			}
		}
		if len(got) != len(want) {
			t.Errorf("counted %v", list)
		}
		end(running.Release(ctx))
		silent.End(ctx)
	})
}

// Given more records than a census may look at, then it says that there are more.
func TestACensusSaysThatItIsNotWhole(t *testing.T) {
	g := runContextGuard(t)
	for i := range 1200 {
		c, err := g.Claim(t.Context(), idem.Intent{Operation: "shop:order:create", Scope: "alice", Key: string(rune('a'+i%26)) + time.Duration(i).String()})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Complete(t.Context(), idem.Payload{}); err != nil {
			t.Fatal(err)
		}
	}
	list, whole, err := g.Census(t.Context(), 600)
	if err != nil || whole || len(list) != 1 || list[0].Records >= 1200 || list[0].Records < 500 {
		t.Errorf("%v, whole %v, %v", list, whole, err)
	}
	if list, whole, err = g.Census(t.Context(), 10_000); err != nil || !whole || len(list) != 1 || list[0].Records != 1200 {
		t.Errorf("%v, whole %v, %v", list, whole, err)
	}
}
