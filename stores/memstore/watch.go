package memstore

import (
	"context"
	"sync"
	"sync/atomic"

	idem "github.com/go-idem/idem/core"
)

// watches are those who wait for a record of this store to change: guards that
// share the store in one process. Guards do not see each other's claims, so
// without it they would wait by polling.
type watches struct {
	count atomic.Int64 // so that a Swap that nobody waits for costs no lock
	mu    sync.Mutex
	wakes map[string]map[*watch]struct{}
}

type watch struct{ wake func() }

// Watch has wake called after every Swap of name that says to wake
// ([idem.WithWake]) and is done, until stop is called. It never fails, but with
// a context that is over.
func (s *Store) Watch(ctx context.Context, name string, wake func()) (stop func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := &watch{wake}
	list := &s.watches
	list.mu.Lock()
	defer list.mu.Unlock()
	if list.wakes == nil {
		list.wakes = make(map[string]map[*watch]struct{})
	}
	if list.wakes[name] == nil {
		list.wakes[name] = make(map[*watch]struct{})
	}
	list.wakes[name][w] = struct{}{}
	list.count.Add(1)
	return sync.OnceFunc(func() { list.stop(name, w) }), nil
}

func (list *watches) stop(name string, w *watch) {
	list.mu.Lock()
	defer list.mu.Unlock()
	list.count.Add(-1)
	if delete(list.wakes[name], w); len(list.wakes[name]) == 0 {
		delete(list.wakes, name)
	}
}

// changed wakes those who watch name, if the call says so. The lock is held
// meanwhile, so that who has stopped is not woken any more.
func (list *watches) changed(ctx context.Context, name string) {
	if list.count.Load() == 0 || !idem.Wakes(ctx) {
		return
	}
	list.mu.Lock()
	defer list.mu.Unlock()
	for w := range list.wakes[name] {
		w.wake()
	}
}
