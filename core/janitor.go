package idem

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// janitor is the goroutine that finishes what a store left open: claims of
// unknown outcome, which it writes over, and settles, which it goes on writing
// (PROTOCOL section 9 and P8).
type janitor struct {
	g    *Guard
	mu   sync.Mutex
	jobs []*job
	busy int // taken from the list and being worked on
	over bool
	poke chan struct{}
	quit chan struct{}
	done chan struct{}

	back    atomic.Bool // the store answers again: see silence
	closing atomic.Bool // nobody has the time to wait long
}

// job is one thing left open.
type job struct {
	name  string
	until time.Time // by the host's clock: after it the record is gone anyway
	first time.Time // not before
	last  time.Time // when it was tried last
	fails int       // how often it failed, since the store was last heard of

	// A claim of unknown outcome: what was sent, and what it was to be swapped
	// from.
	mine    record
	meant   []byte
	wakes   bool // somebody may wait for it in another process
	audited bool
	scope   string // for the audit log

	// A settle of unknown outcome.
	claim  *Claim
	target *pending
}

const (
	settleWait    = 250 * time.Millisecond // by default, how long an answer waits for its settle
	settleAgain   = 100 * time.Millisecond
	settleTry     = 2 * time.Second
	janitorAtOnce = 8
)

func newJanitor(g *Guard) *janitor {
	j := &janitor{g: g, poke: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	g.outage.silence.over = func() {
		j.back.Store(true)
		j.wake()
	}
	go j.loop()
	return j
}

// mend takes over a claim that nobody will run: its outcome is unknown, or it came
// too late.
func (j *janitor) mend(c *Claim, mine record, meant []byte) {
	j.g.counts.unknown.Add(1)
	now := j.g.clock.now()
	one := &job{name: c.id.name, until: now.Add(mine.retention()), first: now, mine: mine, meant: meant, wakes: c.id.op.wakes(j.g)}
	if c.audited != nil {
		one.audited, one.scope = true, c.audited.scope
	}
	j.add(one)
}

// settle takes over a settle of unknown outcome.
func (j *janitor) settle(c *Claim, target *pending) {
	until := c.start.Add(target.rec.retention())
	j.add(&job{name: c.id.name, until: until, first: j.g.clock.now().Add(settleAgain), claim: c, target: target})
}

func (j *janitor) add(one *job) {
	j.mu.Lock()
	over := j.over
	if !over {
		j.jobs = append(j.jobs, one)
	}
	j.mu.Unlock()
	if over && one.claim != nil { // a run that ended after the guard was closed
		j.finishSettle(one, true)
	}
	j.wake()
}

// wake has it look at its list.
func (j *janitor) wake() {
	select {
	case j.poke <- struct{}{}:
	default:
	}
}

// stop ends the goroutine and leaves what is open to the leases.
func (j *janitor) stop() {
	close(j.quit)
	<-j.done
}

// drain goes on until nothing is open or ctx ends, then stops. It returns how much
// was left open.
func (j *janitor) drain(ctx context.Context) (left int, err error) {
	defer func() {
		j.stop()
		j.giveUp()
	}()
	j.closing.Store(true)
	j.back.Store(true)
	j.wake()
	for {
		j.mu.Lock()
		left = len(j.jobs) + j.busy
		j.mu.Unlock()
		if left == 0 {
			return 0, nil
		}
		timer := time.NewTimer(settleAgain / 2)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return left, ctx.Err()
		}
	}
}

func (j *janitor) loop() {
	defer close(j.done)
	timer := time.NewTimer(janitorPeriod)
	defer timer.Stop()
	for {
		if nap := j.sweep(); nap > 0 {
			timer.Reset(nap)
		} else {
			timer.Stop()
		}
		select {
		case <-timer.C:
		case <-j.poke:
		case <-j.quit:
			return
		}
	}
}

// sweep works on the open jobs, some at once. Where all of these fail the store
// is not back yet: the rest waits for the next sweep, so that an outage costs
// it a few calls a second, and the first success lets everything through.
func (j *janitor) sweep() time.Duration {
	for {
		now := j.g.clock.now()
		if j.back.CompareAndSwap(true, false) {
			j.mu.Lock()
			j.hurry()
			j.mu.Unlock()
		}
		batch, next := j.take(now)
		if len(batch) == 0 {
			return next
		}
		var work sync.WaitGroup
		failed := 0 // under j.mu
		for _, one := range batch {
			work.Go(func() {
				over := j.finish(one, now) || broken.Is(broken.I13JanitorGivesUp)
				j.mu.Lock()
				defer j.mu.Unlock()
				if j.busy--; over {
					return
				}
				one.failed(j.g.clock.now(), j.closing.Load())
				j.jobs = append(j.jobs, one)
				failed++
			})
		}
		work.Wait()
		if failed == len(batch) {
			j.g.outage.silence.failed()
			return janitorPeriod
		}
	}
}

