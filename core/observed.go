package idem

import (
	"errors"
	"time"
)

// This file says what an observer is told of a claim when a step of it ends.
// Where nobody looks, none of it is worked out.

// releaseReason is why a run was released.
type releaseReason uint8

const (
	releasedByRefusal releaseReason = iota // the handler refused, or released by hand
	releasedByError
	releasedByPanic
	releasedByCancel // its context had ended, or it was one of a batch that was refused
)

var releaseReasons = [...]string{"validation", "error", "panic", "canceled"}

// FailureCodec is the ability of an [OutcomeCodec] to tell an answer that is the
// handler's own failure (an HTTP status from 500) from one by which it refused:
// both may be released, and only the first is a reason to look.
type FailureCodec[T any] interface{ Failed(v T) bool }

// because notes why the run will be released, if it is.
func (c *Claim) because(why releaseReason) {
	if !c.g.watch.at(StepSettle) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.why = why
}

// SkipCodec is the ability of a [Codec] to say in a word why it keeps nothing of an
// answer (Payload.Partial), such as stream or too_large: see StepResult.Skipped. The
// words are a closed list.
type SkipCodec[T any] interface{ Skipped(v T) string }

// omitted notes why an answer is not kept, for who looks.
func (c *Claim) omitted(why string) {
	if !c.g.watch.at(StepSettle) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.omits = why
}

// becauseOf is because, for a run that returned err, or a value that failed.
func (c *Claim) becauseOf(err error, failed bool) {
	switch {
	case c.run.Err() != nil:
		c.because(releasedByCancel)
	case errors.Is(err, ErrBatchRefused):
		c.because(releasedByCancel)
	case err != nil || failed:
		c.because(releasedByError)
	}
}

// endClaim ends a StepClaim.
func (c *Claim) endClaim(end Ending, err error) {
	if end.idle() {
		return
	}
	r := StepResult{Verdict: c.verdict, State: c.seen.rec.state, Fence: c.rec.fence, Err: err, OnDuplicate: c.policy().OnDuplicate}
	if c.won {
		r.Lease, r.Weak = c.lease, c.rec.flags&flagWeak != 0
	}
	if c.id.token {
		r.TokenAge = max(0, c.g.clock.corrected().Sub(c.id.issued))
	}
	end.End(r)
}

// leaseUsed is the share of the lease that is over, as far as this owner can
// tell. before is the deadline to which it ran. 0 where there is no lease.
func (c *Claim) leaseUsed(before, now time.Time) float64 {
	if c.lease <= 0 || before.IsZero() || c.bare {
		return 0
	}
	return max(0, float64(now.Sub(before)+c.lease-c.margin)/float64(c.lease))
}

// endSettled ends a StepSettle.
func (c *Claim) endSettled(end Ending, target *pending, result string, err error) {
	if end.idle() {
		return
	}
	r := StepResult{Verdict: c.Verdict(), State: target.rec.state, Result: result, Fence: target.rec.fence, Err: err}
	c.mu.Lock()
	r.Weak = target.rec.flags&flagWeak != 0
	r.LeaseUsed = c.leaseUsed(c.deadline, target.first)
	switch {
	case r.State == StateReleased && c.reserved: // a batch gave it back unstarted: nothing ran that was released
	case r.State == StateReleased:
		r.Reason = releaseReasons[c.why]
	case target.rec.answered && c.cut:
		r.Skipped = "store_limit"
	case target.rec.answered && target.rec.payload.Partial:
		if r.Skipped = c.omits; r.Skipped == "" {
			r.Skipped = "not_kept"
		}
	case target.rec.answered:
		r.Kept = len(target.rec.payload.Bytes)
	}
	c.mu.Unlock()
	end.End(r)
}

// usedMuch is the share of a lease from which a renewal that has not come through
// is worth a line in the log.
const usedMuch = 0.8

// endRenewed ends a StepRenew, and warns once in a run whose lease is nearly over.
func (w *renewing) endRenewed(end Ending) {
	c := w.c
	used := c.leaseUsed(w.before, c.g.clock.now())
	end.End(StepResult{Result: w.result, Err: w.err, LeaseUsed: used})
	if used < usedMuch || w.err == ErrClaimLost {
		return
	}
	c.mu.Lock()
	warned := c.warned || c.ended
	c.warned = true
	c.mu.Unlock()
	if !warned {
		c.g.warnLease(c, used)
	}
}
