package idem

import (
	"context"
	"errors"
	"testing"
	"time"
)

// batch is one client's request for a few items, with their handler.
func (c *chaos) batch(p *chaosProcess, g *Guard, all []Intent, in Intent) {
	c.mu.Lock()
	intents := []Intent{in}
	for range c.rng.IntN(4) {
		intents = append(intents, all[c.rng.IntN(len(all))])
	}
	takes, ends := time.Duration(c.rng.IntN(4000))*time.Millisecond, c.rng.IntN(5)
	mark, atomic := c.chance(0.3), c.chance(0.5)
	c.mu.Unlock()
	var options []BatchOption
	if atomic {
		options = append(options, Atomic())
	}
	answers, err := DoBatch(context.Background(), g, intents, JSON[int](), func(ctx context.Context, won []Item) []Answer[int] {
		list := make([]Answer[int], len(won))
		c.mu.Lock()
		for _, at := range won {
			name := at.Claim.id.name
			c.owners[at.Claim.nonce] = &chaosRun{at.Claim, p}
			c.runs[name]++
			if c.dead[name] {
				c.t.Error("I5: it runs, and dead was said of it")
			}
			if at.Claim.rec.flags&flagReserved != 0 && at.Claim.Recorded() {
				c.t.Error("it runs, and its claim was never started")
			}
		}
		c.mu.Unlock()
		pass(takes / 2)
		var failed error
		if mark {
			failed = MarkEffects(ctx)
		}
		if failed == nil && ends == 0 {
			failed = errors.New("refused without effect")
		}
		for i, at := range won {
			switch {
			case failed != nil:
				list[i].Err = failed
			case at.Claim.Context().Err() != nil:
				list[i].Err = at.Claim.Context().Err()
			default:
				c.mu.Lock()
				if !p.killed {
					c.effects[at.Claim.id.name]++
				}
				c.mu.Unlock()
			}
		}
		pass(takes / 2)
		return list
	}, options...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.t.Error(err)
	}
	for i, a := range answers {
		if a.Verdict == 0 {
			c.t.Error("I6: an item ended without a verdict")
		}
		if a.Verdict == Dead {
			verified, _ := g.Verify(context.Background(), intents[i])
			c.dead[verified.id.name] = true
			if c.open || c.watch || c.runs[verified.id.name] > c.released[verified.id.name] {
				c.t.Error("I5: dead was said of a token that ran")
			}
		}
	}
}

// TestI10_BatchesWithFaultsAtEveryCall is the same for batches, each by itself
// and all or nothing.
func TestI10_BatchesWithFaultsAtEveryCall(t *testing.T) {
	seeds := uint64(20)
	if drill() {
		seeds = 1000
	}
	faults, runs, takeOvers := 0, 0, 0
	for seed := range seeds {
		f, r, o := runChaos(t, seed, true)
		faults, runs, takeOvers = faults+f, runs+r, takeOvers+o
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d histories of %d batches for %d intents: %d faults, %d runs, %d take-overs", seeds, chaosRequests, chaosIntents, faults, runs, takeOvers)
}
