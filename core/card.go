package idem

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// card is an operation's own small record (PROTOCOL T6). It is JSON, so that
// an operator can read it.
type card struct {
	Version      int      `json:"v"`
	Since        int64    `json:"since"`           // microseconds: from when on every run left a record
	NameKey      string   `json:"nameKey"`         // check value of the name key
	Fingerprints []string `json:"fingerprints"`    // the last two choices, newest last
	Retention    int64    `json:"retention"`       // seconds: what every run since then was kept for, at least
	Mode         Mode     `json:"mode,omitempty"`  // what of the requests since then was guarded: all, where it is left out
	Share        float64  `json:"share,omitempty"` // and of how many of the keys
	Policy       string   `json:"policy"`          // hash of the policy of who wrote it last
	Counter      int      `json:"n"`
}

const (
	cardLife   = 100 * 24 * time.Hour
	cardPeriod = time.Minute
	cardRetry  = time.Second
)

// cardState is what a guard remembers of a card.
type cardState struct {
	mu       sync.RWMutex
	read     bool
	since    time.Time
	policies policyNotes
	// refused is why nothing can be judged under this card, nil or empty while
	// it can: see cardRefusal.
	refused atomic.Pointer[cardRefusal]
	// earlier is the fingerprint choice before the one in force, where the card
	// keeps one that this release can compute.
	earlier atomic.Pointer[FingerprintChoice]
	// disturbed counts the runs without a record, moved those of them that since
	// was moved for: while they differ, a missing record proves nothing.
	disturbed, moved atomic.Int64
}

// cardRefusal says why a guard cannot work with the records a card stands for.
// It does not start; where the card can first be read later, every request is
// unavailable from then on.
type cardRefusal struct{ text string }

func (r *cardRefusal) Error() string { return r.text }

// refusal is why every request is unavailable, nil where none has to be.
func (s *cardState) refusal() error {
	if r := s.refused.Load(); r != nil {
		return r
	}
	return nil
}

var errNameKey = newCardRefusal("idem: the store's records were made with another NameKey: give the one they were made with, or another Prefix; a name key is never changed while records live, and two guards on one memory store need the same")

// proves is T1 (b): whether no record proves no run, for a token issued then.
// A token says whole seconds, rounded down, so one whose stamp is after since
// was issued after it.
func (s *cardState) proves(issued time.Time, age time.Duration, p *Policy) bool {
	return p.Mode == ModeEnforce && s.remembers(issued, age, p)
}

// remembers is the same, were the policy enforced.
func (s *cardState) remembers(issued time.Time, age time.Duration, p *Policy) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !s.read || age >= p.Retention-slack || p.OnOutage == Open || s.isDisturbed() {
		return false
	}
	return issued.After(s.since) || broken.Is(broken.T6SinceUnread)
}

// toldAll tells whether every run that began after then has left a record.
func (s *cardState) toldAll(then time.Time, p *Policy) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.read && p.OnOutage != Open && !s.isDisturbed() && then.After(s.since)
}

// isDisturbed tells whether there were runs without a record that since was not
// moved for yet.
func (s *cardState) isDisturbed() bool { return s.disturbed.Load() != s.moved.Load() }

func (s *cardState) isRead() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.read
}

// Degraded tells whether tokens of this operation are issued while it cannot be
// told that they are protected: its card was not read yet, or its policy is not
// enforced, or for a share of them only. See [Guard.DegradedToken].
func (g *Guard) Degraded(name string) bool {
	op := g.operation(name)
	return op == nil || op.isUnsure() || op.policy.Share < 1
}

// DegradedToken tells the same of one token that was issued for req: whether it
// is in the share of keys that is guarded, too.
func (g *Guard) DegradedToken(req TokenRequest, t Token) bool {
	op := g.operation(req.Operation)
	return op == nil || op.isUnsure() || !op.policy.inShare(g.names.tokenRecord(g.prefix, req.Operation, req.Scope, t))
}

