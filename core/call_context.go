package idem

import (
	"context"
	"sync"
	"time"
)

// callContext is the context of one call of a store: cut loose from the request,
// ended by a deadline, and telling the step. The timer that a channel to wait for
// needs is set only when somebody asks for that channel, which a store that keeps
// deadlines by itself never does: see [DeadlineOnly].
type callContext struct {
	parent context.Context // for its values
	step   string
	at     time.Time

	mu    sync.Mutex
	whole context.Context // nil until it is waited for
	stop  context.CancelFunc
	over  bool
}

func newCallContext(parent context.Context, step string, limit time.Duration) *callContext {
	return &callContext{parent: parent, step: step, at: deadlineIn(limit)}
}

// end ends it: the call is over.
func (c *callContext) end() {
	c.mu.Lock()
	c.over = true
	stop := c.stop
	c.mu.Unlock()
	if stop != nil {
		stop()
	}
}

func (c *callContext) made() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.whole == nil {
		c.whole, c.stop = context.WithDeadline(context.WithoutCancel(c.parent), c.at)
		if c.over {
			c.stop()
		}
	}
	return c.whole
}

// Deadline is when the call has to be over.
func (c *callContext) Deadline() (time.Time, bool) { return c.at, true }

// Done is closed by then, or when the call is over.
func (c *callContext) Done() <-chan struct{} { return c.made().Done() }

// Err says whether it is.
func (c *callContext) Err() error {
	c.mu.Lock()
	whole, over := c.whole, c.over
	c.mu.Unlock()
	switch {
	case whole != nil:
		return whole.Err()
	case over:
		return context.Canceled
	case deadlineOver(c.at):
		return context.DeadlineExceeded
	}
	return nil
}

// Value tells the step, and else what the request's context holds. Package context
// asks by it for what can be waited for, too, as of runContext.
func (c *callContext) Value(key any) any {
	if _, ok := key.(storeStepKey); ok {
		return c.step
	}
	v := c.parent.Value(key)
	if asksToWait(key, v) {
		return c.made().Value(key)
	}
	return v
}

// asksToWait tells whether package context may be asking, by a value, for the
// context that can be waited for: it finds the request's, or nothing, and asks by
// the address of a number.
func asksToWait(key, v any) bool {
	if v == nil {
		_, number := key.(*int)
		return number
	}
	_, waits := v.(context.Context)
	return waits
}

// DeadlineOnly returns the deadline of a context that ends by nothing else: the
// context in which a guard calls a store. Who waits in a select can then use a
// timer of his own, which is kept and set anew for each call, and need not ask for
// Done, which costs a timer, a channel and a context each time. ok is false for
// every other context.
func DeadlineOnly(ctx context.Context) (at time.Time, ok bool) {
	c, ok := ctx.(*callContext)
	if !ok {
		return time.Time{}, false
	}
	return c.at, true
}
