package sidebyside

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/idempotency"

	fiberidem "github.com/go-idem/idem/adapters/fiber"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/core/storetest"
	"github.com/go-idem/idem/stores/memstore"
)

// subject is one of the two, over a store that its instances share.
type subject interface {
	// protect is the middleware of one more instance on the store.
	protect() (fiber.Handler, error)
	// header is the name of the header with the key.
	header() string
	// failSettle has the store fail, or work again, where an outcome is written.
	failSettle(fail bool)
	// held is how many bytes the store holds for the largest value.
	held() int
	// close ends what the instances keep running.
	close(ctx context.Context) error
}

// theirs is Fiber's middleware. It asks a fiber.Storage and a lock, which is one
// of each instance's own unless somebody writes another.
type theirs struct{ store storage }

func (s *theirs) protect() (fiber.Handler, error) {
	return idempotency.New(idempotency.Config{Storage: &s.store}), nil
}

func (s *theirs) header() string              { return idempotency.ConfigDefault.KeyHeader }
func (s *theirs) failSettle(fail bool)        { s.store.set("", nil, fail) }
func (s *theirs) held() int                   { return s.store.largest() }
func (s *theirs) close(context.Context) error { return nil }

// storage is a fiber.Storage for several instances.
type storage struct {
	mu     sync.Mutex
	values map[string][]byte
	fail   bool
}

var errDown = errors.New("the store is down")

func (s *storage) Get(key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[key], nil
}

func (s *storage) Set(key string, value []byte, _ time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail {
		return errDown
	}
	if s.values == nil {
		s.values = map[string][]byte{}
	}
	s.values[strings.Clone(key)] = append([]byte(nil), value...)
	return nil
}

func (s *storage) Delete(string) error { return nil }
func (s *storage) Reset() error        { return nil }
func (s *storage) Close() error        { return nil }

func (s *storage) set(_ string, _ []byte, fail bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
}

func (s *storage) largest() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, value := range s.values {
		n = max(n, len(value))
	}
	return n
}

// ours is this library.
type ours struct {
	policy idem.Policy // what a trouble names; the rest is the preset's
	store  *weighed
	faults *storetest.Faults
	guards []*idem.Guard
}

const operation = "shop:order:pay"

// nameKey is the same for every instance, as for every process of a program.
var nameKey = idem.NameKey(strings.Repeat("k", 32))

func newOurs(policy idem.Policy) *ours {
	policy.Operation, policy.Preset = operation, idem.API
	return &ours{policy: policy, store: &weighed{Store: memstore.New(memstore.Options{})}, faults: storetest.NewFaults()}
}

func (s *ours) protect() (fiber.Handler, error) {
	guard, err := idem.New(idem.Config{Store: s.faults.Wrap(s.store), NameKey: nameKey, Policies: []idem.Policy{s.policy}})
	if err != nil {
		return nil, err
	}
	s.guards = append(s.guards, guard)
	flow, err := httpflow.New(httpflow.Config{Guard: guard, Scope: userOf})
	if err != nil {
		return nil, err
	}
	return fiberidem.Guard(flow, operation), nil
}

func userOf(r httpflow.Request) (string, error) { return strings.Join(r.Header("X-User"), ""), nil }

func (s *ours) header() string { return "Idempotency-Key" }

func (s *ours) failSettle(fail bool) {
	var plan []storetest.Fault
	if fail {
		plan = []storetest.Fault{{Mode: storetest.Refuse, Times: -1}}
	}
	if err := s.faults.Set("settle", plan...); err != nil {
		panic(err) // the name of a step that there is
	}
}

func (s *ours) held() int { return s.store.heaviest() }

func (s *ours) close(ctx context.Context) error {
	var errs []error
	for _, g := range s.guards {
		errs = append(errs, g.Close(ctx))
	}
	return errors.Join(errs...)
}

// weighed notes the largest value that was written.
type weighed struct {
	*memstore.Store
	mu    sync.Mutex
	heavy int
}

func (w *weighed) Create(ctx context.Context, name string, value []byte, ttl time.Duration) (idem.Result, error) {
	w.weigh(value)
	return w.Store.Create(ctx, name, value, ttl)
}

func (w *weighed) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (idem.Result, error) {
	w.weigh(value)
	return w.Store.Swap(ctx, name, old, value, ttl)
}

func (w *weighed) weigh(value []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heavy = max(w.heavy, len(value))
}

func (w *weighed) heaviest() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.heavy
}

// instance is a server of a program that is guarded by a subject.
type instance struct {
	url  string
	stop func(context.Context) error
}

// start starts an instance whose only route is POST /pay.
func start(s subject, handler fiber.Handler) (*instance, error) {
	guard, err := s.protect()
	if err != nil {
		return nil, err
	}
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Post("/pay", guard, handler)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Listener(l) }()
	return &instance{"http://" + l.Addr().String(), func(ctx context.Context) error {
		return errors.Join(app.ShutdownWithContext(ctx), <-ended)
	}}, nil
}
