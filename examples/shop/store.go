package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
	"github.com/go-idem/idem/stores/redisstore"
)

// The stores the shop can keep its records in.
var storeNames = []string{"miniredis", "memory", "redis"}

const defaultRedis = "redis://127.0.0.1:6379"

// callTimeout is short because the lease has to be at least nine times what
// one call may take (dialling and reading), and this shop's lease is short.
func callTimeout(lease time.Duration) time.Duration { return lease / 20 }

// openedStore is a store together with what it takes to reach it from another
// process and to close it.
type openedStore struct {
	records idem.Store
	words   string  // for the page
	redis   redisAt // the Redis behind it, zero where there is none
	close   func()
}

// redisAt says where a Redis is, to this process and to its children.
type redisAt struct {
	URL string
	// Checked says who made sure that it evicts nothing, where the server cannot
	// tell: an embedded miniredis has no such setting. A real one is asked.
	Checked string
	Call    time.Duration // how long a reply may take
}

// openStore opens a store by its flag. A Redis that does not answer is an error
// here: this program has no use for a shop without records. flushed is told of the
// pipelines of a Redis.
func openStore(ctx context.Context, opts options, flushed func(redisstore.Flush)) (*openedStore, error) {
	call := callTimeout(opts.lease)
	switch opts.store {
	case "memory":
		return &openedStore{records: memstore.New(memstore.Options{}), words: "this process's memory", close: func() {}}, nil
	case "miniredis":
		embedded := miniredis.NewMiniRedis()
		embedded.ClockTTL(true) // leases are judged by the store's clock: it has to run
		if err := embedded.Start(); err != nil {
			return nil, fmt.Errorf("start the embedded miniredis: %w", err)
		}
		s, err := openRedis(ctx, redisAt{URL: "redis://" + embedded.Addr(), Checked: "examples/shop: a miniredis evicts nothing", Call: call}, flushed)
		if err != nil {
			embedded.Close()
			return nil, err
		}
		closeClient := s.close
		s.words, s.close = "an embedded miniredis", func() { closeClient(); embedded.Close() }
		return s, nil
	case "redis":
		return openRedis(ctx, redisAt{URL: opts.redis, Call: call}, flushed)
	}
	return nil, fmt.Errorf("store %q is none of %v", opts.store, storeNames)
}

// openRedis opens a Redis. flushed may be nil.
func openRedis(ctx context.Context, where redisAt, flushed func(redisstore.Flush)) (*openedStore, error) {
	at, err := redis.ParseURL(where.URL)
	if err != nil {
		return nil, fmt.Errorf("read the Redis URL (redis://[user:password@]host:port[/database]): %w", err)
	}
	s, err := redisstore.Open(ctx, redisstore.Options{
		Universal: &redis.UniversalOptions{
			Addrs: []string{at.Addr}, Username: at.Username, Password: at.Password, DB: at.DB, TLSConfig: at.TLSConfig,
		},
		CallTimeout: where.Call, EvictionChecked: where.Checked, OnFlush: flushed,
	})
	if err != nil {
		return nil, fmt.Errorf("open the Redis at %s: %w", at.Addr, err)
	}
	if err := ready(ctx, s); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("the Redis at %s cannot be used (start one, or leave -store out to use an embedded one): %w", at.Addr, err)
	}
	return &openedStore{records: s, words: "Redis at " + at.Addr, redis: where, close: func() { _ = s.Close() }}, nil
}

// ready waits until a Redis is fit for use. One that is slow to answer is asked
// again: nothing is lost by that, and an order might be.
func ready(ctx context.Context, s *redisstore.Store) (err error) {
	for range 10 {
		if err = s.Ready(ctx); err == nil || errors.Is(err, redisstore.ErrUnfit) || errors.Is(err, syscall.ECONNREFUSED) {
			break
		}
	}
	return err
}

// sweep removes what this shop left in a Redis that outlives it: nobody can
// read those records any more once the keys of this process are gone. It walks
// with a cursor, so that a busy server does not notice.
func (w redisAt) sweep(ctx context.Context, prefix string) error {
	if w.URL == "" {
		return nil
	}
	at, err := redis.ParseURL(w.URL)
	if err != nil {
		return err
	}
	client := redis.NewClient(at)
	defer client.Close()
	names := client.Scan(ctx, 0, prefix+"*", 500).Iterator()
	for names.Next(ctx) {
		if err := client.Del(ctx, names.Val()).Err(); err != nil {
			return fmt.Errorf("remove this shop's records: %w", err)
		}
	}
	if err := names.Err(); err != nil {
		return fmt.Errorf("look for this shop's records: %w", err)
	}
	return nil
}

// newKeys makes the keys of one shop. They live as long as this process and the
// children it starts, and so does the prefix, so that two demonstrations on one
// Redis keep out of each other's way. A real service reads its keys from where
// all its processes find the same ones, and never changes Name while records
// live.
func newKeys() keys {
	return keys{Name: idem.NameKey(idem.GenerateKey()), Sign: idem.GenerateKey(), Prefix: "idem-shop-" + rand.Text()[:6] + ":"}
}

var errCut = errors.New("the process that held this store handle is dead")

// cutStore is a store handle that can be cut, as a process's death cuts its
// connections: from then on every call fails and none is applied. It stands in
// for a killed process where the store lives in this one.
type cutStore struct {
	idem.Store
	isCut atomic.Bool
}

func (s *cutStore) cut() { s.isCut.Store(true) }

func (s *cutStore) Create(ctx context.Context, name string, value []byte, ttl time.Duration) (idem.Result, error) {
	if s.isCut.Load() {
		return idem.Result{}, errCut
	}
	return s.Store.Create(ctx, name, value, ttl)
}

func (s *cutStore) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (idem.Result, error) {
	if s.isCut.Load() {
		return idem.Result{}, errCut
	}
	return s.Store.Swap(ctx, name, old, value, ttl)
}

func (s *cutStore) Load(ctx context.Context, name string) (idem.Result, error) {
	if s.isCut.Load() {
		return idem.Result{}, errCut
	}
	return s.Store.Load(ctx, name)
}

// Describe describes the store behind the handle.
func (s *cutStore) Describe() idem.Description { return idem.Describe(s.Store) }

// Now tells the time of the store behind the handle, the host's where it has
// none to tell.
func (s *cutStore) Now(ctx context.Context) (time.Time, error) {
	now, ok, err := idem.StoreClock(ctx, s.Store)
	if !ok && err == nil {
		now = time.Now()
	}
	return now, err
}
