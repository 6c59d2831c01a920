package idem

import (
	"context"
	"fmt"
	"sync"
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
	watched := g.hooks.enter()
	if watched {
		defer g.hooks.leave()
	}
	b, err := g.claimBatch(ctx, intents, watched, options)
	if b == nil {
		return nil, err
	}
	b.judged()
	return b.claims, err
}

// claimBatch is ClaimBatch, without the hook that is told the verdicts.
func (g *Guard) claimBatch(ctx context.Context, intents []Intent, watched bool, options []BatchOption) (*batch, error) {
	ctx, end := g.step(ctx, Step{Kind: StepBatch, Operation: g.operationOfBatch(intents), Items: len(intents)})
	b, err := g.newBatch(ctx, intents, watched, options)
	defer func() { end.End(StepResult{Err: err}) }()
	if err != nil {
		return nil, err
	}
	if b.atomic {
		b.claimAll()
	} else {
		b.claimEach()
	}
	b.tell()
	for _, c := range b.claims {
		if c.verdict == Unavailable && !c.won {
			err = c.refusal
			return b, err
		}
	}
	return b, nil
}

// operationOfBatch is the operation of a batch's first intent, "" where it has
// none that is guarded: steps carry no names that a client made up.
func (g *Guard) operationOfBatch(intents []Intent) string {
	if len(intents) == 0 || g.operation(intents[0].Operation) == nil {
		return ""
	}
	return intents[0].Operation
}

// tell gives each intent the claim that decided about it.
func (b *batch) tell() {
	for i, at := range b.leads {
		if at != nil {
			b.claims[i] = at.c
		}
	}
}

// judged tells the hooks the verdicts of what was not won.
func (b *batch) judged() {
	if b.g.hooks == nil {
		return
	}
	b.g.each(len(b.items), func(i int) {
		if at := b.items[i]; at.told != nil && !at.c.won {
			at.c.hooked = at.told
			at.c.judged(at.ctx, at.c.seen.rec.state)
		}
	})
}

// batch is many intents on their way to a decision.
type batch struct {
	g      *Guard
	ctx    context.Context
	atomic bool
	start  time.Time
	waited time.Duration // for other owners
	items  []*item       // one for each record
	leads  []*item       // for each intent the item that decides about it; nil where its claim is decided already
	claims []*Claim      // for each intent
	// confirmed are the operations whose cards were read since the last exchange.
	confirmed map[*operation]error
}

// item is one record of a batch.
type item struct {
	inquiry
	in      Intent
	ctx     context.Context // with what a hook attached
	told    *hooked         // nil where no hook is called about this item
	c       *Claim
	entered bool
	waits   bool
	held    bool // all-or-nothing: won, and not started
	given   bool // all-or-nothing: given back while others are waited for
	step    Ending
}

// newBatch verifies intents and finds those that are about the same record. The
// first of these decides about it (the first whose binding is right, if any is).
func (g *Guard) newBatch(ctx context.Context, intents []Intent, watched bool, options []BatchOption) (*batch, error) {
	b := &batch{g: g, ctx: ctx, start: g.clock.now(), leads: make([]*item, len(intents)), claims: make([]*Claim, len(intents))}
	for _, option := range options {
		option(b)
	}
	verified := make([]Intent, len(intents))
	for i, in := range intents {
		var err error
		if in.id == nil {
			in, err = g.Verify(ctx, in)
		}
		if err != nil {
			if b.claims[i], err = g.refused(ctx, in, err); err != nil {
				return nil, fmt.Errorf("item %d of the batch: %w", i, err)
			}
			continue
		}
		b.atomic = b.atomic || in.id.op.policy.Atomic == Yes
		if in.id.off {
			b.claims[i] = g.unguarded(ctx, in)
			continue
		}
		verified[i] = in
	}
	b.group(verified)
	g.each(len(b.items), func(i int) {
		at := b.items[i]
		at.ctx = ctx
		if watched && at.in.id.op.standing != g.reconciles {
			at.told = &hooked{}
			at.ctx = g.withHooks(ctx, at.in)
		}
		at.c = g.newClaim(at.ctx, at.in)
		at.c.hooked = at.told
	})
	return b, nil
}

// group finds the items: one for each record.
func (b *batch) group(verified []Intent) {
	leads := make(map[string]*item, len(verified))
	for _, in := range verified {
		if in.id == nil {
			continue
		}
		if at := leads[in.id.name]; at == nil {
			at = &item{in: in}
			leads[in.id.name], b.items = at, append(b.items, at)
		} else if in.id.bound && !at.in.id.bound {
			at.in = in
		}
	}
	for i, in := range verified {
		switch {
		case in.id == nil:
		case leads[in.id.name].in.Fingerprint != in.Fingerprint:
			b.claims[i] = b.verdict(in, Conflict, nil)
		default:
			b.leads[i] = leads[in.id.name]
		}
	}
}

// verdict is a claim that was not won, by itself. Where the policy observes it
// runs beside, save in a batch that is all or nothing: see claimAll.
func (b *batch) verdict(in Intent, v Verdict, why error) *Claim {
	c := &Claim{g: b.g, id: in.id, fp: in.Fingerprint, source: in.Source, verdict: v, refusal: why, position: -1}
	if c.observes() && !b.atomic {
		c.beside(b.ctx)
	}
	return c
}

// ask finds out what becomes of items: from the store in few exchanges, and from
// what this process knows of those that it has to do with already. Whatever is won
// begins at once, and whatever is decided makes way, so that nobody here waits for
// it; what has an owner to wait for stays entered until close.
func (b *batch) ask(items []*item, look bool) {
	var alone sync.WaitGroup
	talks := make([]talk, 0, len(items))
	sent := make([]*item, 0, len(items))
	for _, at := range items {
		c := at.c
		if err := c.id.op.card.refusal(); err != nil {
			_ = c.unavailable(err)
			continue
		}
		local, out, open := b.g.running.enter(c)
		if !open {
			_ = c.unavailable(ErrClosed)
			continue
		}
		obs, end := c.observe(at.ctx, Step{Kind: StepClaim})
		at.entered, at.step = true, end
		if local != nil || out != nil {
			alone.Go(func() {
				at.waits, at.err = b.g.first(obs, c, local, out)
				b.asked(at)
			})
			continue
		}
		at.inquiry = inquiry{c: c, look: look, many: true, confirm: b.confirm}
		talks, sent = append(talks, &at.inquiry), append(sent, at)
	}
	b.g.together(b.ctx, b.g.describe.WorstCall, askTries, talks, func() { clear(b.confirmed) })
	for _, at := range sent {
		if at.waits = at.waiting; at.waits {
			b.g.saw(at.c)
		}
		b.asked(at)
	}
	alone.Wait()
}

// asked takes what was found out about an item.
func (b *batch) asked(at *item) {
	c := at.c
	c.endClaim(at.step, at.err)
	if at.waits {
		c.verdict, c.retry = InFlight, c.retryAfter()
		return
	}
	b.close(at)
}

// close begins the run of an item that was won in time, and counts any other
// out.
func (b *batch) close(at *item) {
	if !at.entered {
		return
	}
	at.entered = false
	if err := b.g.conclude(at.ctx, at.c, at.err); !at.c.won {
		b.g.running.quit(at.c, err)
	}
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
