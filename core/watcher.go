package idem

import (
	"context"
	"errors"
)

// Watcher is the ability of a store to wake those who wait for a record when
// another process settles it. It is a courtesy and no promise: a wake-up that
// is lost costs a waiter the rest of its slow poll (500 ms), nothing else, so
// a store never fails or holds up a write for the sake of one.
//
// Which writes are worth a wake-up only the writer knows. It says so with the
// write itself ([WithWake], [Op].Wake), so that waking costs no call of its own
// and renewals, which are most of the writes, stay silent.
type Watcher interface {
	// Watch has wake called after every Swap of name that says to wake and is
	// done, by whatever process, from the moment on at which Watch has returned.
	// Where a subscription was interrupted, wake is called once when it stands
	// again: something may have been missed. It goes on until stop is called;
	// after stop has returned, wake is not called any more.
	//
	// wake must return at once. It is called from any goroutine, and may be
	// called more often than there are changes. ctx bounds Watch itself, not the
	// watching. Any error means that name is not watched; [ErrNotWatched] says
	// that this store, as it is set up, can watch nothing.
	Watch(ctx context.Context, name string, wake func()) (stop func(), err error)
}

// ErrNotWatched is what [Watch] returns for a store that cannot wake anybody.
var ErrNotWatched = errors.New("idem: this store wakes nobody: look again from time to time")

// Watch watches a name on a store, or on the one behind a decorator. For stores
// without the ability it returns [ErrNotWatched]; then polling has to do.
func Watch(ctx context.Context, s Store, name string, wake func()) (stop func(), err error) {
	w, ok := ability[Watcher](s)
	if !ok {
		return nil, ErrNotWatched
	}
	return w.Watch(ctx, name, wake)
}

type wakeKey struct{}

// waking is made once, so that a settle on a store in memory allocates none.
var waking = context.WithValue(context.Background(), wakeKey{}, true)

// WithWake returns a context under which a Swap that is done wakes those who
// watch its name, where the store can: see [Watcher]. Decorators need not know
// of it; they hand on the context.
func WithWake(ctx context.Context) context.Context {
	if ctx == context.Background() {
		return waking
	}
	return context.WithValue(ctx, wakeKey{}, true)
}

// Wakes tells whether a call's context says to wake those who watch.
func Wakes(ctx context.Context) bool {
	on, _ := ctx.Value(wakeKey{}).(bool)
	return on
}

// wakes tells whether an end of a claim of this operation may have somebody
// waiting for it in another process.
func (op *operation) wakes(g *Guard) bool { return g.watches && op.policy.OnDuplicate == Wait }
