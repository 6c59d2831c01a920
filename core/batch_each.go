package idem

import (
	"context"
	"sync"
)

// claimEach decides about each item by itself. It waits only where it holds
// nothing: a batch that waited with claims in its hands could wait for another
// that waits for these.
func (b *batch) claimEach() {
	b.ask(b.items)
	won := false
	var waiting []*item
	for _, at := range b.items {
		won = won || at.c.won
		if at.waits {
			waiting = append(waiting, at)
		}
	}
	if !won {
		b.wait(waiting)
	}
	for _, at := range b.items {
		b.close(at)
	}
}

// wait waits for items beside each other, as long as nothing is won by it.
func (b *batch) wait(items []*item) {
	ctx, stop := context.WithCancel(b.ctx)
	defer stop()
	var work sync.WaitGroup
	for _, at := range items {
		work.Go(func() {
			obs, end := at.c.observe(ctx, Step{Kind: StepWait, Link: unpackTrace(at.c.seen.rec.trace)})
			at.err = b.g.await(obs, at.c)
			end.End(StepResult{Verdict: at.c.verdict, State: at.c.seen.rec.state, Err: at.err})
			if at.c.won {
				stop()
			}
		})
	}
	work.Wait()
}

// catchUp waits for what others were running, after this batch has ended its own
// claims and within what is left of the policy's Wait, so that their answers can
// be replayed. It claims nothing.
func (b *batch) catchUp() {
	var late []*item
	for _, at := range b.items {
		if at.c.won || at.c.verdict != InFlight || at.c.policy().OnDuplicate != Wait {
			continue
		}
		left := at.c.patienceLeft(b.g.clock.since(b.start))
		if _, open := b.g.running.enter(at.c.id.name); left <= 0 || !open {
			continue
		}
		at.c.patience, at.c.onlyLooks, at.entered = left, true, true
		late = append(late, at)
	}
	b.wait(late)
	for _, at := range late {
		b.close(at)
	}
}
