package idem

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

const (
	hookTime    = time.Second // how long a request waits for a hook
	mostHanging = 64          // hooks given up and not back yet, above which none is called
)

// hookRunner calls a guard's hooks, and keeps what goes wrong in them in them.
type hookRunner struct {
	Hooks
	g       *Guard
	active  atomic.Int64 // requests that may call hooks, and hooks
	hanging atomic.Int64 // hooks given up that have not returned
	failed  atomic.Int64
}

// hooksOf is nil where there is none.
func hooksOf(g *Guard, hooks Hooks) *hookRunner {
	if len(hooks.set()) == 0 {
		return nil
	}
	return &hookRunner{Hooks: hooks, g: g}
}

// enter counts a request in that will call hooks, and leave counts it out. It is
// false where there are none, and once the guard is being closed: nobody would
// wait for them.
func (h *hookRunner) enter() bool {
	if h == nil {
		return false
	}
	h.active.Add(1)
	select {
	case <-h.g.closed:
		h.leave()
		return false
	default:
		return true
	}
}

func (h *hookRunner) leave() { h.active.Add(-1) }

// drain waits until nobody calls a hook any more, and no hook is left.
func (h *hookRunner) drain(ctx context.Context) error {
	if h == nil {
		return nil
	}
	for h.active.Load() > 0 {
		timer := time.NewTimer(settleAgain / 2)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
	return nil
}

func (h *hookRunner) counts() (failures, hanging int64) {
	if h == nil {
		return 0, 0
	}
	return h.failed.Load(), h.hanging.Load()
}

var (
	errHookSlow = fmt.Errorf("idem: it was given up after %v", hookTime)
	errHookFull = fmt.Errorf("idem: it was not called: %d that were given up have not returned", mostHanging)
	errHookExit = errors.New("idem: it ended its goroutine")
)

// The ends of a hook's call, of which the first one counts.
const (
	hookRuns int32 = iota
	hookReturned
	hookGivenUp
)

// hookCall is one call of a hook.
type hookCall[T any] struct {
	end   atomic.Int32
	value T
	fault error         // it panicked, or ended its goroutine
	stack []byte        // where
	done  chan struct{} // closed when it returned
}

// contained calls a hook and waits for it, a second at the most. It is false
// where the hook came to no good; the request goes on without it.
func contained[T any](h *hookRunner, name string, id *identity, ctx context.Context, hook func(context.Context) T) (value T, ok bool) {
	if h.hanging.Load() >= mostHanging {
		h.complain(name, id, errHookFull, nil)
		return value, false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hookTime)
	defer cancel()
	call := &hookCall[T]{done: make(chan struct{})}
	h.active.Add(1)
	go call.run(h, ctx, hook)
	if broken.Is(broken.S8HookWaitedFor) {
		<-call.done
	}
	select {
	case <-call.done:
	case <-ctx.Done():
		h.hanging.Add(1)
		if call.end.CompareAndSwap(hookRuns, hookGivenUp) {
			h.complain(name, id, errHookSlow, nil)
			return value, false
		}
		h.hanging.Add(-1)
		<-call.done // it returned at the last moment
	}
	if call.fault != nil {
		if broken.Is(broken.S8HookPanics) && call.stack != nil {
			panic(call.fault)
		}
		h.complain(name, id, call.fault, call.stack)
		return value, false
	}
	return call.value, true
}

// run is the goroutine of one hook.
func (call *hookCall[T]) run(h *hookRunner, ctx context.Context, hook func(context.Context) T) {
	defer h.leave()
	defer func() {
		if !call.end.CompareAndSwap(hookRuns, hookReturned) {
			h.hanging.Add(-1)
		}
		close(call.done)
	}()
	call.fault = errHookExit
	defer func() {
		if v := recover(); v != nil {
			// What it says may be anything, a body too; what it is may be told.
			call.fault, call.stack = fmt.Errorf("idem: it panicked with a %T", v), debug.Stack()
		}
	}()
	call.value = hook(ctx)
	call.fault = nil
}

// complain tells an operator of a hook that came to no good.
func (h *hookRunner) complain(name string, id *identity, why error, stack []byte) {
	h.failed.Add(1)
	attrs := []slog.Attr{slog.String("hook", name), attrOp(id.op), slog.String("idem.key", KeyHash(id.name)), attrError(why)}
	if stack != nil {
		attrs = append(attrs, slog.String("stack", string(stack)))
	}
	h.g.log.LogAttrs(context.Background(), slogError, "hook failed: the request goes on without it", attrs...)
}