// take removes some due jobs from the list. Without one it says how long it is
// until there is, zero for never.
func (j *janitor) take(now time.Time) (batch []*job, next time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	rest := j.jobs[:0]
	for _, one := range j.jobs {
		wait := one.first.Sub(now)
		if wait <= 0 && len(batch) < janitorAtOnce {
			batch = append(batch, one)
			continue
		}
		rest = append(rest, one)
		if next == 0 || wait < next {
			next = max(wait, time.Millisecond)
		}
	}
	clear(j.jobs[len(rest):])
	if len(rest)+len(batch)+j.busy == 0 {
		j.g.outage.silence.state.Store(nobodyListens)
	}
	j.jobs, j.busy = rest, j.busy+len(batch)
	return batch, next
}

// finish works on one job and tells whether it is over.
func (j *janitor) finish(one *job, now time.Time) bool {
	over := elapsed(one.until, now) >= 0
	if one.claim != nil {
		return j.finishSettle(one, over)
	}
	if over {
		return true
	}
	ctx, end := j.g.step(context.Background(), Step{Kind: StepMend, Record: one.name})
	err := j.writeOver(ctx, one)
	end.End(StepResult{Err: err})
	if err != nil {
		return false
	}
	j.g.counts.mended.Add(1)
	return true
}

// writeOver follows mend until it has nothing more to write.
func (j *janitor) writeOver(ctx context.Context, one *job) error {
	f := found{}
	if one.meant != nil || broken.Is(broken.S9JanitorLooks) {
		res, err := j.g.call(ctx, "settle", settleTry, &Op{Kind: OpLoad, Name: one.name})
		if err != nil {
			return err
		}
		f = readFound(res)
	}
	for range maxSwaps {
		what, value := mend(one.mine, one.meant, f)
		if what == mendDone {
			return nil
		}
		op := Op{Kind: OpCreate, Name: one.name, Value: value.append(nil), TTL: value.retention(), Wake: one.wakes}
		if what == mendSwap {
			op.Kind, op.Old = OpSwap, f.value
		}
		if broken.Is(broken.I7JanitorNoTTL) {
			op.TTL = 0
		}
		res, err := j.g.call(ctx, "settle", settleTry, &op)
		if err != nil {
			return err
		}
		if res.Done || string(res.Value) == string(op.Value) {
			if one.audited && f.rec.state != value.state {
				_ = j.g.audit.tell(ctx, j.g.mended(one, f.rec.state, &value), false)
			}
			return nil
		}
		f = readFound(res)
	}
	return errUnknown
}

func (j *janitor) finishSettle(one *job, over bool) bool {
	c := one.claim
	ctx, end := c.observe(context.Background(), Step{Kind: StepSettle, Attempt: 2})
	result, err := abandoned, error(nil)
	if !over {
		if result, err = c.attempt(ctx, one.target, settleTry); err != nil {
			result = "retry"
		}
	}
	end.End(StepResult{State: one.target.rec.state, Result: result, Fence: one.target.rec.fence, Err: err})
	if err != nil {
		return false
	}
	j.g.counts.pending.Add(-1)
	j.g.running.end(c.id.name, c)
	c.logOutcome(one.target, result)
	return true
}

// giveUp tells of the outcomes that were not written before the guard was closed.
// Their records are what a crash leaves (PROTOCOL P8). The goroutine has ended.
func (j *janitor) giveUp() {
	j.mu.Lock()
	list := j.jobs
	j.jobs, j.over = nil, true
	j.mu.Unlock()
	for _, one := range list {
		if one.claim != nil {
			j.finishSettle(one, true)
		}
	}
}

// logOutcome tells the log of an outcome that needs somebody: what is in doubt, and
// what was not kept.
func (c *Claim) logOutcome(p *pending, result string) {
	switch {
	case result == "stale" || result == abandoned:
		c.g.log.LogAttrs(context.Background(), slogError, "outcome not kept", attrOperation(c), attrKey(c), slog.String("idem.settle.result", result))
	case p.rec.state == StateUncertain:
		c.g.log.LogAttrs(context.Background(), slogError, "run left in doubt", attrOperation(c), attrKey(c))
	}
}

// abandoned is what comes of an outcome that is given up: the record it is for is
// gone, or the guard is closed.
const abandoned = "abandoned"
