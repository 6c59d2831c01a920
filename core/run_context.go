package idem

import (
	"context"
	"sync"
	"time"
)

// runContext is the context of a handler: cut loose from the connection
// (PROTOCOL P7), ended by the loss of the claim, MaxRun or Close.
//
// Most handlers of memory and of a millisecond never ask when it ends. So the
// context that can be waited for is made when somebody first asks for more than
// whether it has ended; until then an end is only noted down.
type runContext struct {
	claim *Claim

	mu     sync.Mutex
	parent context.Context // of the request; its values stay
	whole  context.Context // nil until it is needed
	cancel context.CancelCauseFunc
	why    error // it has ended: the cause
}

type claimKey struct{}

// begin makes it the context of a run that its connection cannot end.
func (r *runContext) begin(c *Claim, parent context.Context) { r.claim, r.parent = c, parent }

// attach makes it the context of a run that its connection ends, too.
func (r *runContext) attach(c *Claim, parent context.Context) {
	r.claim = c
	r.whole, r.cancel = context.WithCancelCause(parent)
}

// lend makes it the context of a run that is none of the guard's business.
func (r *runContext) lend(c *Claim, parent context.Context) { r.claim, r.whole = c, parent }

// made is the context that can be waited for.
func (r *runContext) made() context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.whole == nil {
		r.whole, r.cancel = context.WithCancelCause(context.WithoutCancel(r.parent))
		if r.why != nil {
			r.cancel(r.why)
		}
	}
	return r.whole
}

// end ends it; the first cause stays.
func (r *runContext) end(why error) {
	r.mu.Lock()
	if r.why == nil {
		r.why = why
	}
	cancel := r.cancel
	r.mu.Unlock()
	if cancel != nil {
		cancel(why)
	}
}

// Deadline is that of the request where its connection ends the run, else none.
func (r *runContext) Deadline() (time.Time, bool) {
	r.mu.Lock()
	whole := r.whole
	r.mu.Unlock()
	if whole == nil {
		return time.Time{}, false
	}
	return whole.Deadline()
}

// Done is closed when the run is to stop.
func (r *runContext) Done() <-chan struct{} { return r.made().Done() }

// Err says whether it is to stop.
func (r *runContext) Err() error {
	r.mu.Lock()
	whole, why := r.whole, r.why
	r.mu.Unlock()
	switch {
	case whole != nil:
		return whole.Err()
	case why != nil:
		return context.Canceled
	}
	return nil
}

// Value returns the claim to this package, and else what the request's context
// holds. Package context asks by it for what can be waited for, too: what it
// would find in the request's context is a context (or nothing), and that
// question goes to the one that can be.
func (r *runContext) Value(key any) any {
	if _, ok := key.(claimKey); ok {
		return r.claim
	}
	r.mu.Lock()
	whole, parent := r.whole, r.parent
	r.mu.Unlock()
	if whole == nil {
		v := parent.Value(key)
		if _, waits := v.(context.Context); v != nil && !waits {
			return v
		}
		whole = r.made()
	}
	return whole.Value(key)
}
