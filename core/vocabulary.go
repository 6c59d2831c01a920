package idem

import (
	"context"
	"errors"
)

// ClaimFrom returns the claim that the run of ctx holds; ok is false outside a
// run. Its methods work while the run does; afterwards the claim has ended.
func ClaimFrom(ctx context.Context) (c *Claim, ok bool) {
	r, ok := ctx.Value(runKey{}).(*runContext)
	if !ok {
		return nil, false
	}
	return r.lend(), true
}

// Recorded says whether a record stands behind the run of ctx: see
// [Claim.Recorded]. It is false outside a run.
func Recorded(ctx context.Context) bool {
	r, ok := ctx.Value(runKey{}).(*runContext)
	return ok && r.recorded()
}

// Fence returns the number that orders the runs of the record that ctx's run
// belongs to, 0 outside a run: a later run of the same intent has a higher one,
// so that whoever keeps it beside a write can refuse an older run's. Fences of
// different records say nothing about each other.
func Fence(ctx context.Context) uint64 {
	if c, ok := ClaimFrom(ctx); ok {
		return c.Fence()
	}
	return 0
}

// NoEffects wraps an error to say that whatever the run did was undone: it is
// released, and the same key may run again, also after [MarkEffects] and where
// the run's context had ended. It is nil for nil.
//
//	if err := tx.Rollback(); err == nil {
//		return idem.NoEffects(cause)
//	}
func NoEffects(err error) error {
	if err == nil {
		return nil
	}
	return &noEffects{err}
}

type noEffects struct{ error }

func (e *noEffects) Unwrap() error { return e.error }

// Cause returns what [NoEffects] wraps, and any other error as it is: for
// frameworks that look at an error's type and not at what it wraps.
func Cause(err error) error {
	if e, ok := err.(*noEffects); ok {
		return e.error
	}
	return err
}

func hadNoEffects(err error) bool {
	var e *noEffects
	return errors.As(err, &e)
}

// DownstreamKey returns a key for a call that the run of ctx makes to somebody
// else who removes duplicates, such as a payment provider: the same for every
// repeat and retake of the same request, another where the request changed, and
// another for each label. It is 32 characters of a keyed hash and tells nothing
// of the client's key. ok is false outside a run.
//
//	key, _ := idem.DownstreamKey(ctx, "stripe")
func DownstreamKey(ctx context.Context, label string) (key string, ok bool) {
	c, ok := ClaimFrom(ctx)
	if !ok {
		return "", false
	}
	return c.DownstreamKey(label), true
}

// DownstreamKey is the function of that name, for this claim.
func (c *Claim) DownstreamKey(label string) string {
	c.mu.Lock()
	asked := c.rec.fp
	c.mu.Unlock()
	return c.g.names.downstreamKey(c.id.name, asked, label)
}
