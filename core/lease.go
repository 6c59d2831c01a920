package idem

import (
	"context"
	"errors"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// pending is a renewal or mark whose outcome is unknown. It is sent again byte
// for byte; its deadline counts from its first send.
type pending struct {
	value []byte
	rec   record
	first time.Time
}

var errUnknown = errors.New("idem: the outcome of the write is unknown")

// look judges a running claim without a call of the store: whether its run is
// over and why, whether a renewal is due within the time given by soon, and when
// to look again (zero: never). While a renewal is on its way the deadline stands
// as it was.
func (c *Claim) look(now time.Time, soon time.Duration) (renew bool, next time.Time, over error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.lost != nil {
		return false, time.Time{}, nil
	}
	deadline, end := c.deadline, c.start.Add(c.policy().MaxRun)
	if c.bare { // there is no lease to lose
		deadline = end.Add(c.lease)
	}
	switch {
	case passed(deadline, now) && !broken.Is(broken.P5NoDeadline):
		return false, time.Time{}, ErrClaimLost
	case passed(end, now) && !broken.Is(broken.P4NoMaxRun):
		return false, time.Time{}, ErrMaxRun
	case c.bare || broken.Is(broken.P4NoRenewal):
		return false, earliest(deadline, end), nil
	case passed(c.due.Add(-soon), now):
		return true, earliest(deadline, end), nil
	}
	return false, earliest(c.due, deadline, end), nil
}

// stop ends a run that look found to be over.
func (c *Claim) stop(why error) {
	if why == ErrClaimLost {
		c.lose(why)
		return
	}
	c.end(why)
}

// lookAgain is when a claim is to be looked at after a renewal: where that failed it
// was only a blip, as far as we know, and it is made again soon.
func (c *Claim) lookAgain(failed bool) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	due := c.due
	if failed {
		due = c.g.clock.now().Add(c.lease / 20)
		c.due = due
	}
	return earliest(due, c.deadline, c.start.Add(c.policy().MaxRun))
}

// now is the time at which a claim that was won begins. A store in this process
// answers at once, so that the moment before it was asked tells the date.
func (c *Claim) now() time.Time {
	if c.g.steps || c.bare {
		return c.g.clock.now()
	}
	return c.g.clock.after(c.deadline.Add(c.margin - c.lease))
}

var errLate = errors.New("the claim was won too late to be used: less than the margin of its lease is left")

// late tells whether the store took so long that less than the margin of the
// lease is left; such a claim is given back unstarted (PROTOCOL I11).
func (c *Claim) late() bool {
	c.mu.Lock() // an item of a batch that is held may be renewed just now
	defer c.mu.Unlock()
	return c.lateAt(c.g.clock.now())
}

func (c *Claim) lateAt(now time.Time) bool {
	return passed(c.deadline, now) && !broken.Is(broken.I11LateStart)
}

func earliest(first time.Time, more ...time.Time) time.Time {
	for _, t := range more {
		if t.Before(first) {
			first = t
		}
	}
	return first
}

// lose ends the run because the claim is no longer ours, or may not be. Such
// an owner never revives; its settle is still tried, from exactly what is in
// the store.
func (c *Claim) lose(why error) {
	c.mu.Lock()
	already := c.lost != nil
	if !already {
		c.lost = why
	}
	c.mu.Unlock()
	if already {
		return
	}
	_, end := c.observe(c.run, Step{Kind: StepLost})
	end.End(StepResult{Err: why})
	c.g.log.LogAttrs(c.run, slogError, "claim lost while it ran", attrOperation(c), attrKey(c))
	c.end(why)
}

// end ends the handler's context.
func (c *Claim) end(why error) { c.run.end(why) }

// cancel is end for those who hold no claim of their own.
func (c *Claim) cancel(why error) { c.run.end(why) }

// startWriting begins a renewal or mark; there is one at a time, because a
// renewal must not take back the flag of a mark. Without patience it gives up
// where one is on its way.
func (c *Claim) startWriting(patient bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.writing {
		if !patient {
			return false
		}
		c.quiet.Wait()
	}
	c.writing = true
	return true
}

func (c *Claim) stopWriting() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing = false
	c.quiet.Signal()
}

// renewal is the next renewal to send: one of unknown outcome again, else a
// new one.
func (c *Claim) renewal() *pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending == nil {
		c.pending = c.next(nil)
	}
	return c.pending
}

// next encodes a renewal of the claim with its counter moved on. c.mu is held.
func (c *Claim) next(change func(*record)) *pending {
	c.last++
	r := c.rec
	r.counter, r.note = c.last, c.note
	if c.marked {
		r.flags |= flagEffects
	}
	if change != nil {
		change(&r)
	}
	p := &pending{rec: r, value: c.g.encode(c.id.name, &r), first: c.g.clock.now()}
	c.sends = append(c.sends, send{r.counter, p.first})
	return p
}

