package redisstore_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/storetest"
	"github.com/go-idem/idem/internal/broken"
	"github.com/go-idem/idem/internal/leaktest"
	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/stores/redisstore"
)

func TestMain(m *testing.M) {
	if !broken.Set(os.Getenv("IDEM_BROKEN")) {
		fmt.Fprintln(os.Stderr, "IDEM_BROKEN names no rule")
		os.Exit(2)
	}
	redis.SetLogger(quiet{}) // the driver reports every failed dial of these tests
	leaktest.Main(keeping{m})
}

// keeping runs the tests with one cluster for all that want it.
type keeping struct{ m *testing.M }

func (k keeping) Run() int {
	defer redistest.Keep()()
	return k.m.Run()
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// open opens a store that ends with the test.
func open(t testing.TB, addr string, change ...func(*redisstore.Options)) *redisstore.Store {
	t.Helper()
	s, err := tryOpen(addr, change...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// tryOpen opens a store whose calls may take as long as the leases of these tests
// allow: a busy machine stands still for longer than the usual CallTimeout.
func tryOpen(addr string, change ...func(*redisstore.Options)) (*redisstore.Store, error) {
	o := redisstore.Options{
		Universal:       &redis.UniversalOptions{Addrs: []string{addr}},
		EvictionChecked: redistest.MiniredisEviction,
		CallTimeout:     time.Second,
	}
	for _, c := range change {
		c(&o)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return redisstore.Open(ctx, o)
}

// unhurried is for stores that no guard asks, and whose callers have deadlines: no
// lease is too short for its CallTimeout.
func unhurried(o *redisstore.Options) { o.CallTimeout = 5 * time.Second }

// behind makes a backend of the server at addr: every handle a store of its own,
// over one proxy.
func behind(t testing.TB, addr string, see func(*redisstore.Store) idem.Store) *storetest.Backend {
	return through(redistest.NewProxy(t, addr), see)
}

// through makes a backend of what is behind a proxy.
func through(proxy *redistest.Proxy, see func(*redisstore.Store) idem.Store, change ...func(*redisstore.Options)) *storetest.Backend {
	var stores []*redisstore.Store
	return &storetest.Backend{
		Open: func() (idem.Store, error) {
			s, err := tryOpen(proxy.Addr(), append(change, unhurried)...)
			if err != nil {
				return nil, err
			}
			stores = append(stores, s)
			return see(s), nil
		},
		Close: func() {
			for _, s := range stores {
				_ = s.Close()
			}
			proxy.Close()
		},
		Wire: &storetest.Wire{
			Lose:  func() { proxy.Lose(1, "SET", "EVALSHA", "GET") },
			Stall: proxy.Stall,
			Cut:   proxy.CutAll,
			Calls: func() int { return proxy.Count("SET", "EVALSHA", "EVAL", "GET") },
		},
	}
}

func asItIs(s *redisstore.Store) idem.Store { return s }

func faulty(s *redisstore.Store) idem.Store { return storetest.NewFaults().Wrap(s) }

func byScript(s *redisstore.Store) idem.Store { s.ClaimByScript(); return s }

// declared is what every store of this package declares.
func declared() storetest.Factory {
	return storetest.Factory{Clock: true, Describes: true, Batches: true, Watches: true, Indexes: true, Scans: true, MaxValue: redisstore.MaxValue}
}

func onMiniredis(t testing.TB, see func(*redisstore.Store) idem.Store) storetest.Factory {
	f := declared()
	f.OnePage = true // its SCAN pays no heed to COUNT
	f.New = func() (*storetest.Backend, error) {
		m := redistest.Miniredis(t)
		b := behind(t, m.Addr(), see)
		b.Advance = func(d time.Duration) { redistest.Advance(t, m, d) }
		return b, nil
	}
	return f
}

func onServer(t testing.TB, see func(*redisstore.Store) idem.Store) storetest.Factory {
	shared := redistest.Server(t)
	small, _ := redistest.Start(t, "--maxmemory", "3mb")
	f := declared()
	backend := func(addr string) func() (*storetest.Backend, error) {
		return func() (*storetest.Backend, error) {
			redistest.Flush(t, addr)
			return behind(t, addr, see), nil
		}
	}
	f.New, f.Small = backend(shared), backend(small)
	return f
}

func TestContractOnMiniredis(t *testing.T) { storetest.Run(t, onMiniredis(t, asItIs)) }

func TestContractOnMiniredisBehindTheFaultDecorator(t *testing.T) {
	storetest.Run(t, onMiniredis(t, faulty))
}

func TestContractOnAServer(t *testing.T) { storetest.Run(t, onServer(t, asItIs)) }

func TestContractOnAServerBehindTheFaultDecorator(t *testing.T) {
	f := onServer(t, faulty)
	f.Small = nil // that it refuses when full is asked of the store itself
	storetest.Run(t, f)
}

func BenchmarkServer(b *testing.B) {
	addr := redistest.Server(b)
	f := declared()
	f.New = func() (*storetest.Backend, error) {
		redistest.Flush(b, addr)
		s, err := tryOpen(addr)
		return &storetest.Backend{
			Open:  func() (idem.Store, error) { return s, err },
			Close: func() { _ = s.Close() },
		}, err
	}
	storetest.Bench(b, f)
}
