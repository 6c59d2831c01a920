package idem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// SetPolicy puts another policy in the place of the running one of its
// operation, whole: a field left zero takes its preset's answer and not what
// was there before. Start from [Guard.Policy] to change one number.
//
// It is checked as at the start, and everything that is wrong is reported in
// one error; the running policy then stays. An operation that the guard was not
// built with is ErrUnknownOperation, a guard that was closed ErrClosed.
//
// Requests that are judged from now on are judged by the new policy. A claim
// that was made before keeps the one it began with to its end: its lease, its
// MaxRun, its retention, and what becomes of it. Tokens issued before keep their
// life, and their records are kept for as long as that life asks for.
//
// The card of the operation has to know of another fingerprint choice, another
// retention, and another mode or share before they run (PROTOCOL section 7, T1,
// T6), so these changes call the store, and are refused with ErrUnavailable while
// it does not answer. Tokens issued before a longer retention or another mode or
// share and in the ten minutes after, or before Open was left, are `forgotten`
// instead of `dead` once they have expired: what ran under the other policy may
// have left no record that is still there.
//
// It may be called from any goroutine, while requests run. Only this process
// changes; tell every other one too.
func (g *Guard) SetPolicy(p Policy) error {
	select {
	case <-g.closed:
		return ErrClosed
	default:
	}
	p = p.withDefaults()
	s := g.operations[p.Operation]
	if err := g.checkSwap(s, &p); err != nil {
		return fmt.Errorf("idem: the policy stays as it is:\n%w", err)
	}
	s.swap.Lock()
	defer s.swap.Unlock()
	next := g.under(s, &p)
	if cardMustKnow(s.running.Load().policy, &p) {
		if err := g.tellCard(next); err != nil {
			return fmt.Errorf("idem: the policy stays as it is: policy %q: %w", p.Operation, err)
		}
	}
	if broken.Is(broken.S8SwapReachesRuns) {
		*s.running.Load().policy = p
	}
	if s.running.Load().policy.OnOutage == Open && p.OnOutage != Open {
		g.leaveOpen(s)
	}
	s.running.Store(next)
	g.swaps.Add(1)
	text, _ := json.Marshal(p) // plain data: it cannot fail
	g.log.LogAttrs(context.Background(), slog.LevelInfo, "policy was changed", attrOp(next), slog.String("policy", string(text)))
	return nil
}

// checkSwap is everything that is wrong with a policy, and with setting it here.
func (g *Guard) checkSwap(s *standing, p *Policy) error {
	errs := []error{g.fits(p)}
	if s == nil {
		errs = append(errs, fmt.Errorf("%w: %q: operations are named when the guard is built", ErrUnknownOperation, p.Operation))
	}
	if p.UsesToken() && g.signer == nil {
		errs = append(errs, fmt.Errorf("policy %q: key source token: the guard was built without a Signer", p.Operation))
	}
	return errors.Join(errs...)
}

// cardMustKnow tells whether what runs under the new policy would be misjudged
// by somebody who knows the old one only.
func cardMustKnow(was, next *Policy) bool {
	return was.Retention != next.Retention || was.Mode != next.Mode || was.Share != next.Share || was.Fingerprint.String() != next.Fingerprint.String()
}

