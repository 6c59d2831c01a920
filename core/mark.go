package idem

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-idem/idem/internal/broken"
)

// MarkEffects marks the point of no return of the run that ctx belongs to and
// leaves a note of up to 256 bytes in its record. It is written before the
// effect: any error means do not go on.
//
//	if err := idem.MarkEffects(ctx, "order "+id); err != nil {
//		return err
//	}
//
// From then on whatever would have been released is left in doubt, and a crash
// reads as uncertain, whatever onCrash says. A handler that returns the very
// error it was given had no effect and is released; any other ending after a
// failed mark is doubt. Errors: [ErrClaimLost], also where MaxRun is over (a mark
// renews the lease, and nothing does any more), [ErrUnavailable] where the
// outcome of the mark stays unknown, [ErrNoClaim] outside a run.
func MarkEffects(ctx context.Context, note ...string) error {
	if c, ok := ClaimFrom(ctx); ok {
		return c.MarkEffects(ctx, note...)
	}
	if many, ok := ctx.Value(batchKey{}).(*batchRun); ok {
		return many.g.MarkBatch(ctx, many.claims, note...)
	}
	return ErrNoClaim
}

// MarkEffects is the function of that name, for this claim.
func (c *Claim) MarkEffects(ctx context.Context, note ...string) error {
	text := strings.Join(note, " ")
	if len(text) > maxNote {
		return fmt.Errorf("idem: a note has at most %d bytes, this one has %d", maxNote, len(text))
	}
	if !c.won {
		return ErrNoClaim
	}
	c.startWriting(true)
	defer c.stopWriting()
	p, err := c.beginMark(text)
	if p == nil {
		return err
	}
	for range askTries {
		if _, err = c.write(ctx, p, c.g.describe.WorstCall); err != errUnknown {
			break
		}
	}
	return c.endMark(err)
}

// beginMark makes the renewal that marks effects; nil where nothing is to be
// written, with the reason, if that is one. c is writing.
func (c *Claim) beginMark(text string) (*pending, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bare && !c.ended { // nothing can be written ahead, and the policy says: run all the same
		if c.marked = true; text != "" {
			c.note = []byte(text)
		}
		return nil, nil
	}
	now := c.g.clock.now()
	over := passed(c.start.Add(c.policy().MaxRun), now) && !broken.Is(broken.I14LateMark)
	if c.ended || c.lost != nil || over || passed(c.deadline, now) {
		c.markErr = fmt.Errorf("idem: effects were not marked: %w", ErrClaimLost)
		return nil, c.markErr
	}
	if text != "" {
		c.note = []byte(text)
	}
	c.marked = true
	if broken.Is(broken.S8MarkUnwritten) {
		return nil, nil
	}
	c.pending = c.next(nil)
	return c.pending, nil
}

// endMark says what came of it.
func (c *Claim) endMark(err error) error {
	if err == nil {
		return nil
	}
	why := ErrClaimLost
	if err == errUnknown {
		why = ErrUnavailable
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.markErr = fmt.Errorf("idem: effects were not marked: %w", why)
	return c.markErr
}

// Note leaves up to 256 bytes in the record of the run that ctx belongs to: an
// order number, a provider's id. It is written with the next renewal, mark or
// settle. Errors: [ErrNoClaim] outside a run, and a note that is too long.
func Note(ctx context.Context, text string) error {
	c, ok := ClaimFrom(ctx)
	if !ok {
		return ErrNoClaim
	}
	return c.Note(text)
}

// Note is the function of that name, for this claim.
func (c *Claim) Note(text string) error {
	if len(text) > maxNote {
		return fmt.Errorf("idem: a note has at most %d bytes, this one has %d", maxNote, len(text))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.won || c.ended {
		return ErrNoClaim
	}
	c.note = []byte(text)
	return nil
}
