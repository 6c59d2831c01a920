package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
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

	// away says that the server is in another host of the zone. Over a loopback a round
	// trip is the time in which this machine wakes up, 20 to 60 µs from one run to the
	// next, and what is compared is how often it slept.
	away = "200 µs away: "
)

var redisHTTPBudgets = []budget{
	atMost("B4", "200 µs away: first on Redis: time, × fiber v2's middleware on Redis", ratio(away+firstOnRedis, away+rivalOnRedis, micros), 0.70),
	atMost("B4", "200 µs away: replay on Redis: time, × one GET", ratio(away+againOnRedis, away+oneGet, micros), 1.10),
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
	near, err := newHTTPBed(ctx, addr, nil)
	if err != nil {
		return nil, err
	}
	far, err := newHTTPBed(ctx, addr, dialFar(inTheZone))
	if err != nil {
		return nil, err
	}
	return &group{
		reset: func() error { return near.client.Set(ctx, "answer", make([]byte, 100), ttl).Err() },
		end:   func() { far.end(ctx); near.end(ctx) },
		rows:  append(near.rows(ctx, ""), far.rows(ctx, away)...),
	}, nil
}

// httpBed is both applications, with connections of one kind.
type httpBed struct {
	client      *redis.Client
	store       *redisstore.Store
	guard       *idem.Guard
	ours, rival fasthttp.RequestHandler
	used        int
}

func newHTTPBed(ctx context.Context, addr string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) (*httpBed, error) {
	b := &httpBed{client: redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, MaxRetries: -1, Dialer: dial})}
	var err error
	b.store, err = redisstore.Open(ctx, redisstore.Options{
		Universal:   &redis.UniversalOptions{Addrs: []string{addr}, Dialer: dial},
		CallTimeout: time.Second, // a call that is given up is made again, and would count twice
	})
	if err != nil {
		return nil, err
	}
	signer, err := idem.NewSigner(idem.SigningKey{ID: 1, Secret: make([]byte, 32)})
	if err != nil {
		return nil, err
	}
	b.guard, err = idem.New(idem.Config{Store: b.store, Signer: signer, NameKey: make(idem.NameKey, 32), Policies: []idem.Policy{{Operation: operation, Preset: idem.API}}})
	if err != nil {
		return nil, err
	}
	flow, err := httpflow.New(httpflow.Config{Guard: b.guard, Scope: func(httpflow.Request) (string, error) { return "alice", nil }})
	if err != nil {
		return nil, err
	}
	b.ours, b.rival = orders(fiberidem.Guard(flow, operation)), orders(rival2.New(rival2.Config{Storage: redisStorage{b.client}}))
	return b, b.warm(ctx)
}

// warm has both served once: the first request of a store brings its scripts along,
// and would count among few.
func (b *httpBed) warm(ctx context.Context) error {
	for _, r := range b.rows(ctx, "") {
		if strings.HasSuffix(r.name, "first") {
			if err := r.do(0); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		}
	}
	return nil
}

func (b *httpBed) end(ctx context.Context) {
	_, _, _, _ = b.guard.Close(ctx), b.client.FlushAll(ctx).Err(), b.client.Close(), b.store.Close()
}

func (b *httpBed) rows(ctx context.Context, where string) []row {
	trips := map[quantity]func() uint64{exchanges: func() uint64 { return b.store.Stats().Flushes }}
	fresh := func(name string) func(int, *fasthttp.Request) {
		return func(_ int, r *fasthttp.Request) {
			b.used++
			r.Header.Set(name, fmt.Sprintf("%08d-0000-4000-8000-%012d", len(where), b.used))
		}
	}
	same := func(name string) func(int, *fasthttp.Request) {
		return func(_ int, r *fasthttp.Request) { r.Header.Set(name, "00000000-0000-4000-8000-00000000000x") }
	}
	return []row{
		{name: where + rivalOnRedis, callers: 1, do: play(&b.rival, 201, fresh("X-Idempotency-Key"))},
		{name: where + firstOnRedis, callers: 1, counts: trips, do: play(&b.ours, 201, fresh("Idempotency-Key"))},
		{name: where + rivalOnRedis2, callers: 1, do: play(&b.rival, 201, same("X-Idempotency-Key"))},
		{name: where + oneGet, callers: 1, do: func(int) error { return b.client.Get(ctx, "answer").Err() }},
		{name: where + againOnRedis, callers: 1, counts: trips, do: play(&b.ours, 201, same("Idempotency-Key"))},
	}
}

// orders is a Fiber application with one route that makes an order.
func orders(guards ...fiber.Handler) fasthttp.RequestHandler {
	a := fiber.New()
	a.Post("/orders", append(guards, func(c *fiber.Ctx) error { return c.Status(fiber.StatusCreated).SendString(answer) })...)
	return a.Handler()
}