func (op *operation) isUnsure() bool {
	return op.policy.Mode != ModeEnforce || !op.card.isRead() || op.card.refusal() != nil
}

// cardName is the name of an operation's card. No key can make it: those names
// end in 26 characters.
func (g *Guard) cardName(op *operation) string { return g.prefix + op.policy.Operation + ":card" }

// keepCards reads every card once a minute, and sooner while one is unread. It
// corrects the clock by the way.
func (g *Guard) keepCards() {
	timer := time.NewTimer(cardPeriod)
	defer timer.Stop()
	for {
		if !g.cardsRead() {
			timer.Reset(cardRetry)
		}
		select {
		case <-timer.C:
		case <-g.pokeCards:
		case <-g.closed:
			return
		}
		if err := g.readCards(context.Background()); err != nil {
			g.log.Warn("idem cards cannot be read", "error", err)
		}
		timer.Reset(cardPeriod)
	}
}

func (g *Guard) cardsRead() bool {
	for _, op := range g.operations {
		if !op.card.isRead() || op.card.isDisturbed() {
			return false
		}
	}
	return true
}

// readCards reads the store's clock and every card. It stops at the first call
// that fails: the others would too.
func (g *Guard) readCards(ctx context.Context) error {
	if err := g.readClock(ctx); err != nil {
		return err
	}
	for _, s := range g.operations {
		if err := g.readCard(ctx, s.running.Load()); err != nil {
			return err
		}
	}
	return nil
}

func (g *Guard) readClock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.describe.WorstCall)
	defer cancel()
	return g.clock.adjust(ctx, g.store)
}

// confirm reads the clock and the card anew, before a death is certified.
func (g *Guard) confirm(ctx context.Context, op *operation) error {
	if broken.Is(broken.T6CardUnconfirmed) {
		return nil
	}
	if err := g.readClock(ctx); err != nil {
		return err
	}
	return g.readCard(ctx, op)
}

// readCard reads one card and makes it where there is none.
func (g *Guard) readCard(ctx context.Context, op *operation) error {
	ctx, end := g.step(ctx, Step{Kind: StepCard, Operation: op.policy.Operation})
	err := g.syncCard(ctx, op, nil)
	end.End(StepResult{Err: err})
	return err
}

// syncCard brings the card and this guard in line. next is the operation under
// the policy that is to run from then on, nil for the one that runs.
func (g *Guard) syncCard(ctx context.Context, op, next *operation) error {
	res, err := g.ask(ctx, "load", &Op{Kind: OpLoad, Name: g.cardName(op)})
	disturbed := op.card.disturbed.Load()
	for range maxSwaps {
		if err != nil {
			return fmt.Errorf("idem: the card of %s: %w", op.policy.Operation, err)
		}
		value, wanted, lost := res.Value, card{}, false
		if value == nil {
			wanted, lost = g.newCard(op.orRunning(next)), true
		} else if wanted, err = g.acceptCard(ctx, op, next, res); err != nil {
			return err
		} else if wanted.Version == 0 {
			return nil // as it should be
		}
		text, _ := json.Marshal(wanted)
		write := Op{Kind: OpSwap, Name: g.cardName(op), Old: value, Value: text, TTL: cardLife}
		if lost {
			write.Kind = OpCreate
		}
		if res, err = g.ask(ctx, "settle", &write); err != nil {
			continue
		}
		if res.Done && lost {
			g.madeCard(ctx, op, wanted)
			op.card.moved.Store(disturbed)
			return nil
		}
		if res.Done {
			op.card.wrote(wanted, disturbed)
			return nil
		}
		if res.Value != nil && res.Left == 0 {
			res.Left = cardLife // just made by another
		}
	}
	return fmt.Errorf("idem: the card of %s keeps changing", op.policy.Operation)
}

func (g *Guard) newCard(op *operation) card {
	return card{
		Version: 1, Since: g.clock.corrected().UnixMicro(), NameKey: g.names.checkValue(),
		Fingerprints: []string{op.policy.Fingerprint.String()}, Retention: op.policy.keptSeconds(),
		Mode: op.policy.Mode, Share: op.policy.Share, Policy: op.hash,
	}
}

