package idem

import (
	"context"
	"slices"
	"sync"

	"github.com/go-idem/idem/internal/broken"
)

// claimEach decides about each item by itself. It waits only where it holds
// nothing: a batch that waited with claims in its hands could wait for another
// that waits for these.
func (b *batch) claimEach() {
	b.ask(b.items, false)
	if !slices.ContainsFunc(b.items, func(at *item) bool { return at.c.won }) {
		b.wait(b.items)
	}
	for _, at := range b.items {
		b.close(at)
		if !at.c.won && at.c.observes() && !broken.Is(broken.S8ObserveRefuses) {
			at.c.beside(at.ctx)
		}
	}
}

// wait waits beside each other for the owners of items that have one, as long as
// nothing is won by it.
func (b *batch) wait(items []*item) {
	began := b.g.clock.tick()
	defer func() { b.waited += b.g.clock.tick() - began }()
	ctx, stop := context.WithCancel(b.ctx)
	defer stop()
	var work sync.WaitGroup
	for _, at := range items {
		if !at.waits || at.c.mayWait() == 0 {
			continue
		}
		work.Go(func() {
			at.err = b.g.wait(ctx, at.c)
			if at.c.won {
				stop()
			}
			b.close(at)
		})
	}
	work.Wait()
}

// catchUp looks again at what others were running, now that this batch holds
// nothing more, and waits for it within what is left of the policy's Wait, so
// that their answers can be replayed. It claims nothing.
func (b *batch) catchUp() {
	var late []*item
	for _, at := range b.items {
		if at.c.won || at.c.verdict != InFlight {
			continue
		}
		if left := at.c.mayWait() - b.g.clock.since(b.start); left > 0 {
			at.c = b.g.newClaim(at.ctx, at.in)
			at.c.patience, at.c.looks, at.c.hooked = left, true, at.told
			late = append(late, at)
		}
	}
	b.ask(late, true)
	b.wait(late)
	for _, at := range late {
		b.close(at)
	}
}
