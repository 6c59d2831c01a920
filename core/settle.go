package idem

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// Complete ends the claim as SUCCEEDED: the answer is kept and replayed. All
// the endings return nil also where the write has no known outcome yet: it is
// then kept up in the background, and this process answers repeats meanwhile
// (PROTOCOL P8). They return [ErrClaimLost] where the claim had gone to somebody
// else, whose record is left as it is, and [ErrNoClaim] where there is nothing
// to end or it ended before.
func (c *Claim) Complete(ctx context.Context, p Payload) error {
	return c.settle(ctx, Completes, p, false)
}

// Fail ends the claim as FAILED: a definite refusal, kept and replayed.
func (c *Claim) Fail(ctx context.Context, p Payload) error { return c.settle(ctx, Fails, p, false) }

// Release ends the claim as RELEASED: it had no effect, and the same key may
// run again. After MarkEffects, or where the context of the run had ended, it
// is doubt.
func (c *Claim) Release(ctx context.Context) error {
	return c.settle(ctx, Releases, Payload{}, false)
}

// Doubt ends the claim as UNCERTAIN: held until it is resolved.
func (c *Claim) Doubt(ctx context.Context) error { return c.settle(ctx, Doubts, Payload{}, false) }

// End does nothing if the claim has ended or was not won, and otherwise ends it
// by policy, as an error would. It is for defer.
func (c *Claim) End(ctx context.Context) {
	if c.won && !c.isEnded() {
		_ = c.settle(ctx, c.policy().OutcomeOfError(), Payload{Partial: true}, false)
	}
}

// settle ends the claim once. undone says that the run returned the error of
// its own failed mark, or [NoEffects]: it had no effect.
func (c *Claim) settle(ctx context.Context, out Outcome, p Payload, undone bool) error {
	switch {
	case !c.won:
		return ErrNoClaim
	case c.hooked != nil:
		c.g.hooks.active.Add(1)
		defer c.g.hooks.leave()
	}
	target, err := c.beginSettle(out, p, undone)
	if target == nil {
		return err
	}
	var end Ending
	if c.g.watch.at(StepSettle) {
		ctx, end = c.observe(ctx, Step{Kind: StepSettle})
	}
	result, err := c.attempt(ctx, target, c.g.settleWait)
	return c.endSettle(target, end, result, err)
}

// beginSettle makes the outcome of a claim that was won and has not ended. It is
// nil of one that has, and of a loose one, which leaves nothing to write.
func (c *Claim) beginSettle(out Outcome, p Payload, undone bool) (*pending, error) {
	if c.loose {
		err := c.endLoose()
		if c.hooked != nil && err == nil {
			c.judged(c.run, c.seen.rec.state)
		}
		return nil, err
	}
	if c.hooked != nil && !c.beforeSettle(out, undone) {
		return nil, ErrNoClaim
	}
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return nil, ErrNoClaim
	}
	c.ended = true
	target := c.target(out, p, undone)
	if c.g.watch.at(StepSettle) { // nobody else asks
		target.first = c.g.clock.now()
	}
	c.mu.Unlock()
	c.unkept = c.g.keeper.remove(c)
	if usual, adapts := &c.id.op.usual, c.policy().AdaptiveLease; !c.reserved && usual.wants(adapts, c.nonce[0]) {
		usual.add(c.g.clock.ran(c.start), adapts)
	}
	return target, nil
}

// endSettle takes what came of the first try to write the outcome.
func (c *Claim) endSettle(target *pending, end Ending, result string, err error) error {
	switch {
	case err == nil:
		c.finish(target, result)
	case broken.Is(broken.P8SettleFails):
		c.finish(target, "stale")
	default:
		result = "retry"
		c.hold(target)
	}
	c.endSettled(end, target, result, err)
	c.endRun()
	if c.hooked != nil {
		c.afterSettle(target, result)
	}
	if result == "stale" {
		return fmt.Errorf("idem: the outcome was not kept: %w", ErrClaimLost)
	}
	return nil
}

// planned is how a run ends that wants to end so. c.mu is held.
func (c *Claim) planned(out Outcome, undone bool) Outcome {
	if out == Releases && !undone && (c.marked && !broken.Is(broken.S8MarkedReleased) || c.stopped()) {
		out = Doubts // it may have had an effect, or was stopped half-way
	}
	if c.markErr != nil && !undone && !broken.Is(broken.S8FailedMarkPassed) {
		out = Doubts
	}
	if undone && !broken.Is(broken.S8UndoneDoubted) {
		out = Releases
	}
	if out == Releases && c.rec.flags&flagForced != 0 && !broken.Is(broken.S8ForcedReleased) {
		out = Doubts // this run had no effect, but the one it was forced over may have
	}
	if c.hooked != nil && c.hooked.doubt && (out == Releases || out == Fails) && !broken.Is(broken.S8HookDoubtIgnored) {
		out = Doubts // by the hook: a run that completed is not put in doubt
	}
	return out
}

// target encodes the outcome, once: it is sent again byte for byte. c.mu is
// held.
func (c *Claim) target(out Outcome, p Payload, undone bool) *pending {
	out = c.planned(out, undone)
	c.final.rec = c.rec
	r := &c.final.rec
	r.flags &^= flagReserved
	c.last++
	r.counter, r.note = c.last, c.note
	if c.marked {
		r.flags |= flagEffects
	}
	switch out {
	case Completes, Fails:
		r.state, r.answered, r.payload = StateSucceeded, true, p
		if out == Fails {
			r.state = StateFailed
		}
	case Releases:
		r.state = StateReleased
		r.flags &^= flagEffects
	default:
		r.state = StateUncertain
	}
	size := c.g.encodedSize(r)
	if r.answered && size > c.g.describe.MaxValue {
		r.payload, c.cut = Payload{Partial: true}, true
		size = c.g.encodedSize(r)
	}
	c.final.value = c.g.encodeSized(c.scratch, size, c.id.name, r)
	c.scratch = nil // it is that value now
	if n := len(r.payload.Bytes); n > 0 && !c.g.sealer.sealing() && !broken.Is(broken.I4AnswerShared) {
		r.payload.Bytes = c.final.value[len(c.final.value)-n:] // as written: the run's own bytes are its caller's to change
	}
	return &c.final
}

