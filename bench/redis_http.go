package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gofiber/fiber/v2"
	rival2 "github.com/gofiber/fiber/v2/middleware/idempotency"
	"github.com/redis/go-redis/v9"
	"github.com/valyala/fasthttp"

	fiberidem "github.com/go-idem/idem/adapters/fiber"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/stores/redisstore"
)

// The rows of budget B4: whole requests, with their records in Redis.
const (
	oneGet        = "go-redis GET"
	firstOnRedis  = "idem on fiber v2 and Redis, first"
	againOnRedis  = "idem on fiber v2 and Redis, replay"
	rivalOnRedis  = "fiber v2's middleware on Redis, first"
	rivalOnRedis2 = "fiber v2's middleware on Redis, replay"
)

var redisHTTPBudgets = []budget{
	atMost("B4", "first on Redis: time, × fiber v2's middleware on Redis", ratio(firstOnRedis, rivalOnRedis, micros), 0.70),
	atMost("B4", "replay on Redis: time, × one GET", ratio(againOnRedis, oneGet, micros), 1.10),
	atMost("B4", "first on Redis: round trips", one(firstOnRedis, exchanges), 2.05).count(),
	atMost("B4", "replay on Redis: round trips", one(againOnRedis, exchanges), 1.05).count(),
}

// redisStorage is what fiber's middleware keeps answers in: go-redis, and nothing
// around it.
type redisStorage struct{ c *redis.Client }

func (s redisStorage) Get(key string) ([]byte, error) {
	value, err := s.c.Get(context.Background(), key).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return value, err
}
func (s redisStorage) Set(key string, value []byte, life time.Duration) error {
	return s.c.Set(context.Background(), key, value, life).Err()
}
func (s redisStorage) Delete(key string) error { return s.c.Del(context.Background(), key).Err() }
func (s redisStorage) Reset() error            { return s.c.FlushAll(context.Background()).Err() }
func (s redisStorage) Close() error            { return nil }

func redisHTTPRows(ctx context.Context, addr string) (*group, error) {
	client := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, MaxRetries: -1})
	store, err := redisstore.Open(ctx, redisstore.Options{Universal: &redis.UniversalOptions{Addrs: []string{addr}}})
	if err != nil {
		return nil, err
	}
	signer, err := idem.NewSigner(idem.SigningKey{ID: 1, Secret: idem.GenerateKey()})
	if err != nil {
		return nil, err
	}
	guard, err := idem.New(idem.Config{Store: store, Signer: signer, NameKey: idem.GenerateKey(), Policies: []idem.Policy{{Operation: operation, Preset: idem.API}}})
	if err != nil {
		return nil, err
	}
	flow, err := httpflow.New(httpflow.Config{Guard: guard, Scope: func(httpflow.Request) (string, error) { return "alice", nil }})
	if err != nil {
		return nil, err
	}
	ours, rival := orders(fiberidem.Guard(flow, operation)), orders(rival2.New(rival2.Config{Storage: redisStorage{client}}))
	used := 0
	trips := map[quantity]func() uint64{exchanges: func() uint64 { return store.Stats().Flushes }}
	fresh := func(name string) func(int, *fasthttp.Request) {
		return func(_ int, r *fasthttp.Request) {
			used++
			r.Header.Set(name, fmt.Sprintf("00000000-0000-4000-8000-%012d", used))
		}
	}
	same := func(name string) func(int, *fasthttp.Request) {
		return func(_ int, r *fasthttp.Request) { r.Header.Set(name, "00000000-0000-4000-8000-00000000000x") }
	}
	return &group{
		reset: func() error { return client.Set(ctx, "answer", make([]byte, 100), ttl).Err() },
		end: func() {
			_, _, _, _ = guard.Close(ctx), client.FlushAll(ctx).Err(), client.Close(), store.Close()
		},
		rows: []row{
			{name: rivalOnRedis, callers: 1, do: play(&rival, 201, fresh("X-Idempotency-Key"))},
			{name: firstOnRedis, callers: 1, counts: trips, do: play(&ours, 201, fresh("Idempotency-Key"))},
			{name: rivalOnRedis2, callers: 1, do: play(&rival, 201, same("X-Idempotency-Key"))},
			{name: oneGet, callers: 1, do: func(int) error { return client.Get(ctx, "answer").Err() }},
			{name: againOnRedis, callers: 1, counts: trips, do: play(&ours, 201, same("Idempotency-Key"))},
		},
	}, nil
}

// orders is a Fiber application with one route that makes an order.
func orders(guards ...fiber.Handler) fasthttp.RequestHandler {
	a := fiber.New()
	a.Post("/orders", append(guards, func(c *fiber.Ctx) error { return c.Status(fiber.StatusCreated).SendString(answer) })...)
	return a.Handler()
}
