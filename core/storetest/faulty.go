package storetest

import (
	"bytes"
	"context"
	"fmt"
	"time"

	idem "github.com/go-idem/idem/core"
)

// faulty is a store with a plan of faults before it. It hands on copies of the
// caller's slices, because a late call outlives the call that made it.
type faulty struct {
	store  idem.Store
	faults *Faults
}

// Unwrap returns the store behind the faults, whose description is its own.
func (s faulty) Unwrap() idem.Store { return s.store }

// UsesStoreStep asks the guard to say what it makes its calls for.
func (s faulty) UsesStoreStep() bool { return true }

func (s faulty) Create(ctx context.Context, name string, value []byte, ttl time.Duration) (idem.Result, error) {
	value = bytes.Clone(value)
	return meet(ctx, s.faults, "Create", name, func(ctx context.Context) (idem.Result, error) {
		return s.store.Create(ctx, name, value, ttl)
	})
}

func (s faulty) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (idem.Result, error) {
	old, value = bytes.Clone(old), bytes.Clone(value)
	return meet(ctx, s.faults, "Swap", name, func(ctx context.Context) (idem.Result, error) {
		return s.store.Swap(ctx, name, old, value, ttl)
	})
}

func (s faulty) Load(ctx context.Context, name string) (idem.Result, error) {
	return meet(ctx, s.faults, "Load", name, func(ctx context.Context) (idem.Result, error) {
		return s.store.Load(ctx, name)
	})
}

// faultyClock is the clock of such a store.
type faultyClock struct {
	clock  idem.Clocker
	faults *Faults
}

func (s faultyClock) Now(ctx context.Context) (time.Time, error) {
	return meet(idem.WithStoreStep(ctx, "clock"), s.faults, "Now", "", s.clock.Now)
}

// meet makes one call, or does to it what the plan says.
func meet[T any](ctx context.Context, f *Faults, method, name string, call func(context.Context) (T, error)) (none T, err error) {
	step := idem.StoreStep(ctx)
	fault, killed := f.next(step, method, name, false)
	if killed {
		return none, ErrKilled
	}
	if fault.Mode == "" {
		return call(ctx)
	}
	injected := injection(method, step, fault.Mode)
	switch fault.Mode {
	case Timeout:
		silence(ctx, fault.Delay)
		return none, fmt.Errorf("%w: %w", injected, context.DeadlineExceeded)
	case Slow:
		if err := pause(ctx, fault.Delay); err != nil {
			return none, fmt.Errorf("%w: %w", injected, err)
		}
		if f.dead() {
			return none, ErrKilled
		}
		return call(ctx)
	case LostReply, CutOff:
		if _, err := call(ctx); err != nil {
			return none, err
		}
	case Late:
		f.makeLate(context.WithoutCancel(ctx), fault.Delay, func(ctx context.Context) { _, _ = call(ctx) })
	}
	return none, injected
}

func injection(method, step string, mode Mode) error {
	return fmt.Errorf("%s for step %q: %s: %w", method, step, mode, ErrInjected)
}

// unboundedSilence is how long Timeout lasts where neither the caller nor the
// fault says.
const unboundedSilence = 250 * time.Millisecond

// silence lasts until the caller's deadline, or for d if that is sooner.
func silence(ctx context.Context, d time.Duration) {
	if _, bounded := ctx.Deadline(); !bounded && d <= 0 {
		d = unboundedSilence
	}
	if d > 0 {
		_ = pause(ctx, d)
		return
	}
	<-ctx.Done()
}

// pause lets d go by, or returns the context's error if that ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lateLimit bounds a call that is made after its caller gave up.
const lateLimit = 10 * time.Second

// makeLate makes a call d from now, in a goroutine that Wait waits for.
func (f *Faults) makeLate(ctx context.Context, d time.Duration, call func(context.Context)) {
	f.late.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, max(d, 0)+lateLimit)
		defer cancel()
		if pause(ctx, d) == nil {
			call(ctx)
		}
	})
}
