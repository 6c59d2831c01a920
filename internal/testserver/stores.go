package testserver

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/go-idem/idem/adapters/adaptertest"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
	"github.com/go-idem/idem/stores/redisstore"
)

// memory is a store in this process that can lose its data.
type memory struct {
	now   atomic.Pointer[memstore.Store]
	moved atomic.Int64 // by how much time was moved on, in nanoseconds
}

func newMemory() *memory {
	m := &memory{}
	m.now.Store(memstore.New(memstore.Options{}))
	return m
}

func (m *memory) Create(ctx context.Context, name string, value []byte, ttl time.Duration) (idem.Result, error) {
	return m.now.Load().Create(ctx, name, value, ttl)
}

func (m *memory) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (idem.Result, error) {
	return m.now.Load().Swap(ctx, name, old, value, ttl)
}

func (m *memory) Load(ctx context.Context, name string) (idem.Result, error) {
	return m.now.Load().Load(ctx, name)
}

func (m *memory) Now(ctx context.Context) (time.Time, error) { return m.now.Load().Now(ctx) }

// Describe allows a call the time for which a busy test machine may stand still:
// a store that is watched and disturbed is called with a deadline, as a remote
// one is, and a millisecond is none.
func (m *memory) Describe() idem.Description {
	d := m.now.Load().Describe()
	d.WorstCall = 40 * time.Millisecond
	return d
}

// handle is what one server holds of a memory. It is called as a redis would be
// with that time-out: a server that is to bear a busy machine has half a second for
// a call, and leases to match.
type handle struct {
	*memory
	call time.Duration
}

func (h handle) Describe() idem.Description {
	d := h.memory.Describe()
	d.WorstCall = 2 * h.call // dial and read
	return d
}

func (m *memory) advance(d time.Duration) error {
	m.moved.Add(int64(d))
	m.now.Load().Advance(d)
	return nil
}

// flush loses everything but the time.
func (m *memory) flush() error {
	empty := memstore.New(memstore.Options{})
	empty.Advance(time.Duration(m.moved.Load()))
	m.now.Store(empty)
	return nil
}

// Memory plays the statements on a store in the process of the test.
func Memory() adaptertest.Backend {
	return adaptertest.Backend{Name: "memory", Open: func() (*adaptertest.Shared, error) {
		m := newMemory()
		return &adaptertest.Shared{
			Prefix:  "idem:",
			Open:    func(call time.Duration) (idem.Store, error) { return handle{m, call}, nil },
			Advance: m.advance, Flush: m.flush, Close: func() {},
		}, nil
	}}
}

// Redis plays the statements on a redis-server at addr. Every scene has a prefix
// of its own, so many may share a server.
func Redis(addr string, launch *Launcher) adaptertest.Backend {
	return adaptertest.Backend{Name: "redis", Launch: launch.node, Open: func() (*adaptertest.Shared, error) {
		sh := redisShared(addr, "")
		sh.Flags = append(sh.Flags, "-store", "redis")
		return sh, nil
	}}
}

// Miniredis plays the statements on a miniredis of their own each, which is a
// process of its own.
func Miniredis(launch *Launcher) adaptertest.Backend {
	return adaptertest.Backend{Name: "miniredis", Launch: launch.node, Open: func() (*adaptertest.Shared, error) {
		mini, err := launch.miniredis()
		if err != nil {
			return nil, err
		}
		sh := redisShared(mini.addr, miniEviction)
		sh.Flags = append(sh.Flags, "-store", "redis", "-mini")
		base := sh.Close
		sh.Advance = func(d time.Duration) error { return advanceMini(mini.addr, d) }
		sh.Close = func() { base(); mini.stop() }
		return sh, nil
	}}
}

// redisShared is what scenes on anything that speaks Redis have in common.
func redisShared(addr, evictionChecked string) *adaptertest.Shared {
	prefix := "idem:" + rand.Text()[:10] + ":"
	keys := redisKeys{addr: addr, prefix: prefix}
	return &adaptertest.Shared{
		Prefix: prefix,
		Flags:  []string{"-redis", "redis://" + addr, "-prefix", prefix},
		Open: func(call time.Duration) (idem.Store, error) {
			return openRedis(&redis.Options{Addr: addr}, options{call: call}, evictionChecked)
		},
		Age: keys.age, Flush: keys.flush,
		Close: func() { _ = keys.flush() }, // leaves a shared server as it was
	}
}

// openRedis opens a store. Who listens there is the user's affair, how it is
// spoken to redisstore's: of the options only what a URL can say counts.
// evictionChecked says by whom it was made sure that the server evicts nothing;
// "" has it asked.
func openRedis(at *redis.Options, o options, evictionChecked string) (idem.Store, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return redisstore.Open(ctx, redisstore.Options{CallTimeout: o.call, Pipelines: o.pipelines, EvictionChecked: evictionChecked, Universal: &redis.UniversalOptions{
		Addrs: []string{at.Addr}, DB: at.DB, Username: at.Username, Password: at.Password, TLSConfig: at.TLSConfig,
	}})
}

// advanceMini moves a Mini's time on over its wire.
func advanceMini(addr string, d time.Duration) error {
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	return client.Do(context.Background(), advanceCommand, d.Milliseconds()).Err()
}

// redisKeys are the records of one prefix on a server.
type redisKeys struct{ addr, prefix string }

// each calls do for every one of them.
func (k redisKeys) each(do func(ctx context.Context, client *redis.Client, name string) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: k.addr})
	defer client.Close()
	names := client.Scan(ctx, 0, k.prefix+"*", 1000).Iterator()
	for names.Next(ctx) {
		if err := do(ctx, client, names.Val()); err != nil {
			return fmt.Errorf("changing the records of %s: %w", k.prefix, err)
		}
	}
	return names.Err()
}

func (k redisKeys) flush() error {
	return k.each(func(ctx context.Context, c *redis.Client, name string) error { return c.Del(ctx, name).Err() })
}

func (k redisKeys) age(d time.Duration) error {
	return k.each(func(ctx context.Context, c *redis.Client, name string) error {
		left, err := c.PTTL(ctx, name).Result()
		switch {
		case err != nil:
			return err
		case left <= d:
			return c.Del(ctx, name).Err()
		}
		return c.PExpire(ctx, name, left-d).Err()
	})
}