// madeCard notes that there was no card. The first one of an operation is
// nothing to speak of; one that was there before means that the store lost its
// data.
func (g *Guard) madeCard(ctx context.Context, op *operation, c card) {
	op.card.mu.Lock()
	before := op.card.read
	op.card.read, op.card.since = true, time.UnixMicro(c.Since)
	op.card.refused.Store(nil)
	op.card.mu.Unlock()
	if before {
		g.log.LogAttrs(ctx, slogError, "store lost its data: tokens issued before now are forgotten", attrOp(op))
	}
}

// wrote notes the card that this process has written, for all runs without a
// record that came before.
func (s *cardState) wrote(c card, disturbed int64) {
	s.mu.Lock()
	s.since = time.UnixMicro(c.Since)
	s.mu.Unlock()
	s.moved.Store(disturbed)
}

// remember keeps the earlier one of a card's two fingerprint choices, so that
// records made by it can still be compared (PROTOCOL section 7).
func (s *cardState) remember(c *card, inForce string) {
	for _, text := range c.Fingerprints {
		if text == inForce {
			continue
		}
		if choice, ok := parseChoice(text); ok {
			s.earlier.Store(&choice)
		}
	}
}

// EarlierFingerprint returns the fingerprint choice that was in force before
// the present one, as the operation's card keeps it; ok is false where there is
// none. See Intent.Refingerprint.
func (g *Guard) EarlierFingerprint(operation string) (choice FingerprintChoice, ok bool) {
	op := g.operation(operation)
	if op == nil {
		return choice, false
	}
	if earlier := op.card.earlier.Load(); earlier != nil {
		return *earlier, true
	}
	return choice, false
}

// acceptCard takes over what a card says and returns the card to write in its
// place, of version 0 where it may stay.
func (g *Guard) acceptCard(ctx context.Context, op, next *operation, res Result) (card, error) {
	var c card
	if err := json.Unmarshal(res.Value, &c); err != nil || c.Version != 1 {
		return c, fmt.Errorf("idem: the card of %s cannot be read: it was written by another version, or by something else", op.policy.Operation)
	}
	p, swapping := op.orRunning(next).policy, next != nil
	refusal := g.refuses(&c, p)
	since := time.UnixMicro(c.Since)
	op.card.mu.Lock()
	first := !op.card.read
	lost := op.card.read && since.After(op.card.since)
	if !op.card.read || lost {
		op.card.since = since
	}
	if !swapping { // a policy that is refused leaves everything as it was
		op.card.read = refusal == nil
		op.card.refused.Store(refusal)
	}
	op.card.mu.Unlock()
	if refusal != nil {
		return c, refusal
	}
	if lost {
		g.log.LogAttrs(ctx, slogError, "card is younger than it was: tokens issued before it are forgotten", attrOp(op))
	}
	change := c.choose(p.Fingerprint.String(), first || swapping)
	op.card.remember(&c, p.Fingerprint.String())
	change = g.retain(ctx, op, &c, p) || change
	change = g.roll(ctx, op, &c, p) || change
	change = g.notice(ctx, op.orRunning(next), &c, first || swapping) || change
	if res.Left > 0 && res.Left < cardLife/2 && !broken.Is(broken.T6CardExpires) {
		change = true
	}
	if op.card.isDisturbed() && !broken.Is(broken.T6SinceStays) {
		c.Since, change = max(c.Since, g.clock.corrected().UnixMicro()), true
	}
	if !change {
		return card{}, nil
	}
	c.Counter++
	c.Policy = op.orRunning(next).hash
	return c, nil
}

// Ready returns nil when the store answers and every operation's card was
// read, and otherwise what is in the way.
func (g *Guard) Ready(ctx context.Context) error {
	select {
	case <-g.closed:
		return ErrClosed
	default:
	}
	return g.readCards(ctx)
}
