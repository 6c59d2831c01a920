package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/labstack/echo/v4"
	"github.com/redis/go-redis/v9"

	echoidem "github.com/go-idem/idem/adapters/echo"
	fiberidem "github.com/go-idem/idem/adapters/fiber"
	"github.com/go-idem/idem/adapters/stdhttp"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/core/storetest"
	"github.com/go-idem/idem/stores/memstore"
	"github.com/go-idem/idem/stores/redisstore"
)

// The routes of a site. Each makes an order; they differ in what stands before.
const (
	barePath    = "/bare"    // nothing
	guardedPath = "/guarded" // the guard, records in memory, the key optional
	redisPath   = "/redis"   // the guard, records in Redis
	naivePath   = "/naive"   // SET NX, the handler, SET: net/http only
	tokenPath   = "/token"   // the guard, a token required
	stormPath   = "/storm"   // like /bare, /redis: the runs are counted by user
	stormGuard  = "/storm/redis"

	waitPolicy  = "shop:order:storm"
	tokenPolicy = "shop:order:token"
)

// users is how many of them a storm has.
const users = 10_000

// site is what the measured process serves.
type site struct {
	client *redis.Client
	memory *httpflow.Flow
	shared *httpflow.Flow
	token  *httpflow.Flow
	ends   []func() error

	read   atomic.Int64
	counts *storetest.Faults // without a fault: it counts the calls for tokens
	ran    [users]atomic.Int32
}

func newSite(ctx context.Context, addr string) (*site, error) {
	s := &site{counts: storetest.NewFaults(), client: redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, MaxRetries: -1})}
	store, err := redisstore.Open(ctx, redisstore.Options{Universal: &redis.UniversalOptions{Addrs: []string{addr}}})
	if err != nil {
		return nil, err
	}
	s.ends = append(s.ends, store.Close, s.client.Close)
	signer, err := idem.NewSigner(idem.SigningKey{ID: 1, Secret: idem.GenerateKey()})
	if err != nil {
		return nil, err
	}
	flow := func(store idem.Store, p idem.Policy) *httpflow.Flow {
		g, e1 := idem.New(idem.Config{Store: store, NameKey: idem.GenerateKey(), Signer: signer, Prefix: "idem:" + p.Operation + "-site:", Policies: []idem.Policy{p}})
		if e1 != nil {
			err = errors.Join(err, e1)
			return nil
		}
		s.ends = append(s.ends, func() error { return g.Close(ctx) })
		f, e2 := httpflow.New(httpflow.Config{Guard: g, Scope: func(httpflow.Request) (string, error) { return "alice", nil }})
		err = errors.Join(err, e2)
		return f
	}
	s.memory = flow(memstore.New(memstore.Options{}), idem.Policy{Operation: operation, Preset: idem.API})
	s.shared = flow(store, idem.Policy{Operation: waitPolicy, Preset: idem.API, OnDuplicate: idem.Wait, Wait: 10 * time.Second})
	s.token = flow(s.counts.Wrap(memstore.New(memstore.Options{})), idem.Policy{Operation: tokenPolicy, Preset: idem.Form, MaxBody: 16 << 20})
	return s, err
}

func (s *site) close() (err error) {
	for i := len(s.ends) - 1; i >= 0; i-- {
		err = errors.Join(err, s.ends[i]())
	}
	return err
}

// listen serves on a port for each framework, all of them until the process ends.
func (s *site) listen() (addresses, error) {
	where := addresses{}
	for name, serve := range map[string]func(net.Listener) error{
		"net/http": (&http.Server{Handler: s.netHTTP()}).Serve,
		"Echo":     s.echo().Server.Serve,
		"Fiber":    s.fiber().Listener,
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		where[name] = l.Addr().String()
		go func() { _ = serve(meter{l, &s.read}) }()
	}
	return where, nil
}

func (s *site) netHTTP() http.Handler {
	order := http.HandlerFunc(makeOrder)
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.count(r.Header.Get("X-User"))
		makeOrder(w, r)
	})
	mux := http.NewServeMux()
	mux.Handle("POST "+barePath, order)
	mux.Handle("POST "+guardedPath, stdhttp.Guard(s.memory, operation, order))
	mux.Handle("POST "+redisPath, stdhttp.Guard(s.shared, waitPolicy, order))
	mux.Handle("POST "+naivePath, s.naive(order))
	mux.Handle("POST "+tokenPath, stdhttp.Guard(s.token, tokenPolicy, order))
	mux.Handle("POST "+stormPath, counted)
	mux.Handle("POST "+stormGuard, stdhttp.Guard(s.shared, waitPolicy, counted))
	return mux
}

// makeOrder reads what was asked and answers.
func makeOrder(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header()["Content-Type"] = []string{"application/json"}
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, answer)
}

// naive is what one writes first: the key is taken by SET NX, and the answer put
// over it. A crash between the two leaves the key taken, a repeat in between is
// refused, another body under the same key is not seen, and nobody waits.
func (s *site) naive(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := "naive:" + r.Header.Get("Idempotency-Key")
		first, err := s.client.SetNX(r.Context(), name, "running", ttl).Result()
		if err != nil || !first {
			w.WriteHeader(http.StatusConflict)
			return
		}
		h.ServeHTTP(w, r)
		_ = s.client.Set(r.Context(), name, answer, ttl).Err()
	})
}

func (s *site) echo() *echo.Echo {
	e := echo.New()
	order := func(c echo.Context) error { return c.String(http.StatusCreated, answer) }
	e.POST(barePath, order)
	e.POST(tokenPath, order, echoidem.Guard(s.token, tokenPolicy))
	e.Server.Handler = e
	return e
}

func (s *site) fiber() *fiber.App {
	a := fiber.New(fiber.Config{DisableStartupMessage: true, StreamRequestBody: true, BodyLimit: 16 << 20})
	order := func(c *fiber.Ctx) error { return c.Status(fiber.StatusCreated).SendString(answer) }
	a.Post(barePath, order)
	a.Post(guardedPath, fiberidem.Guard(s.memory, operation), order)
	a.Post(tokenPath, fiberidem.Guard(s.token, tokenPolicy), order)
	return a
}

// count takes down a run for a user.
func (s *site) count(user string) {
	if n, err := strconv.Atoi(user); err == nil && n >= 0 && n < users {
		s.ran[n].Add(1)
	}
}

func (s *site) reset() {
	s.counts.Reset()
	s.read.Store(0)
	for i := range s.ran {
		s.ran[i].Store(0)
	}
}

func (s *site) tally() tally {
	t := tally{spent: spentNow(), Calls: int64(s.counts.Calls("", "")), Read: s.read.Load()}
	for i := range s.ran {
		n := int(s.ran[i].Load())
		if t.Runs += n; n != 1 {
			t.Astray++
		}
	}
	return t
}

// meter counts what is read from the connections of a listener.
type meter struct {
	net.Listener
	read *atomic.Int64
}

func (m meter) Accept() (net.Conn, error) {
	c, err := m.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return meteredConn{c, m.read}, nil
}

type meteredConn struct {
	net.Conn
	read *atomic.Int64
}

func (c meteredConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}
