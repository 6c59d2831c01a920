package httpflow_test

import (
	"errors"
	"sync/atomic"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
)

// downStore refuses connections while it is down.
type downStore struct {
	*memstore.Store
	down atomic.Bool
}

var errRefused = errors.New("connection refused")

func (d *downStore) Create(ctx ctx, name string, value []byte, ttl time.Duration) (idem.Result, error) {
	if d.down.Load() {
		return idem.Result{}, errRefused
	}
	return d.Store.Create(ctx, name, value, ttl)
}

func (d *downStore) Swap(ctx ctx, name string, old, value []byte, ttl time.Duration) (idem.Result, error) {
	if d.down.Load() {
		return idem.Result{}, errRefused
	}
	return d.Store.Swap(ctx, name, old, value, ttl)
}

// slowSettle lets no settle through before its gate opens.
type slowSettle struct {
	idem.Store
	gate, at chan struct{}
}

func (s *slowSettle) over(store idem.Store) idem.Store {
	s.Store, s.at = store, make(chan struct{}, 16)
	return s
}

func (s *slowSettle) reached() <-chan struct{} { return s.at }

func (s *slowSettle) UsesStoreStep() bool { return true }

func (s *slowSettle) Describe() idem.Description { return idem.Describe(s.Store) }

func (s *slowSettle) Swap(ctx ctx, name string, old, value []byte, ttl time.Duration) (idem.Result, error) {
	if idem.StoreStep(ctx) == "settle" {
		s.at <- struct{}{}
		<-s.gate
	}
	return s.Store.Swap(ctx, name, old, value, ttl)
}