// stopped tells whether the context of the run ended before the run did.
func (c *Claim) stopped() bool {
	return c.run.Err() != nil && !broken.Is(broken.P7HalfwayReleased)
}

// attempt tries once to put the outcome in place of the claim. An error says
// that it is unknown whether that was done.
func (c *Claim) attempt(ctx context.Context, p *pending, limit time.Duration) (string, error) {
	w := settling{c: c, p: p, result: "ok"}
	for w.next(ctx) {
		res, err := c.g.call(ctx, "settle", limit, &w.op)
		w.hear(ctx, res, err)
	}
	return w.result, w.err
}

// settling is an outcome on its way: the call that it needs next, and what it
// makes of the answer.
type settling struct {
	c      *Claim
	p      *pending
	op     Op
	swaps  int
	create bool
	over   bool
	result string // ok, recreated or stale
	err    error  // over: it is unknown whether it was written
}

func (w *settling) next(context.Context) bool {
	if w.over {
		return false
	}
	if w.swaps++; w.swaps > maxSwaps {
		w.end("", errors.New("idem: the record kept changing under the settle"))
		return false
	}
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.op = Op{Kind: OpSwap, Name: w.c.id.name, Old: w.c.known, Value: w.p.value, TTL: w.p.rec.retention(), Step: "settle", Wake: w.c.id.op.wakes(w.c.g)}
	w.op.Entry = w.c.settlingEntry(w.p, w.create)
	if w.create {
		w.op.Kind = OpCreate
	}
	if broken.Is(broken.P11LeaseAsTTL) {
		w.op.TTL = w.p.rec.leaseTime()
	}
	return true
}

func (w *settling) end(result string, err error) { w.over, w.result, w.err = true, result, err }

func (w *settling) hear(ctx context.Context, res Result, err error) {
	c, p := w.c, w.p
	if err != nil {
		w.end("", err)
		return
	}
	var f found
	done := res.Done || w.create && string(res.Value) == string(p.value)
	if !done {
		f = readFound(res)
	}
	switch ownerHears(&p.rec, done, f) {
	case replyDone:
		if res.Weak {
			c.mu.Lock()
			p.rec.flags |= flagWeak
			c.mu.Unlock()
		}
		c.tellSettle(ctx, p, w.create, res.Journaled)
		w.end(w.result, nil)
	case replyAgain:
		w.create = false
		w.follow(f)
	case replyGone:
		if !w.create && !c.bare {
			c.g.counts.recreated.Add(1)
		}
		if p.rec.state == StateReleased && !c.bare || c.g.clock.since(c.start) > p.rec.retention() || broken.Is(broken.P2LossUnmended) {
			w.end("recreated", nil) // nothing of ours is left to end
			return
		}
		w.create, w.result = true, "recreated"
	default:
		if c.bare && c.stillMeant(f) {
			w.create = false
			w.follow(f) // the claim never came: the outcome takes its place
			return
		}
		c.g.counts.stale.Add(1)
		w.end("stale", nil)
	}
}

// follow swaps from what is there now.
func (w *settling) follow(f found) {
	w.c.mu.Lock()
	w.c.known = f.value
	w.c.mu.Unlock()
}

// verdictOf is what the run's own client is told.
func (c *Claim) verdictOf(s State) Verdict {
	switch {
	case c.bare:
		return Unprotected
	case s == StateReleased:
		return Released
	case s == StateUncertain:
		return Uncertain
	}
	return Executed
}

// finish is the end of a claim whose outcome is written, or cannot be.
func (c *Claim) finish(p *pending, result string) {
	c.mu.Lock()
	c.verdict = c.verdictOf(p.rec.state)
	if result == "stale" {
		c.verdict = Unprotected
	}
	c.told = result != "stale"
	c.wakeAll()
	c.mu.Unlock()
	c.unseen = c.g.running.finish(c)
	c.logOutcome(p, result)
}

// ends returns the verdict of a run whose end was begun. Somebody whom the handler
// gave the claim may have begun it, and be at it still: every request ends with a
// verdict (PROTOCOL I6).
func (c *Claim) ends() Verdict {
	c.mu.Lock()
	begun := c.ended || c.hooked != nil && c.hooked.asked
	if c.verdict != 0 || !begun {
		defer c.mu.Unlock()
		return c.verdict
	}
	if c.wake == nil {
		c.wake = make(chan struct{})
	}
	wake := c.wake
	c.mu.Unlock()
	<-wake // by finish or hold, soon: a settle gives up
	return c.Verdict()
}

// hold keeps an outcome whose write has no known end: repeats in this process
// are answered from it, and the janitor goes on writing it.
func (c *Claim) hold(p *pending) {
	c.mu.Lock()
	c.verdict = c.verdictOf(p.rec.state)
	c.told, c.holding = true, true
	c.wakeAll()
	c.mu.Unlock()
	c.g.running.leave(c.id.name)
	c.g.counts.pending.Add(1)
	c.g.janitor.settle(c, p)
}

// wakeAll wakes those who wait for this claim. c.mu is held.
func (c *Claim) wakeAll() {
	if c.wake != nil {
		close(c.wake)
		c.wake = nil
	}
}
