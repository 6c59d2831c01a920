package idem

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// All or nothing (PROTOCOL section 8, Batches). The items are claimed in the
// order of their records' names, with the flag reserved: while it stands, a lease
// that runs out leaves a record that anybody may take, because nothing can have
// run. Once all are held, one exchange of renewals clears the flags, and only what
// is known to be started is run.
//
// Where another owner stands in the way, what is held above its name is given
// back and the one name is waited for. So a batch that waits holds only names
// below the one it waits for, and no circle of waiting batches can close.

// claimFlags are the flags of a claim that is sent now.
func (c *Claim) claimFlags() byte {
	if c.reserved && !broken.Is(broken.S8ReservedUnset) {
		return flagReserved
	}
	return 0
}

// claimAll wins every item and starts it, or leaves none of them held. Where every
// policy only observes, what would have been refused runs beside: all of it.
func (b *batch) claimAll() {
	if b.holdAll() && b.startAll() {
		return
	}
	b.giveUp()
	if b.observes() && !broken.Is(broken.S8ObserveRefuses) {
		b.allBeside()
		return
	}
	for i, c := range b.claims {
		if c != nil && c.won { // nothing guards it, and it is not run either
			_ = c.endLoose()
			b.claims[i] = &Claim{g: b.g, id: c.id, fp: c.fp, source: c.source, verdict: Released, refusal: ErrBatchRefused, position: -1}
		}
	}
}

// observes tells whether nothing of the batch is refused in earnest.
func (b *batch) observes() bool {
	for _, at := range b.items {
		if !at.c.observes() {
			return false
		}
	}
	return !slices.ContainsFunc(b.claims, func(c *Claim) bool { return c != nil && !c.won && !c.observes() })
}

// allBeside runs all of a batch that would have been refused.
func (b *batch) allBeside() {
	for _, at := range b.items {
		at.c.reserved, at.c.hooked = false, at.told
		at.c.beside(at.ctx)
	}
	for _, c := range b.claims {
		if c != nil && !c.won {
			c.beside(b.ctx)
		}
	}
}

// holdAll wins every item, reserved. Where it cannot, what it holds is left to
// giveUp.
func (b *batch) holdAll() bool {
	if !broken.Is(broken.S8BatchUnsorted) {
		slices.SortFunc(b.items, func(a, b *item) int { return cmp.Compare(a.in.id.name, b.in.id.name) })
	}
	for _, c := range b.claims {
		if c != nil && !c.won { // refused from its head, or in conflict with another: nothing is claimed at all
			return false
		}
	}
	for {
		b.collect()
		first := slices.IndexFunc(b.items, func(at *item) bool { return !at.held })
		if first < 0 {
			return true
		}
		if slices.ContainsFunc(b.items, func(at *item) bool { return !at.held && at.c.verdict != InFlight }) {
			return false
		}
		b.giveBack(b.items[first+1:])
		if !b.waitFor(b.items[first]) {
			return false
		}
	}
}

// collect claims what is not held, in one exchange where nobody is in the way.
func (b *batch) collect() {
	var open []*item
	for _, at := range b.items {
		if !at.held {
			b.anew(at)
			open = append(open, at)
		}
	}
	b.ask(open, false)
	for _, at := range open {
		b.close(at)
		at.held, at.given = at.c.won, false
	}
	if broken.Is(broken.S8StartedWhileCollecting) {
		b.startAll()
	}
}

// anew gives an item a claim that can be sent. Each try is a claim of its own:
// a release that is still on its way is not taken for the next one's.
func (b *batch) anew(at *item) {
	at.c = b.g.newClaim(at.ctx, at.in)
	at.c.reserved, at.c.force = true, false
}

// waitFor waits for the owner of one item, within what is left of its policy's
// Wait, and claims it then.
func (b *batch) waitFor(at *item) bool {
	left := at.c.mayWait() - b.g.clock.since(b.start)
	if left <= 0 {
		return false
	}
	b.anew(at)
	at.c.patience = left
	_ = b.g.claim(at.ctx, at.c)
	b.waited += at.c.waited
	at.held, at.given = at.c.won, false
	return at.held
}

// giveBack releases claims that were not started, in one exchange.
func (b *batch) giveBack(items []*item) {
	var list []ended
	for _, at := range items {
		if !at.held {
			continue
		}
		at.held, at.given = false, true
		switch {
		case broken.Is(broken.S8ReservedLeft):
		case at.c.bare:
			at.c.abandon()
		default:
			list = append(list, ended{Settlement: Settlement{Claim: at.c, Outcome: Releases}, undone: true})
		}
	}
	b.g.settleAll(b.ctx, list)
}

