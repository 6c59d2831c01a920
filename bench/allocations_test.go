package main

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/stores/redisstore"
)

// B5: at most nine allocations a claim of 256 callers.
func TestBudgetOfAllocations(t *testing.T) {
	if racing {
		t.Skip("the race detector allocates too")
	}
	ours, err := redisstore.Open(t.Context(), redisstore.Options{
		Universal: &redis.UniversalOptions{Addrs: []string{redistest.Server(t)}}, CallTimeout: 10 * time.Second, // a busy machine
	})
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	pool := names(1 << 15)
	r := row{callers: crowd, do: func(i int) error {
		_, err := ours.Create(t.Context(), pool[i%len(pool)], claimValue, ttl)
		return err
	}}
	f, err := r.measure(100 * time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f allocations a claim", f[allocs])
	if f[allocs] > 9 {
		t.Errorf("%.1f allocations a claim, the budget is 9", f[allocs])
	}
}
