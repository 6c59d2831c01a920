package idem

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// runningClaims are the claims that this process runs, or holds an outcome of
// that is not written yet, by record name. Duplicates of one process find each
// other here without a store call.
type runningClaims struct {
	seed   maphash.Seed
	shards [64]runningShard
}

type runningShard struct {
	mu     sync.Mutex
	claims map[string]*Claim
	count  int // claims entered and not left
	closed bool
	idle   func()
}

func (r *runningClaims) shard(name string) *runningShard {
	return &r.shards[maphash.String(r.seed, name)%uint64(len(r.shards))]
}

// enter counts a request in and returns the claim that runs here under the
// same name, if any. It fails once close was called.
func (r *runningClaims) enter(name string) (*Claim, bool) {
	s := r.shard(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false
	}
	s.count++
	return s.claims[name], true
}

// leave counts it out again.
func (r *runningClaims) leave(name string) {
	s := r.shard(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count--; s.count == 0 && s.closed {
		s.idle()
	}
}

// hold makes c the claim that runs under name; end takes it away again. A
// claim that lost its record may have been followed by another.
func (r *runningClaims) hold(name string, c *Claim) {
	s := r.shard(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claims == nil {
		s.claims = make(map[string]*Claim)
	}
	s.claims[name] = c
}

func (r *runningClaims) end(name string, c *Claim) {
	s := r.shard(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claims[name] == c {
		delete(s.claims, name)
	}
}

func (r *runningClaims) at(name string) *Claim {
	s := r.shard(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.claims[name]
}

func (r *runningClaims) each(do func(*Claim)) {
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		list := make([]*Claim, 0, len(s.claims))
		for _, c := range s.claims {
			list = append(list, c)
		}
		s.mu.Unlock()
		for _, c := range list {
			do(c)
		}
	}
}

// close lets nobody in any more and returns a channel that is closed when all
// have left.
func (r *runningClaims) close() <-chan struct{} {
	idle := make(chan struct{})
	var busy atomic.Int64
	busy.Store(1) // this loop itself
	done := func() {
		if busy.Add(-1) == 0 {
			close(idle)
		}
	}
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		s.closed, s.idle = true, done
		if s.count > 0 {
			busy.Add(1)
		}
		s.mu.Unlock()
	}
	done()
	return idle
}

// view is what a duplicate in this process may conclude from a claim without
// asking the store: while the claim is surely live it is PROCESSING, and once
// its outcome is known, or is being written by us, that is the answer.
func (c *Claim) view() (found, bool) {
	if c == nil {
		return found{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.outcome.value != nil && c.holding && c.outcome.rec.state == StateReleased && !broken.Is(broken.P8HeldReleaseClaimed):
		// Not in the store yet. A repeat that claimed from it could be outrun by
		// our own settle: its claim would land after the janitor had looked for it.
		return found{}, false
	case c.outcome.value != nil:
		return c.outcome, true
	case c.verdict != 0 || c.lost != nil || !c.bare && passed(c.deadline, c.g.clock.now()):
		return found{}, false
	}
	left := c.rec.retention()
	if !c.bare { // what the store would say, about
		left -= c.policy().Lease - c.id.op.margin - c.deadline.Sub(c.g.clock.now())
	}
	return found{value: c.known, left: max(left, 1), rec: c.rec}, true
}

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
	case c.outcome.value != nil || c.verdict != 0:
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

// await waits for another owner, where the policy says so, until there is
// something else to say than in-flight.
func (g *Guard) await(ctx context.Context, c *Claim) error {
	c.verdict, c.retry = InFlight, c.retryAfter()
	p := c.policy()
	patience := c.patienceLeft(0)
	if p.OnDuplicate != Wait || patience <= 0 {
		return nil
	}
	defer g.waiters.Add(-1)
	if g.waiters.Add(1) > maxGuardWaiters {
		return nil
	}
	until := time.NewTimer(patience)
	defer until.Stop()
	var local, used *Claim
	for {
		// Who was waited for may have ended just now: what it left is looked at
		// once, and after that the store has to say.
		if next := g.running.at(c.id.name); next != nil {
			local = next
		}
		if local == used {
			local = nil
		}
		over, ended, err := g.look(ctx, c, local, until.C)
		if over || err != nil {
			return err
		}
		if ended {
			used = local
		}
	}
}

// patienceLeft is how long this claim may still wait for another owner.
func (c *Claim) patienceLeft(waited time.Duration) time.Duration {
	patience := c.policy().Wait
	if c.patience != 0 {
		patience = min(patience, c.patience)
	}
	return patience - waited
}

// look waits for a wake-up or the slow poll, looks, and claims where that is
// possible now. over says that the claim has its verdict, ended that local has
// ended and what it left did not decide.
func (g *Guard) look(ctx context.Context, c *Claim, local *Claim, until <-chan time.Time) (over, ended bool, err error) {
	var wake <-chan struct{}
	how := joinedEnded
	if local != nil {
		switch wake, how = local.join(); how {
		case joinedCrowded:
			return true, false, nil
		case joinedWaiting:
			defer local.part()
		}
	}
	if local == nil || how == joinedWaiting {
		poll := time.NewTimer(slowPoll)
		defer poll.Stop()
		select {
		case <-ctx.Done():
			return true, false, nil // the client left; there is nobody to wait for
		case <-g.closed:
			return true, false, nil
		case <-until:
			c.retry = c.retryAfter()
			return true, false, nil
		case <-wake:
			how = joinedEnded
		case <-poll.C:
		}
	}
	view, have := local.view()
	waiting, err := c.decide(ctx, view, have, true)
	if waiting {
		c.verdict = InFlight
		return false, local != nil && how == joinedEnded, nil
	}
	return true, false, err
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
