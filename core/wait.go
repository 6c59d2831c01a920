package idem

import (
	"context"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// The bounds of waiting (PROTOCOL section 8, defaults).
const (
	slowPoll          = 500 * time.Millisecond
	maxRecordWaiters  = 1000
	maxGuardWaiters   = 10_000
	retryUncertain    = 5 * time.Second
	leastRetry        = time.Second
	mostRetry         = 5 * time.Second
	mostLeaseRestTold = 120 * time.Second
)

// first finds out what becomes of c, as far as that can be known at once: from
// what runs in this process, by its own claim where nobody is ahead of it, else
// by the look-out. It tells whether there is somebody to wait for.
func (g *Guard) first(ctx context.Context, c *Claim, local *Claim, out *lookout) (waiting bool, err error) {
	switch {
	case out != nil:
		return g.consult(ctx, c, out)
	case local != nil:
		return g.consultHere(ctx, c, local)
	}
	if waiting, err = c.decide(ctx, nil, false, false); waiting {
		g.saw(c)
	}
	return waiting, err
}

// saw ends the turn of a claim that went ahead and found somebody to wait for.
func (g *Guard) saw(c *Claim) {
	if c.out.Load() == nil { // nobody came after it; those who come later are to find what it saw
		if l := g.running.join(c); c.ahead {
			l.saw(c.seen, c.start)
		}
	}
	g.running.pass(c, nil)
}

// consultHere judges c by a claim of this process, where that knows enough.
func (g *Guard) consultHere(ctx context.Context, c, local *Claim) (waiting bool, err error) {
	if view, have := local.view(); have {
		a := c.asker()
		if st, _ := judge(&a, &view); !st.claims() || broken.Is(broken.S8AllClaim) {
			return c.decide(ctx, &view, true, false)
		}
	}
	return g.consult(ctx, c, g.running.join(c))
}

// consult asks the look-out what becomes of c, and looks, or claims, where it is
// c's turn and nobody knows.
func (g *Guard) consult(ctx context.Context, c *Claim, l *lookout) (waiting bool, err error) {
	if c.verdict == 0 {
		l.came()
	}
	for {
		now := l.glance()
		from, known := g.running.at(c.id.name).view() // a claim of this process knows best
		if known {
			a := c.asker()
			if st, _ := judge(&a, &from); !st.claims() {
				return c.decide(ctx, &from, true, false)
			}
		}
		if now.err != nil && now.failed >= c.arrived.fails && !c.opens(found{}) {
			c.verdict, c.retry, c.refusal = Unavailable, leastRetry, now.err
			return false, now.err
		}
		if !known && now.flight > 0 {
			switch st, verdict := c.hears(&now); {
			case st == stepWait:
				return true, nil
			case st == stepAnswer:
				return false, c.answer(ctx, &now.f, verdict, nil)
			case st.claims() && !now.stale:
				from, known = now.f, true
			}
		}
		if !l.take(&now) {
			continue
		}
		return c.lead(ctx, from, known, now.flight > 0 || c.verdict == InFlight)
	}
}

// hears tells what c may make of what the look-out saw: wait for somebody, take
// an answer, claim when it has the turn; stepLook where it may not go by that.
func (c *Claim) hears(now *glance) (step, Verdict) {
	if broken.Is(broken.S8EachLooks) {
		return stepLook, 0
	}
	a, fresh := c.asker(), now.flight >= c.arrived.fresh
	st, verdict := judge(&a, &now.f)
	switch {
	case st == stepWait && (fresh || now.storm || c.mayWait() > 0):
		if f, running := now.running(a, c.g.clock.now()); running {
			c.seen = f
			return stepWait, 0
		}
		return stepLook, 0
	case st.claims(), st == stepAnswer && fresh && !now.stale:
		return st, verdict
	}
	return stepLook, 0
}

// take waits for the turn. It fails where something was seen meanwhile.
func (l *lookout) take(now *glance) bool {
	select {
	case <-l.turn:
	case <-now.news:
		return false
	}
	if !l.begin(now.version) {
		l.turn <- struct{}{}
		return false
	}
	return true
}

// lead is c's turn: it claims from what is known, or looks first, or claims as
// the first of all would. A claim that was won keeps the turn until it runs, so
// that the others find it.
func (c *Claim) lead(ctx context.Context, f found, known, look bool) (waiting bool, err error) {
	c.leads = true
	defer func() {
		if !c.won {
			c.g.running.pass(c, err)
		}
	}()
	return c.decide(ctx, &f, known, look)
}

// mayWait is how long a duplicate may wait; 0: not at all.
func (c *Claim) mayWait() time.Duration {
	p := c.policy()
	switch {
	case p.OnDuplicate != Wait || c.observes():
		return 0
	case c.patience != 0:
		return max(0, min(p.Wait, c.patience))
	}
	return p.Wait
}

// ready makes a waiter ready to be woken before it looks, so that one look does
// for both: it says how long the lease still runs, and it comes after the
// subscription.
func (c *Claim) ready(ctx context.Context) {
	if !c.ahead && !c.leads || c.mayWait() == 0 {
		return
	}
	if l := c.g.running.join(c); l.enlist(c) {
		l.subscribe(ctx)
		l.freshen()
	}
}

// wait is await as a step, with the time it took.
func (g *Guard) wait(ctx context.Context, c *Claim) error {
	began := g.clock.tick()
	obs, end := c.observe(ctx, Step{Kind: StepWait, Link: unpackTrace(c.seen.rec.trace)})
	err := g.await(obs, c)
	end.End(StepResult{Verdict: c.verdict, State: c.seen.rec.state, Err: err})
	c.waited = g.clock.tick() - began
	return err
}

// await waits for another owner, where the policy says so, until there is
// something else to say than in-flight.
func (g *Guard) await(ctx context.Context, c *Claim) error {
	c.verdict, c.retry = InFlight, c.retryAfter()
	patience := c.mayWait()
	if patience == 0 {
		return nil
	}
	defer g.waiters.Add(-1)
	if g.waiters.Add(1) > maxGuardWaiters {
		return nil
	}
	until := time.NewTimer(patience)
	defer until.Stop()
	// Who was waited for here may have ended without deciding: what it left is
	// looked at once, and after that the store has to say.
	var used *Claim
	for {
		var over bool
		var err error
		if local := g.running.at(c.id.name); local != nil && local != used {
			var ended bool
			if over, ended, err = g.awaitHere(ctx, c, local, until.C); ended {
				used = local
			}
		} else {
			over, err = g.awaitAbroad(ctx, c, used, until.C)
		}
		if c.won { // a run has no verdict before its end, or others here could not see that it runs
			c.verdict = 0
		}
		if over || err != nil {
			return err
		}
		c.verdict = InFlight
	}
}

// awaitHere waits for a claim of this process. It tells whether c has its
// verdict, and whether local has ended.
func (g *Guard) awaitHere(ctx context.Context, c, local *Claim, until <-chan time.Time) (over, ended bool, err error) {
	wake, how := local.join()
	switch how {
	case joinedCrowded:
		return true, false, nil
	case joinedEnded:
		ended = true
	case joinedWaiting:
		defer local.part()
		poll := time.NewTimer(slowPoll)
		defer poll.Stop()
		select {
		case <-wake:
			ended = true
		case <-poll.C:
		case <-until:
			c.retry = c.retryAfter()
			return true, false, nil
		case <-ctx.Done(): // the client left; there is nobody to wait for
			return true, false, nil
		case <-g.closed:
			return true, false, nil
		}
	}
	waiting, err := g.consultHere(ctx, c, local)
	return !waiting, ended, err
}

// awaitAbroad waits for a claim of another process. used is one of this process
// that has nothing more to say.
func (g *Guard) awaitAbroad(ctx context.Context, c, used *Claim, until <-chan time.Time) (over bool, err error) {
	l := g.running.join(c)
	if !l.enlist(c) {
		return true, nil
	}
	news := l.glance().news
	l.subscribe(ctx)
	if waiting, err := g.consult(ctx, c, l); !waiting {
		return true, err
	}
	if local := g.running.at(c.id.name); local != nil && local != used {
		return false, nil // one that came to run here before we heard of its news
	}
	select {
	case <-news:
	case <-l.knock:
	case <-until:
		c.retry = c.retryAfter()
		return true, nil
	case <-ctx.Done():
		return true, nil
	case <-g.closed:
		return true, nil
	}
	waiting, err := g.consult(ctx, c, l)
	return !waiting, err
}

// joined is what came of joining those who wait for a claim.
type joined uint8

const (
	joinedWaiting joined = iota // the channel is closed when the claim ends
	joinedEnded                 // it has ended: look at once
	joinedCrowded               // too many wait already
)

// join counts a waiter in; part counts it out again.
func (c *Claim) join() (wake <-chan struct{}, how joined) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.told || c.verdict != 0:
		return nil, joinedEnded
	case c.waiting >= maxRecordWaiters:
		return nil, joinedCrowded
	}
	if c.wake == nil {
		c.wake = make(chan struct{})
	}
	c.waiting++
	return c.wake, joinedWaiting
}

func (c *Claim) part() {
	c.mu.Lock()
	c.waiting--
	c.mu.Unlock()
}

// retryAfter says when a refused duplicate had best come again: after the
// operation's usual time still to go, or, past it, after the rest of the lease
// (PROTOCOL section 8, defaults).
func (c *Claim) retryAfter() time.Duration {
	ran := c.g.clock.corrected().Sub(c.seen.rec.begun())
	if usual := c.id.op.usual.p90(); usual > 0 && ran < usual {
		return min(max(usual-ran, leastRetry), mostRetry)
	}
	spent := max(0, c.seen.rec.retention()-c.seen.left)
	rest := min(max(c.seen.rec.leaseTime()-spent, leastRetry), mostLeaseRestTold)
	if c.id.op.usual.p90() == 0 {
		return min(rest, mostRetry)
	}
	return rest
}