// tellCard has the card agree with the operation that is to run.
func (g *Guard) tellCard(next *operation) error {
	ctx, end := g.step(context.Background(), Step{Kind: StepCard, Operation: next.policy.Operation})
	err := g.syncCard(ctx, next, next)
	end.End(StepResult{Err: err})
	var refused *cardRefusal
	if err != nil && !errors.As(err, &refused) {
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// leaveOpen has since moved. While the policy was Open a missing record proved
// nothing; it still proves nothing of that time, in this process or in one that
// ran something and died before it could say so (PROTOCOL T6).
func (g *Guard) leaveOpen(s *standing) {
	if broken.Is(broken.T6OpenLeft) {
		return
	}
	s.card.disturbed.Add(1)
	select {
	case g.pokeCards <- struct{}{}:
	default:
	}
}

// orRunning is next, or where there is none the operation as it runs now. Ask
// after the card was read: a swap writes the card first, so that a card never
// lags behind the policy it is compared with.
func (op *operation) orRunning(next *operation) *operation {
	if next != nil {
		return next
	}
	return op.running.Load()
}

func newCardRefusal(text string) *cardRefusal { return &cardRefusal{text} }

// refuses tells why policy p cannot be judged beside the records that card c
// stands for, nil if it can.
func (g *Guard) refuses(c *card, p *Policy) *cardRefusal {
	if c.NameKey != g.names.checkValue() && !broken.Is(broken.T6NameKeyUnread) {
		return errNameKey
	}
	choice, version := p.Fingerprint.String(), p.Fingerprint.Version()
	for _, kept := range c.Fingerprints {
		if kept != choice && choiceVersion(kept) == version && !broken.Is(broken.S7ChoiceByteShared) {
			return newCardRefusal(fmt.Sprintf("idem: fingerprint of %s: the choice %q cannot be told from %q, which records still carry: both have the version %d by chance; name one more field, even one that no request has",
				p.Operation, choice, kept, version))
		}
	}
	return nil
}

// choose notes a fingerprint choice; newest says that it runs from now on, so
// that it is the last to be dropped. It reports whether the card changed.
func (c *card) choose(choice string, newest bool) bool {
	at := slices.Index(c.Fingerprints, choice)
	if at >= 0 && (!newest || at == len(c.Fingerprints)-1) {
		return false
	}
	if at >= 0 {
		c.Fingerprints = slices.Delete(c.Fingerprints, at, at+1)
	}
	c.Fingerprints = append(c.Fingerprints, choice)
	c.Fingerprints = c.Fingerprints[max(0, len(c.Fingerprints)-2):]
	return true
}

// retain notes for how long policy p keeps records, and reports whether the
// card changed. T1 (b) takes a token which is younger than the retention and has
// no record for one that never ran. After a retention that was raised this is
// wrong of what ran before: since moves to where the last process under the
// shorter one is gone, as for a change of mode (PROTOCOL T6). Processes that
// differ for long move it once a minute, and rightly so.
func (g *Guard) retain(ctx context.Context, op *operation, c *card, p *Policy) (changed bool) {
	kept := p.keptSeconds()
	if kept == c.Retention {
		return false
	}
	raised := c.Retention != 0 && kept > c.Retention && !broken.Is(broken.T1RetentionRaised)
	if c.Retention = kept; !raised {
		return true
	}
	c.Since = max(c.Since, g.clock.corrected().Add(slack).UnixMicro())
	since := time.UnixMicro(c.Since)
	op.card.move(since)
	g.log.LogAttrs(ctx, slog.LevelWarn, "retention is longer than it was: expired tokens issued before since are forgotten", attrOp(op), slog.Time("since", since))
	return true
}

// roll notes what policy p guards, and reports whether the card changed. Under
// the other mode, or outside the other share, requests ran without a record, or
// do in a process that has not changed yet: since moves to where the last of them
// is gone (PROTOCOL T6). Processes that differ for long move it once a minute.
func (g *Guard) roll(ctx context.Context, op *operation, c *card, p *Policy) (changed bool) {
	if or(c.Mode, ModeEnforce) == p.Mode && or(c.Share, 1) == p.Share {
		return false
	}
	c.Mode, c.Share = p.Mode, p.Share
	if broken.Is(broken.T6RollStays) {
		return true
	}
	c.Since = max(c.Since, g.clock.corrected().Add(slack).UnixMicro())
	since := time.UnixMicro(c.Since)
	op.card.move(since)
	g.log.LogAttrs(ctx, slog.LevelWarn, "mode or share is another than it was: expired tokens issued before since are forgotten", attrOp(op), slog.Time("since", since))
	return true
}

// move moves since on.
func (s *cardState) move(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if since.After(s.since) {
		s.since = since
	}
}

func (p *Policy) keptSeconds() int64 { return int64(p.Retention / time.Second) }

// retentionFor is how long the record of a token of this life is kept (0: of a
// client's key). A policy's retention fits the life of the tokens it issues; a
// token that was issued under another policy may live longer, and a record that
// is gone before its token would let the action run again (PROTOCOL T2).
func (p *Policy) retentionFor(life time.Duration) time.Duration {
	if broken.Is(broken.T2PolicyRetentionOnly) {
		return p.Retention
	}
	return max(p.Retention, life+clientDeadline+slack)
}
