package idem

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	outageLook  = time.Second      // how often an outage is looked at
	outageQuiet = 5                // looks without a failure, after which it is over
	outageTold  = 30 * time.Second // how often the log counts what it costs
)

// outage is what a guard knows of its store's being out of reach. It begins with
// the first request that could not be decided, and is over once the store has
// answered and not failed for five seconds: a store that fails now and then is
// one outage, not a thousand. While there is none it costs one look a call.
type outage struct {
	on               atomic.Bool
	failed, answered atomic.Int64 // calls since the last look
	refused, open    atomic.Int64 // requests since it began
	slow             atomic.Bool  // the last call that failed was not answered in time

	mu      sync.Mutex
	watched bool // between New and Close

	silence silence // for the janitor
}

// heard takes note of what came of a call of the store.
func (o *outage) heard(err error) {
	if err == nil {
		o.silence.answered()
	} else {
		o.slow.Store(IsTimeout(err))
	}
	switch {
	case !o.on.Load():
	case err != nil:
		o.failed.Add(1)
	default:
		o.answered.Add(1)
	}
}

// heardAll is heard, for calls that were made together.
func (g *Guard) heardAll(results []OpResult) []OpResult {
	if g.outage.on.Load() || g.outage.silence.state.Load() != nobodyListens {
		for i := range results {
			g.outage.heard(results[i].Err)
		}
	}
	return results
}

// InOutage tells whether the store is out of reach just now, as far as this
// guard's requests have found out: they are unavailable, or run unprotected where
// the policy is open. It makes no call.
func (g *Guard) InOutage() bool { return g.outage.on.Load() }

// degraded takes note of a request that could not be decided because the store
// did not answer: open, it runs all the same.
func (g *Guard) degraded(open bool) {
	o := &g.outage
	if open {
		o.open.Add(1)
	} else {
		o.refused.Add(1)
	}
	o.failed.Add(1)
	if o.on.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.watched && o.on.CompareAndSwap(false, true) {
		g.cards.Go(g.watchOutage)
	}
}

// watch has outages be watched from now on, or not any more.
func (o *outage) watch(watched bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.watched = watched
}

// watchOutage tells of an outage until it is over.
func (g *Guard) watchOutage() {
	o, begin := &g.outage, g.clock.now()
	_, end := g.step(context.Background(), Step{Kind: StepDegraded, Store: g.describe.Name})
	defer end.End(StepResult{})
	defer o.on.Store(false)
	g.warnOutage("store does not answer: requests go by onOutage", begin)
	ticks := time.NewTicker(outageLook)
	defer ticks.Stop()
	quiet, answered := 0, false
	for n := 1; ; n++ {
		select {
		case <-ticks.C:
		case <-g.closed:
			return
		}
		failed, heard := o.failed.Swap(0) > 0, o.answered.Swap(0) > 0
		if quiet++; failed {
			quiet = 0
		}
		answered = !failed && (answered || heard)
		if answered && quiet >= outageQuiet {
			g.warnOutage("store answers again", begin)
			o.refused.Store(0)
			o.open.Store(0)
			return
		}
		if time.Duration(n)*outageLook%outageTold == 0 {
			g.warnOutage("store still does not answer", begin)
		}
	}
}

// warnOutage tells the log how many requests an outage has cost so far, and how the
// store failed last: what an error of its says may hold what it was asked to keep.
func (g *Guard) warnOutage(what string, begin time.Time) {
	fault := "store"
	if g.outage.slow.Load() {
		fault = "timeout"
	}
	g.log.LogAttrs(context.Background(), slog.LevelWarn, what, slog.String("idem.store", g.describe.Name), slog.String("error.type", fault),
		slog.Int64("refused", g.outage.refused.Load()), slog.Int64("unprotected", g.outage.open.Load()),
		slog.Duration("for", g.clock.since(begin).Round(time.Millisecond)))
}

// IsTimeout tells an error of a store that did not answer in time from one by
// which it refused: a deadline of the context, or one of the connection.
func IsTimeout(err error) bool {
	var late interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &late) && late.Timeout()
}

// warnLease tells the log of a lease that is not being renewed.
func (g *Guard) warnLease(c *Claim, used float64) {
	g.log.LogAttrs(c.run, slog.LevelWarn, "lease is nearly over and not renewed", attrOperation(c), attrKey(c), slog.Float64("used", used))
}
