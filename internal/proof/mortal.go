package proof

import (
	"context"
	"syscall"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/redisstore"
)

// The places of PROTOCOL's crash table, as a request names the one in which its
// process is to die.
const (
	beforeTheClaim  = "before-the-claim"
	afterTheClaim   = "after-the-claim" // applied; the handler was not entered
	inTheHandler    = "in-the-handler"
	afterTheMark    = "after-the-mark"
	beforeTheSettle = "before-the-settle" // after an effect that was not marked
	afterTheSettle  = "after-the-settle"  // applied; the client was not answered
	afterTheRelease = "after-the-release" // the same of a release
)

// dies kills this process, as kill -9 does, where the request says so.
func (a about) dies(place string) {
	if a.die == place {
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way; nothing more is to happen
	}
}

// mortal is a store whose process can die at its calls. It has every ability of
// the store under it.
type mortal struct{ *redisstore.Store }

// UsesStoreStep asks the guard to say what it makes its calls for.
func (s mortal) UsesStoreStep() bool { return true }

func (s mortal) Create(ctx context.Context, name string, value []byte, ttl time.Duration) (idem.Result, error) {
	r, err := s.Store.Create(ctx, name, value, ttl)
	if idem.StoreStep(ctx) == "claim" {
		aboutOf(ctx).dies(afterTheClaim)
	}
	return r, err
}

func (s mortal) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (idem.Result, error) {
	settles, a := idem.StoreStep(ctx) == "settle", aboutOf(ctx)
	if settles {
		a.dies(beforeTheSettle)
	}
	r, err := s.Store.Swap(ctx, name, old, value, ttl)
	if settles {
		a.dies(afterTheSettle)
		a.dies(afterTheRelease)
	}
	return r, err
}
