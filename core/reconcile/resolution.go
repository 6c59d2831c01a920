package reconcile

import (
	"context"
	"fmt"

	idem "github.com/go-idem/idem/core"
)

// Record, Resolver and Resolution are those of package idem.
type (
	Record     = idem.Record
	Resolver   = idem.Resolver
	Resolution = idem.Resolution
)

// Func is a function that is a [Resolver].
type Func func(ctx context.Context, r Record) (Resolution, error)

// Resolve calls f.
func (f Func) Resolve(ctx context.Context, r Record) (Resolution, error) { return f(ctx, r) }

// Succeeded says that the action was done, and what its answer is: see [JSON],
// and httpflow.KeptAnswer for operations behind HTTP. Repeats get it from now on.
func Succeeded(answer idem.Payload) Resolution {
	return Resolution{Outcome: idem.Completes, Payload: answer}
}

// Failed says that the action was refused for good, and with what answer.
func Failed(answer idem.Payload) Resolution {
	return Resolution{Outcome: idem.Fails, Payload: answer}
}

// Released says that the action had no effect, and that nothing which is still on
// its way can give it one: the same key runs again.
func Released() Resolution { return Resolution{Outcome: idem.Releases} }

// Later says that it cannot be told yet. It is the zero Resolution.
func Later() Resolution { return Resolution{} }

// JSON is the answer that an operation under [idem.JSON] keeps. An error says
// that v cannot be encoded.
func JSON(v any) (idem.Payload, error) { return idem.JSON[any]().Encode(v) }

// ask calls a resolver within the time that ctx leaves, and contains its panic.
// Whatever settles nothing is Later.
func ask(ctx context.Context, r Resolver, rec Record) (res Resolution, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = Later(), fmt.Errorf("idem: the resolver panicked: %v", p)
		}
	}()
	if res, err = r.Resolve(ctx, rec); err != nil {
		return Later(), err
	}
	return res, nil
}
