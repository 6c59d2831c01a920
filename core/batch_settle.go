package idem

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-idem/idem/internal/broken"
)

// Settlement says how one claim of a batch ends.
type Settlement struct {
	Claim   *Claim
	Outcome Outcome // Completes, Fails, Releases, Doubts
	Payload Payload // what is kept, of Completes and Fails
}

// SettleBatch ends many claims in one exchange with the store (one for each of
// its nodes). What it returns are the errors that Complete, Fail, Release and
// Doubt would have returned, in order, nil where there is none.
func (g *Guard) SettleBatch(ctx context.Context, list []Settlement) []error {
	all := make([]ended, len(list))
	for i, s := range list {
		all[i].Settlement = s
	}
	return g.settleAll(ctx, all)
}

// ended is a claim that ends with others.
type ended struct {
	Settlement
	undone bool // see Claim.settle
}

// settleAll is Claim.settle for many.
func (g *Guard) settleAll(ctx context.Context, list []ended) []error {
	type ending struct {
		settling
		end Ending
	}
	if g.hooks != nil {
		g.hooks.active.Add(1)
		defer g.hooks.leave()
	}
	errs := make([]error, len(list))
	all := make([]ending, len(list))
	g.each(len(list), func(i int) {
		s := list[i]
		if errs[i] = ErrNoClaim; s.Claim.won {
			all[i].c, all[i].result = s.Claim, "ok"
			all[i].p, errs[i] = s.Claim.beginSettle(s.Outcome, s.Payload, s.undone)
		}
	})
	talks := make([]talk, 0, len(list))
	for i := range all {
		if all[i].p != nil {
			_, all[i].end = all[i].c.observe(ctx, Step{Kind: StepSettle})
			talks = append(talks, &all[i].settling)
		}
	}
	g.together(ctx, g.settleWait, 1, talks, nil)
	g.each(len(all), func(i int) {
		if w := &all[i]; w.p != nil {
			errs[i] = w.c.endSettle(w.p, w.end, w.result, w.err)
		}
	})
	return errs
}

// each does something for many claims: one after the other, and where hooks may
// be called all at once, so that one that hangs is waited for once.
func (g *Guard) each(n int, do func(i int)) {
	if g.hooks == nil {
		for i := range n {
			do(i)
		}
		return
	}
	var work sync.WaitGroup
	for i := range n {
		work.Go(func() { do(i) })
	}
	work.Wait()
}

// MarkBatch is [Claim.MarkEffects] for many claims, in one exchange with the
// store: the point of no return of a run that acts on all of them at once. Any
// error means do not go on. A run that returns the error it was given had no
// effect on any of them; where it goes on with some all the same, only those
// whose mark failed end in doubt. A claim that stands there twice, as those of one
// key do, is marked once.
func (g *Guard) MarkBatch(ctx context.Context, claims []*Claim, note ...string) error {
	text := strings.Join(note, " ")
	if len(text) > maxNote {
		return fmt.Errorf("idem: a note has at most %d bytes, this one has %d", maxNote, len(text))
	}
	var failed error
	list := make([]renewing, 0, len(claims))
	talks := make([]talk, 0, len(claims))
	for _, c := range inTurn(claims) {
		if !c.won {
			failed = errors.Join(failed, ErrNoClaim)
			continue
		}
		c.startWriting(true)
		p, err := c.beginMark(text)
		if p == nil {
			c.stopWriting()
			failed = errors.Join(failed, err)
			continue
		}
		list = append(list, renewing{c: c, p: p, result: "ok"})
		talks = append(talks, &list[len(list)-1])
	}
	g.together(ctx, g.describe.WorstCall, askTries, talks, nil)
	for i := range list {
		failed = errors.Join(failed, list[i].c.endMark(list[i].err))
		list[i].c.stopWriting()
	}
	if failed != nil {
		for _, c := range claims {
			c.excuse(failed)
		}
	}
	return failed
}

// inTurn are claims once each, in an order that is the same for everybody: who marks
// many has all of them to itself, and waits for one with others in its hands.
func inTurn(claims []*Claim) []*Claim {
	if broken.Is(broken.S8MarksInAnyOrder) {
		return claims
	}
	list := slices.Clone(claims)
	slices.SortFunc(list, func(a, b *Claim) int {
		return cmp.Or(cmp.Compare(a.id.name, b.id.name), bytes.Compare(a.nonce[:], b.nonce[:]))
	})
	return slices.Compact(list)
}

// excuse has a run that returns this error be one without effect.
func (c *Claim) excuse(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.excused = err
}

// excuses tells whether a run that returned err had no effect: it says so, or it
// returns the error of a mark that failed.
func (c *Claim) excuses(err error) bool {
	if err == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return hadNoEffects(err) || c.markErr != nil && errors.Is(err, c.markErr) || c.excused != nil && errors.Is(err, c.excused)
}

// endAbruptlyAll is Claim.endAbruptly for many.
func (g *Guard) endAbruptlyAll(claims []*Claim) {
	list := make([]ended, len(claims))
	for i, c := range claims {
		if c.hooked != nil {
			c.returned(nil, errAbrupt)
		}
		c.because(releasedByPanic)
		list[i].Settlement = Settlement{Claim: c, Outcome: c.policy().OutcomeOfError(), Payload: Payload{Partial: true}}
	}
	if !broken.Is(broken.P10PanicUnsettled) {
		g.settleAll(context.Background(), list)
	}
}
