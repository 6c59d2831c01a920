package idem

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"log/slog"

	"github.com/go-idem/idem/internal/broken"
)

// Mode says how far a policy is in force, so that a guard can be rolled out, and
// taken back, without a new release (PROTOCOL section 8, "Roll-out").
type Mode string

// The modes. A change of mode moves the operation's since: see [Guard.SetPolicy].
const (
	// ModeEnforce guards: the mode of a Policy that names none.
	ModeEnforce Mode = "enforce"
	// ModeObserve claims, renews and settles, and refuses nothing. Whatever would
	// have been refused, or answered from a record, runs beside it at once: the
	// application answers as it would without a guard. Such a run has no record,
	// ends with the verdict Unprotected, and is counted by what would have become
	// of it ([StepObserve]). Nothing is buried.
	ModeObserve Mode = "observe"
	// ModeOff makes no store call: every request runs. One that carried a key or
	// token is told Unguarded.
	ModeOff Mode = "off"
)

// observes tells whether this claim runs beside where it would be refused.
func (c *Claim) observes() bool { return c.policy().Mode == ModeObserve }

// inShare tells whether a record's name belongs to the share of keys that the
// policy guards. The name ends in a keyed hash, so that a key is in the share for
// every process alike, and nobody can choose one that is not. A share that grows
// keeps what it had.
func (p *Policy) inShare(name string) bool {
	if p.Share >= 1 || broken.Is(broken.S8ShareIgnored) {
		return true
	}
	const digits = 8 // 40 bits of the hash
	n := 0.0
	for _, c := range []byte(name[len(name)-nameHashChars:][:digits]) {
		if digit := float64(c - 'a'); c >= 'a' {
			n = n*32 + digit
		} else {
			n = n*32 + float64(c-'2'+26)
		}
	}
	return n < p.Share*(1<<(5*digits))
}

// enforces tells whether whatever runs under this record's name is refused where
// its record says so.
func (g *Guard) enforces(id *identity) bool {
	return id.op.policy.Mode == ModeEnforce && id.op.policy.inShare(id.name)
}

// Unguarded says of an intent that was verified that it is none of the guard's
// business: the policy's mode is off, or its key is outside the policy's share,
// or it has none where only a share is guarded. [Guard.Claim] and [Do] then run
// it without a record.
func (in Intent) Unguarded() bool { return in.id != nil && in.id.off }

// Recorded says whether a record stands behind this run. It does not where the
// store was out of reach and the policy open, where [ModeObserve] runs what it
// would have refused, and where nothing is guarded.
func (c *Claim) Recorded() bool { return !c.bare }

// unguarded wins a claim that stands for no guard at all: it is there so that
// what a handler asks of its context has an answer. It does not outlive its
// caller, nothing bounds it, and Close does not wait for it. Its downstream keys
// are no other run's: two customers without keys are no repeats of each other.
func (g *Guard) unguarded(ctx context.Context, in Intent) *Claim {
	id := *in.id
	id.name = rand.Text()
	c := &Claim{g: g, id: &id, fp: in.Fingerprint, source: in.Source, position: -1, won: true, bare: true, loose: true}
	c.rec = record{state: StateProcessing, fence: uint64(g.clock.corrected().UnixMicro()), fp: in.Fingerprint}
	c.run = lendRun(c, ctx)
	c.quiet.L = &c.mu
	return c
}

// refused is the claim of an intent that Verify refused. Under Observe it runs.
func (g *Guard) refused(ctx context.Context, in Intent, err error) (*Claim, error) {
	op := g.operation(in.Operation)
	var why *RefusedError
	switch {
	case errors.As(err, &why):
	case op != nil && op.policy.Mode == ModeObserve && errors.Is(err, ErrNoScope):
		why = &RefusedError{Verdict: Foreign, Err: err} // as HTTP says it
	default:
		return nil, err
	}
	c := &Claim{g: g, id: &identity{op: op, name: rand.Text()}, source: in.Source, position: -1, verdict: why.Verdict, refusal: why.Err, retry: why.RetryAfter}
	if c.observes() {
		c.beside(ctx)
	}
	return c, nil
}

// beside wins a claim that would not have been won, and remembers what would
// have become of it. Nothing of it is written anywhere, neither here nor in the
// store: a duplicate that comes now is judged by the record, as ever.
func (c *Claim) beside(ctx context.Context) {
	g, would := c.g, c.verdict
	if c.nonce == (owner{}) { // refused before it had one; its name is made of it
		c.nonce = newOwner()
	}
	c.entered = g.running.count(c.id.name) // not once the guard is closed, and then it runs all the same
	_, end := c.observe(ctx, Step{Kind: StepObserve, Link: c.Origin()})
	c.won, c.bare, c.loose = true, true, true
	c.verdict, c.retry, c.refusal, c.known = 0, 0, nil, nil
	c.rec = c.fresh(StateProcessing, 0)
	c.detach(ctx, g.clock.now())
	c.due = c.start.Add(c.policy().MaxRun)
	g.counts.beside.Add(1)
	g.running.list(c.looseName(), c)
	g.keeper.add(c, c.due)
	if c.entered {
		g.cutShort(c)
	}
	end.End(StepResult{Observed: would, State: c.seen.rec.state})
	g.log.LogAttrs(ctx, slog.LevelDebug, "observe let it run", attrOperation(c), slog.String("idem.verdict", would.String()))
}

// looseName is a name of the claim's own, under which Close finds a run that has
// no record. Nobody looks there for a duplicate.
func (c *Claim) looseName() string {
	return c.id.name + "|" + base32.StdEncoding.EncodeToString(c.nonce[:])
}

// endLoose ends a run without a record: there is nothing to settle.
func (c *Claim) endLoose() error {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return ErrNoClaim
	}
	c.ended, c.verdict = true, Unprotected
	if c.id.off {
		c.verdict = Unguarded
	}
	c.mu.Unlock()
	if c.id.off {
		return nil
	}
	c.g.keeper.remove(c)
	c.run.end(context.Canceled)
	c.g.running.end(c.looseName(), c)
	if c.entered {
		c.g.running.leave(c.id.name)
	}
	return nil
}