// abandon gives back a claim that was to run without a record and did not: it is
// a claim of unknown outcome like any other, and the janitor's.
func (c *Claim) abandon() {
	c.mu.Lock()
	c.ended, c.verdict = true, Released
	c.wakeAll()
	c.mu.Unlock()
	c.g.keeper.remove(c)
	c.run.end(context.Canceled)
	c.g.running.end(c.id.name, c)
	c.g.running.leave(c.id.name)
	c.g.janitor.mend(c, c.rec, c.meant)
}

// giveUp gives back what is held and says so. Where everything that was seen of
// the batch is done, an earlier run of the whole of it is: then what is not done
// yet, or was given back for others and may be by now, is looked at again and
// waited for, so that it can be replayed.
func (b *batch) giveUp() {
	b.giveBack(b.items)
	done, other := false, false
	for _, at := range b.items {
		switch at.c.verdict {
		case Replayed, Used:
			done = true
		case InFlight:
		default:
			other = other || !at.given
		}
	}
	for _, at := range b.items {
		if at.c.won || at.c.verdict == 0 {
			b.released(at, done && !other && at.given)
		}
	}
	if !done || other {
		return
	}
	b.catchUp()
	for _, at := range b.items {
		if at.given && at.c.verdict == InFlight && at.c.seen.rec.state != StateProcessing {
			b.released(at, false) // nobody took it
		}
	}
}

// released gives an item that was given back a claim that says so, or, where it
// is to be looked at again, one that can look.
func (b *batch) released(at *item, again bool) {
	if b.anew(at); again {
		at.c.verdict = InFlight
		return
	}
	at.c.verdict, at.c.refusal = Released, ErrBatchRefused
}

// startAll clears the flag reserved of everything that is held, in one exchange,
// and tells whether all of it is known to be started with the margin of its lease
// left (PROTOCOL I11).
func (b *batch) startAll() bool {
	list := make([]renewing, 0, len(b.items))
	talks := make([]talk, 0, len(b.items))
	for _, at := range b.items {
		if !at.held || at.c.bare || !at.c.reserved {
			continue
		}
		at.c.startWriting(true) // a renewal may be on its way
		list = append(list, renewing{c: at.c, p: at.c.startRenewal(), result: "ok"})
		talks = append(talks, &list[len(list)-1])
	}
	b.g.together(b.ctx, b.g.describe.WorstCall, askTries, talks, nil)
	failed := map[*Claim]error{}
	for i := range list {
		c, err := list[i].c, list[i].err
		c.stopWriting()
		if err == nil && c.late() {
			err = errLate
		}
		if err == errUnknown && c.policy().OnOutage == Open {
			c.openHeld()
			err = nil
		}
		if err != nil {
			failed[c] = err
		}
	}
	if len(failed) > 0 {
		b.notStarted(failed)
		return false
	}
	now := b.g.clock.now()
	for _, at := range b.items {
		if at.held {
			at.c.begun(now, at.told)
		}
	}
	return true
}

// startRenewal is the renewal that starts a reserved claim.
func (c *Claim) startRenewal() *pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = c.next(func(r *record) { r.flags &^= flagReserved })
	return c.pending
}

// begun has the run of a reserved claim begin.
func (c *Claim) begun(now time.Time, told *hooked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reserved, c.start, c.hooked = false, now, told
}

// openHeld has a claim whose start is unknown run without a record, as the policy
// says: the store went away after it was claimed.
func (c *Claim) openHeld() {
	c.mu.Lock()
	c.bare = true
	c.mu.Unlock()
	c.withoutRecord()
}

// notStarted gives back what is not known to be started, in one exchange, and says
// why.
func (b *batch) notStarted(failed map[*Claim]error) {
	var items []*item
	for _, at := range b.items {
		if failed[at.c] != nil {
			items = append(items, at)
		}
	}
	if broken.Is(broken.S8GivenBackOneByOne) {
		for i := range items {
			b.giveBack(items[i : i+1])
		}
	}
	b.giveBack(items)
	for _, at := range items {
		c, why := at.c, failed[at.c]
		at.c = &Claim{g: b.g, id: c.id, fp: c.fp, source: c.source, position: -1}
		if errors.Is(why, ErrClaimLost) {
			at.c.verdict, at.c.retry = InFlight, time.Second // somebody else has it now
			continue
		}
		_ = at.c.unavailable(why)
	}
}