// renewAll renews claims, in one exchange where the store can.
func (g *Guard) renewAll(claims []*Claim) {
	type renewal struct {
		renewing
		end Ending
	}
	list := make([]renewal, 0, len(claims))
	talks := make([]talk, 0, len(claims))
	var ctx context.Context
	now := g.clock.now()
	for _, c := range claims {
		if renew, _, _ := c.look(now, c.lease/soonShare); !renew { // it ended while it waited for a carrier
			g.keeper.renewed(c, now)
			continue
		}
		if !c.startWriting(false) { // a mark is on its way and renews as well
			g.keeper.renewed(c, c.lookAgain(true))
			continue
		}
		obs, end := c.observe(c.run, Step{Kind: StepRenew})
		list = append(list, renewal{renewing{c: c, p: c.renewal(), result: "ok"}, end})
		talks = append(talks, &list[len(list)-1].renewing)
		ctx = obs
	}
	if len(list) > 1 {
		ctx = context.Background() // it belongs to none of them
	}
	g.together(ctx, g.describe.WorstCall, 1, talks, nil)
	for i := range list {
		w := &list[i]
		w.c.stopWriting()
		w.endRenewed(w.end)
		g.keeper.renewed(w.c, w.c.lookAgain(w.err != nil))
	}
}

// maxSwaps bounds how often an owner follows what it is told is there.
const maxSwaps = 4

// write puts p into the store over what is there, as long as that is ours.
// c is writing. It returns what came of it and, where that is unknown,
// errUnknown.
func (c *Claim) write(ctx context.Context, p *pending, limit time.Duration) (string, error) {
	w := renewing{c: c, p: p, result: "ok"}
	for w.next(ctx) {
		res, err := c.g.call(ctx, "renew", limit, &w.op)
		w.hear(ctx, res, err)
	}
	return w.result, w.err
}

// renewing is a renewal or mark on its way: the call that it needs next, and
// what it makes of the answer (PROTOCOL P2).
type renewing struct {
	c      *Claim
	p      *pending
	op     Op
	swaps  int
	create bool
	before time.Time // the deadline when the call was made
	over   bool
	result string // ok, recreated, retry or stale
	err    error  // over: errUnknown or ErrClaimLost
}

func (w *renewing) next(context.Context) bool {
	if w.over {
		return false
	}
	if w.swaps++; w.swaps > maxSwaps {
		w.end("retry", errUnknown)
		return false
	}
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.op = Op{Kind: OpSwap, Name: w.c.id.name, Old: w.c.known, Value: w.p.value, TTL: w.p.rec.retention(), Step: "renew"}
	w.op.Wake = broken.Is(broken.S8RenewalsWake)
	w.before = w.c.deadline
	if w.create {
		w.op.Kind = OpCreate
	}
	return true
}

func (w *renewing) end(result string, err error) {
	w.over, w.result, w.err = true, result, err
}

func (w *renewing) hear(ctx context.Context, res Result, err error) {
	c, p := w.c, w.p
	if err != nil {
		c.mu.Lock()
		c.unsure = true
		c.mu.Unlock()
		w.end("retry", errUnknown)
		return
	}
	if passed(w.before, c.g.clock.now()) && !broken.Is(broken.P5NoDeadline) {
		c.lose(ErrClaimLost)
		w.end("stale", ErrClaimLost)
		return
	}
	f := readFound(res)
	switch ownerHears(&p.rec, res.Done || (w.create && string(res.Value) == string(p.value)), f) {
	case replyDone:
		c.accept(p)
		if w.create {
			c.tellRecreated(ctx, &p.rec)
		}
		w.end(w.result, nil)
	case replyAgain:
		if c.isEnded() && !broken.Is(broken.P2RenewalUndoesSettle) {
			w.end("ok", ErrClaimLost) // what is there may be our own doubt: it stays
			return
		}
		w.create = false
		c.follow(f)
	case replyGone:
		if c.isEnded() {
			w.end("stale", ErrClaimLost)
			return
		}
		w.create, w.result = true, "recreated"
		c.g.counts.recreated.Add(1)
	default:
		if c.isEnded() { // our own settle overtook this renewal
			w.end("ok", ErrClaimLost)
			return
		}
		c.g.counts.stale.Add(1)
		c.lose(ErrClaimLost)
		w.end("stale", ErrClaimLost)
	}
}

func (c *Claim) isEnded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// accept takes p for what is in the store now.
func (c *Claim) accept(p *pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := p.first
	if broken.Is(broken.P5DeadlineFromReply) {
		first = c.g.clock.now()
	}
	if c.pending == p {
		c.pending = nil
	}
	c.stand(p.value, p.rec, first)
}

// follow takes what the store says is there, one of our own earlier sends, for
// what is there now. Its deadline counts from the first send of that value.
func (c *Claim) follow(f found) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sends {
		if s.counter == f.rec.counter {
			c.stand(f.value, f.rec, s.first)
			return
		}
	}
	c.known, c.rec = f.value, f.rec // not known when it was sent: the deadline stays
}

// stand notes the value that is in the store and what follows from it. c.mu is
// held.
func (c *Claim) stand(value []byte, r record, first time.Time) {
	c.known, c.rec = value, r
	lease := c.lease
	if broken.Is(broken.S8LeaseSlips) {
		lease = c.id.op.leaseNow()
	}
	c.deadline = first.Add(lease - c.margin)
	c.due = first.Add(lease / 3)
	kept := c.sends[:0]
	for _, s := range c.sends {
		if !s.first.Before(first) {
			kept = append(kept, s)
		}
	}
	c.sends = kept
}
