package idem

import (
	"context"
	"sync/atomic"
	"time"
)

// clock is the one place of this package that reads the time. It answers two
// questions that must not be mixed: how long something took here (host), and
// what time it is for everybody (corrected: the store's time where the store
// tells it, so that hosts an hour apart change nothing).
type clock struct {
	read   func() time.Time
	host   bool      // read is the host's own clock
	made   time.Time // by read
	anchor atomic.Pointer[anchor]
	untold atomic.Bool // the store was asked, and has none to tell
}

// anchor is one reading of the store's clock.
type anchor struct{ host, store time.Time }

func newClock(read func() time.Time) *clock {
	host := read == nil
	if host {
		read = time.Now
	}
	return &clock{read: read, host: host, made: read()}
}

// tick is how long this clock has been there, to measure what steps take. Of the
// host's it reads the monotonic part only, which is half the price.
func (c *clock) tick() time.Duration {
	if c.host {
		return time.Since(c.made)
	}
	return c.read().Sub(c.made)
}

// now is the host's time, for measuring.
func (c *clock) now() time.Time { return c.read() }

// since is how much time has passed from then on, by the monotonic and by the
// wall clock, whichever says more: one stands still while a machine sleeps,
// the other can be set back (PROTOCOL P5).
func (c *clock) since(then time.Time) time.Duration { return elapsed(then, c.read()) }

func elapsed(then, now time.Time) time.Duration {
	return max(now.Sub(then), now.Round(0).Sub(then.Round(0)))
}

// passed tells whether a moment is over by either clock.
func passed(moment, now time.Time) bool {
	return !now.Before(moment) || !now.Round(0).Before(moment.Round(0))
}

// ran is how long something has taken that began then, by the monotonic clock alone:
// what a handler usually takes is no matter of a machine that slept.
func (c *clock) ran(then time.Time) time.Duration {
	if c.host {
		return time.Since(then)
	}
	return max(0, c.read().Sub(then))
}

// after is now for a moment that follows then at once, within this process. It reads
// half of the host's clock; a sleep of the machine in between is the keeper's to see.
func (c *clock) after(then time.Time) time.Time {
	if c.host {
		return then.Add(time.Since(then))
	}
	return c.read()
}

// corrected is the store's time as far as it is known, else the host's.
func (c *clock) corrected() time.Time { return c.correct(c.read()) }

// correct is the store's time at a moment of the host's.
func (c *clock) correct(now time.Time) time.Time {
	if a := c.anchor.Load(); a != nil {
		return a.store.Add(now.Sub(a.host))
	}
	return now
}

// adjust reads the store's clock, where it has one to tell.
func (c *clock) adjust(ctx context.Context, s Store) error {
	before := c.read()
	told, ok, err := StoreClock(ctx, s)
	if !ok {
		c.untold.Store(err == nil)
		return err
	}
	after := c.read()
	c.anchor.Store(&anchor{host: before.Add(after.Sub(before) / 2), store: told})
	return nil
}

// The contexts of store calls end as all contexts do, by the machine's own clock,
// whatever clock the guard was given.

func deadlineIn(limit time.Duration) time.Time { return time.Now().Add(limit) }
func deadlineOver(at time.Time) bool           { return time.Until(at) <= 0 }
