package redisstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/storetest"
	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/stores/redisstore"
)

// looking is the contract on a real server that a proxy makes look like another
// version. It says which commands it is to be kept by.
func looking(t *testing.T, like func([]string) []string, claimBy, swapBy string) {
	t.Parallel()
	addr, _ := redistest.Start(t)
	f := declared()
	f.New = func() (*storetest.Backend, error) {
		redistest.Flush(t, addr)
		proxy := redistest.NewProxy(t, addr)
		proxy.Rewrite(like)
		return through(proxy, func(s *redisstore.Store) idem.Store {
			// A server that was slow to answer was not looked at when the store was opened.
			eventually(t, "a look at the server", func() bool { return s.Ready(t.Context()) == nil })
			if r := s.Report(); r.ClaimBy != claimBy || r.SwapBy != swapBy {
				t.Errorf("claim by %s, later steps by %s; want %s, %s", r.ClaimBy, r.SwapBy, claimBy, swapBy)
			}
			return s
		}), nil
	}
	storetest.Run(t, f)
}

// Emulated: Redis 6.2, whose SET does not take NX with GET.
func TestContractOnAServerBefore7(t *testing.T) {
	looking(t, redistest.Before7, "script", "script")
}

// Emulated: Redis 8.4, whose SET takes IFEQ.
func TestContractOnAServerWithIFEQ(t *testing.T) {
	looking(t, redistest.Since84, "SET NX GET", "SET IFEQ")
}

// Emulated: Valkey 8.1.
func TestValkeyIsKnown(t *testing.T) {
	addr := redistest.Server(t)
	proxy := redistest.NewProxy(t, addr)
	proxy.Rewrite(redistest.Valkey81)
	s := open(t, proxy.Addr())
	if r := s.Report(); r.SwapBy != "SET IFEQ" || r.ClaimBy != "SET NX GET" {
		t.Errorf("%+v", r)
	}
}

// Given a server that no longer takes IFEQ (a failover to an older one), then a
// settle is made by the script, and no client sees an error.
func TestAServerThatForgotIFEQ(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	proxy := redistest.NewProxy(t, addr)
	proxy.Rewrite(redistest.Since84)
	s := open(t, proxy.Addr())
	done(t, "with it", "Create")(s.Create(t.Context(), "a", []byte("1"), time.Minute))
	done(t, "with it", "Swap")(s.Swap(t.Context(), "a", []byte("1"), []byte("2"), time.Minute))
	found(t, "with it", "Swap of another", "2")(s.Swap(t.Context(), "a", []byte("1"), []byte("3"), time.Minute))
	proxy.Rewrite(nil)
	done(t, "without", "Swap")(s.Swap(t.Context(), "a", []byte("2"), []byte("3"), time.Minute))
	found(t, "without", "Load", "3")(s.Load(t.Context(), "a"))
}

// Given a server that no longer takes NX with GET (a failover to an older one), then
// a claim is made by the script, and no client sees an error; once that is known it
// costs no second exchange.
func TestAServerThatForgotNXWithGET(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	proxy := redistest.NewProxy(t, addr)
	s := open(t, proxy.Addr())
	done(t, "with it", "Create")(s.Create(t.Context(), "a", []byte("1"), time.Minute))
	proxy.Rewrite(redistest.Before7)
	for i, r := range s.Apply(t.Context(), append(creates("n", 3), idem.Op{Kind: idem.OpCreate, Name: "a", Value: []byte("2"), TTL: time.Minute})) {
		if r.Err != nil || r.Done != (i < 3) || i == 3 && string(r.Value) != "1" {
			t.Errorf("without, %d of a batch: %+v", i, r)
		}
	}
	before := s.Stats().Flushes
	done(t, "without", "Create")(s.Create(t.Context(), "b", []byte("1"), time.Minute))
	if n := s.Stats().Flushes - before; n != 1 || s.Report().ClaimBy != "script" {
		t.Errorf("the next claim took %d exchanges; claims go by %s", n, s.Report().ClaimBy)
	}
}

// A real twemproxy before two real servers: scripts and polling, the host's clock.
func TestContractThroughTwemproxy(t *testing.T) {
	t.Parallel()
	addr, behind := redistest.Twemproxy(t, 2)
	f := declared()
	f.Watches, f.Scans, f.Clock = false, false, false
	f.New = func() (*storetest.Backend, error) {
		for _, own := range behind {
			redistest.Flush(t, own)
		}
		return through(redistest.NewProxy(t, addr), func(s *redisstore.Store) idem.Store {
			return unwalked{s, s, s, s}
		}, overTwemproxy), nil
	}
	storetest.Run(t, f)
}

// unwalked is what a store can do through a twemproxy: there is neither SCAN nor
// TIME.
type unwalked struct {
	idem.Store
	idem.Batcher
	idem.Indexer
	idem.Describer
}

func overTwemproxy(o *redisstore.Options) {
	o.Twemproxy, o.EvictionChecked = true, "this test, which started the servers"
}

// Nothing that a twemproxy does not know is sent to it: it would close the
// connection and with it everything that is under way.
func TestATwemproxyIsAskedForNothingItDoesNotKnow(t *testing.T) {
	addr, _ := redistest.Twemproxy(t, 2)
	proxy := redistest.NewProxy(t, addr)
	s := open(t, proxy.Addr(), overTwemproxy)
	if r := s.Report(); r.Mode != "twemproxy" || r.Clock != "this host" || !strings.Contains(r.String(), "version not told") {
		t.Errorf("the report says %s", r)
	}
	if report := guarded(t, s).Report(); !strings.Contains(report, "its clock is not told: hosts must agree") {
		t.Errorf("a guard says it goes by a clock that cannot be asked:\n%s", report)
	}
	for i, r := range s.Apply(t.Context(), creates("idem:shop:order:create:", 50)) {
		if r.Err != nil || !r.Done {
			t.Errorf("%d: %+v", i, r)
		}
	}
	done(t, "a settle", "Swap")(s.Swap(t.Context(), "idem:shop:order:create:7", []byte("v"), []byte("w"), time.Minute))
	if now, err := s.Now(t.Context()); !errors.Is(err, idem.ErrUnable) {
		t.Errorf("it has a clock that says %v, %v", now, err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Scan(t.Context(), "idem:", "", 10); !errors.Is(err, idem.ErrUnable) {
		t.Errorf("a walk: %v", err)
	}
	if _, err := s.Watch(t.Context(), "idem:x", func() {}); !errors.Is(err, idem.ErrNotWatched) {
		t.Errorf("a watch: %v", err)
	}
	known := proxy.Count("SET", "GET", "PTTL", "EVAL", "EVALSHA")
	if all := proxy.Count(); all != known || proxy.Conns() == 0 {
		t.Errorf("%d of %d commands are of the known ones", known, all)
	}
}

// What cannot be had over a twemproxy is refused, all at once.
func TestWhatDoesNotGoWithATwemproxyIsRefused(t *testing.T) {
	_, err := tryOpen("a:1", func(o *redisstore.Options) {
		o.Twemproxy, o.EvictionChecked = true, ""
		o.Universal.DB, o.Universal.Addrs = 3, []string{"a:1", "b:2"}
		o.WaitReplicas.Replicas = 1
	})
	for _, says := range []string{"one address", "DB", "EvictionChecked", "WAIT"} {
		if !errors.Is(err, redisstore.ErrOptions) || !strings.Contains(err.Error(), says) {
			t.Errorf("it does not say %q: %v", says, err)
		}
	}
}
