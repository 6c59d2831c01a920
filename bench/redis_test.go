package main

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/stores/redisstore"
)

// The part of B6 that does not depend on the machine.
func TestBudgetOfRoundTrips(t *testing.T) {
	addr := redistest.Server(t)
	ours, err := redisstore.Open(t.Context(), redisstore.Options{Universal: &redis.UniversalOptions{Addrs: []string{addr}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()

	t.Run("B6 a batch of 100 is one round trip", func(t *testing.T) {
		before := ours.Stats()
		if err := applyOf(t.Context(), ours, func(i int) string { return fmt.Sprint("batch:", i) }, 0); err != nil {
			t.Fatal(err)
		}
		if n := ours.Stats().Flushes - before.Flushes; n != 1 {
			t.Errorf("%d pipelines", n)
		}
	})
}
