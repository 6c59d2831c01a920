package idem

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// BatchOption says how a batch is claimed.
type BatchOption func(*batch)

// Atomic has a batch claimed as a whole: either every item is won, or none is
// and those that were are given back. Whatever stands in the way of one item
// (it is done, buried, running elsewhere beyond the policy's Wait, or in conflict)
// refuses all. A batch with an item of a policy whose Atomic is Yes is claimed in
// this way without being asked.
//
// What is all or nothing is the claims, so that the run gets either all items or
// none; how the items end is decided one by one. Intent.Force plays no part.
func Atomic() BatchOption { return func(b *batch) { b.atomic = true } }

// ClaimBatch claims many intents in one exchange with the store, or in one for
// each node of a cluster, and returns one claim for each, in order. Each is what
// Claim would have made of it, with these differences:
//
//   - The same key twice shares one claim, the first's (the same pointer twice);
//     where the requests differ, the later one is Conflict.
//   - While it holds claims a batch waits for nobody: what another owner is
//     running is InFlight. Where it won nothing at all it waits as the policy says.
//     A batch under [Atomic] waits as well, for one item after the other in the
//     order of their names, so that no two batches wait for each other.
//
// Every claim that was won has to be ended, by itself or with [Guard.SettleBatch].
// The error is of the kind that Claim's is: with claims it says that the store was
// out of reach for at least one of them (ErrUnavailable, and that claim says
// Unavailable); without, that an intent is wrong or the guard closed.
func (g *Guard) ClaimBatch(ctx context.Context, intents []Intent, options ...BatchOption) ([]*Claim, error) {
	b, err := g.claimBatch(ctx, intents, options)
	if b == nil {
		return nil, err
	}
	return b.claims, err
}

func (g *Guard) claimBatch(ctx context.Context, intents []Intent, options []BatchOption) (*batch, error) {
	b, err := g.newBatch(ctx, intents, options)
	if err != nil {
		return nil, err
	}
	if b.atomic {
		b.claimAll()
	} else {
		b.claimEach()
	}
	for i, at := range b.leads {
		if at != nil {
			b.claims[i] = at.c
		}
	}
	for _, c := range b.claims {
		if c.verdict == Unavailable && !c.won {
			return b, c.refusal
		}
	}
	return b, nil
}

// batch is many intents on their way to a decision.
type batch struct {
	g      *Guard
	ctx    context.Context
	atomic bool
	start  time.Time
	items  []*item  // one for each record
	leads  []*item  // for each intent the item that decides about it; nil where its claim is decided already
	claims []*Claim // for each intent
	// confirmed are the operations whose cards were read since the last exchange.
	confirmed map[*operation]error
}

// item is one record of a batch.
type item struct {
	inquiry
	in      Intent
	c       *Claim
	entered bool
	waits   bool
	held    bool // all-or-nothing: won, and not started
	given   bool // all-or-nothing: given back while others are waited for
	step    Ending
}

// newBatch verifies intents and finds those that are about the same record. The
// first of these decides about it (the first whose binding is right, if any is).
func (g *Guard) newBatch(ctx context.Context, intents []Intent, options []BatchOption) (*batch, error) {
	b := &batch{g: g, ctx: ctx, start: g.clock.now(), leads: make([]*item, len(intents)), claims: make([]*Claim, len(intents))}
	for _, option := range options {
		option(b)
	}
	leads := make(map[string]*item, len(intents))
	verified := make([]Intent, len(intents))
	for i, in := range intents {
		if in.id == nil {
			var err error
			var refused *RefusedError
			if in, err = g.Verify(ctx, in); errors.As(err, &refused) {
				b.claims[i] = g.refused(in, refused)
				continue
			} else if err != nil {
				return nil, fmt.Errorf("item %d of the batch: %w", i, err)
			}
		}
		verified[i] = in
		b.atomic = b.atomic || in.id.op.policy.Atomic == Yes
		if at := leads[in.id.name]; at == nil {
			leads[in.id.name] = &item{in: in}
			b.items = append(b.items, leads[in.id.name])
		} else if in.id.bound && !at.in.id.bound {
			at.in = in
		}
	}
	for i, in := range verified {
		switch {
		case b.claims[i] != nil:
		case leads[in.id.name].in.Fingerprint != in.Fingerprint:
			b.claims[i] = &Claim{g: g, id: in.id, fp: in.Fingerprint, source: in.Source, verdict: Conflict, position: -1}
		default:
			b.leads[i] = leads[in.id.name]
		}
	}
	for _, at := range b.items {
		at.c = g.newClaim(ctx, at.in)
	}
	return b, nil
}

// ask has items talk to the store until each is decided, won, or has somebody to
// wait for. look says to look before claiming.
func (b *batch) ask(items []*item, look bool) {
	talks := make([]talk, 0, len(items))
	for _, at := range items {
		if b.enter(at, look) {
			talks = append(talks, &at.inquiry)
		}
	}
	b.g.together(b.ctx, b.g.describe.WorstCall, askTries, talks, func() { clear(b.confirmed) })
	for _, at := range items {
		if !at.entered {
			continue
		}
		c := at.c
		at.step.End(StepResult{Verdict: c.verdict, State: c.seen.rec.state, Fence: c.rec.fence, Err: at.err})
		if at.waits = at.waiting; at.waits {
			c.verdict, c.retry = InFlight, c.retryAfter()
		}
	}
}

// enter counts an item in and begins its inquiry.
func (b *batch) enter(at *item, look bool) bool {
	c := at.c
	if err := c.id.op.card.refusal(); err != nil {
		_ = c.unavailable(err)
		return false
	}
	local, open := b.g.running.enter(c.id.name)
	if !open {
		_ = c.unavailable(ErrClosed)
		return false
	}
	at.entered = true
	view, have := local.view()
	at.inquiry = inquiry{c: c, f: view, have: have, look: look, confirm: b.confirm}
	_, at.step = c.observe(b.ctx, Step{Kind: StepClaim})
	return true
}

// confirm is Guard.confirm, once for each operation after each exchange.
func (b *batch) confirm(ctx context.Context, op *operation) error {
	err, done := b.confirmed[op]
	if !done {
		if b.confirmed == nil {
			b.confirmed = map[*operation]error{}
		}
		err = b.g.confirm(ctx, op)
		b.confirmed[op] = err
	}
	return err
}

// close begins the run of an item that was won in time, and counts any other
// out.
func (b *batch) close(at *item) {
	if at.entered {
		at.entered = false
		_ = b.g.conclude(b.ctx, at.c, at.err)
	}
}
