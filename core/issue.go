package idem

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// TokenRequest says what a token is for.
type TokenRequest struct {
	Operation string
	Scope     string
	Context   string // required where the policy has one
	Traits    []string
}

// ErrNoContext refuses a token whose operation is bound to a context.
var ErrNoContext = errors.New("idem: tokens of this operation are bound to a context: name it")

// Issue issues a token. Nothing is stored for it. Errors: ErrUnknownOperation,
// ErrNoScope, ErrNoContext, a context of more than 256 bytes, an operation that
// takes no tokens, and whatever Config.IssueCheck returned.
func (g *Guard) Issue(ctx context.Context, req TokenRequest) (t Token, err error) {
	op := g.operation(req.Operation)
	step := Step{Kind: StepIssue}
	if op != nil { // else it is a name that a client made up
		step.Operation = req.Operation
	}
	ctx, end := g.step(ctx, step)
	defer func() { end.End(StepResult{Err: err}) }()
	switch {
	case op == nil:
		return t, fmt.Errorf("%w: %q", ErrUnknownOperation, req.Operation)
	case !op.policy.UsesToken():
		return t, fmt.Errorf("idem: operation %s takes no tokens: its policy does not name the key source token", req.Operation)
	case req.Scope == "" && !g.unscoped:
		return t, ErrNoScope
	case op.policy.Context != "" && req.Context == "":
		return t, fmt.Errorf("%w (%s stands at %s)", ErrNoContext, req.Operation, op.policy.Context)
	case len(req.Context) > maxContext:
		return t, fmt.Errorf("idem: a context has at most %d bytes, this one has %d", maxContext, len(req.Context))
	}
	if g.check != nil {
		if err := g.check(ctx, req.Operation, req.Scope, req.Context); err != nil {
			return t, err
		}
	}
	return g.signer.issue(g.clock.corrected(), op.life, req.Operation, req.Scope, req.Context, req.Traits)
}

// ExpiresAt returns when the token's life is over, by the clock it was issued
// by; it may then still be replayed, and its RELEASED record used.
func (t Token) ExpiresAt() time.Time { return t.issuedAt().Add(t.life()) }

// Status is what is known about an intent.
type Status struct {
	State     State
	Operation string
	Since     time.Time     // when its last claim began; zero where there is no record
	LeaseLeft time.Duration // of a running claim
	// Note is what the run left in its record, "" where it left none or none that
	// can be opened. It is for operators: a client is not told.
	Note string
}

// Status looks up an intent without changing anything. StateAbsent means "not
// seen so far", never "safe to take a new token". A claim that is held after a
// crash reads as uncertain. It looks in every [Mode].
func (g *Guard) Status(ctx context.Context, in Intent) (Status, error) {
	in, err := g.verified(in)
	st := Status{Operation: in.Operation}
	if err != nil {
		return st, err
	}
	here := g.running.at(in.id.name)
	if f, ok := here.view(); ok {
		return g.told(st, in.id, f), nil
	}
	res, err := g.ask(ctx, "load", &Op{Kind: OpLoad, Name: in.id.name})
	if err != nil {
		return st, &RefusedError{Verdict: Unavailable, Operation: in.Operation, RetryAfter: leastRetry, Err: err}
	}
	f := g.read(in.id.name, res)
	if here.holds() {
		here.inPlaceOf(&f)
	}
	return g.told(st, in.id, f), nil
}

// told is a status with its note.
func (g *Guard) told(st Status, id *identity, f found) Status {
	st = st.of(f, id.op.policy)
	if f.value != nil && f.unread == nil {
		st.Note = string(g.noteOf(id.name, &f.rec))
	}
	return st
}

// verified judges an intent whatever the policy's mode: what is remembered can
// be asked for although nothing new is guarded.
func (g *Guard) verified(in Intent) (Intent, error) {
	op := g.operation(in.Operation)
	switch {
	case in.id != nil && !in.id.off:
		return in, nil
	case op == nil:
		return in, fmt.Errorf("%w: %q", ErrUnknownOperation, in.Operation)
	}
	id := new(identity)
	if err := g.identify(op, &in, id, false); err != nil {
		return in, err
	}
	in.id = id
	return in, nil
}

func (st Status) of(f found, p *Policy) Status {
	switch {
	case f.value == nil:
		return st
	case f.unread != nil:
		st.State = StateUncertain
		return st
	}
	st.State, st.Since = f.rec.state, f.rec.begun()
	if st.State != StateProcessing {
		return st
	}
	spent := max(0, f.rec.retention()-f.left)
	st.LeaseLeft = max(0, f.rec.leaseTime()-spent)
	held := p.OnCrash == Hold || f.rec.flags&flagEffects != 0
	if st.LeaseLeft == 0 && held && f.rec.flags&flagReserved == 0 {
		st.State = StateUncertain
	}
	return st
}

// Discard buries a token that is no longer wanted, if it has no record or a
// RELEASED one, and then says Dead, or Forgotten where nobody can tell whether
// the token ran before what is remembered, or without a record since. In every other case nothing is
// written, the verdict is zero and the status says what is there. It is how a
// person gets out of doubt with certainty. Where the token's operation is not
// enforced, or the token is outside the share, there is none to be had: nothing
// is written then either.
func (g *Guard) Discard(ctx context.Context, in Intent) (Status, Verdict, error) {
	in, err := g.verified(in)
	st := Status{Operation: in.Operation}
	if err != nil {
		return st, 0, err
	}
	if !in.id.token {
		return st, 0, &RefusedError{Verdict: Malformed, Operation: in.Operation, Err: errors.New("only tokens can be discarded")}
	}
	if !g.enforces(in.id) {
		st, err = g.Status(ctx, in)
		return st, 0, err
	}
	if unseen := g.audit.closed(); unseen != nil {
		return st, 0, &RefusedError{Verdict: Unavailable, Operation: in.Operation, RetryAfter: leastRetry, Err: unseen}
	}
	c := &Claim{g: g, id: in.id, source: in.Source, trace: packTrace(in.Trace), position: -1, audited: g.audits(in.id, in.Scope, in.Client)}
	_, _ = rand.Read(c.nonce[:]) // never fails
	buried := c.fresh(StateBuried, flagDiscarded)
	op := Op{Kind: OpCreate, Name: in.id.name, Value: buried.append(nil), TTL: buried.retention()}
	if !in.id.bound {
		op.Kind = OpLoad
	}
	for range maxSwaps {
		res, err := g.ask(ctx, "bury", &op)
		from := StateAbsent
		if op.Old != nil {
			from = StateReleased
		}
		if err != nil {
			if c.audited != nil && op.Kind != OpLoad {
				g.audit.tellUnknown(ctx, c.burial(from, &buried))
			}
			return st, 0, &RefusedError{Verdict: Unavailable, Operation: in.Operation, RetryAfter: leastRetry, Err: err}
		}
		f := g.read(in.id.name, res)
		done := res.Done || string(res.Value) == string(op.Value)
		if done && c.audited != nil {
			if unseen := g.audit.tell(ctx, c.burial(from, &buried), false); unseen != nil {
				return st, 0, &RefusedError{Verdict: Unavailable, Operation: in.Operation, RetryAfter: leastRetry, Err: unseen}
			}
		}
		switch {
		case done && op.Old != nil:
			return g.discardedReleased(ctx, c, st, readFound(Result{Value: op.Old}))
		case done || (f.rec.state == StateBuried && in.id.bound):
			return g.discarded(ctx, c, st)
		case !in.id.bound && (f.value == nil || f.rec.state == StateReleased || f.rec.state == StateBuried):
			return st, 0, &RefusedError{Verdict: Foreign, Operation: in.Operation}
		case f.value == nil:
			op.Kind, op.Old = OpCreate, nil
		case f.unread == nil && f.rec.state == StateReleased:
			buried.fence = max(buried.fence, f.rec.fence+1)
			op.Kind, op.Old, op.Value = OpSwap, f.value, buried.append(nil)
		case f.left == 0 && f.rec.state == StateProcessing:
			op.Kind = OpLoad
		default:
			return st.of(f, in.id.op.policy), 0, nil
		}
	}
	return st, 0, &RefusedError{Verdict: InFlight, Operation: in.Operation, RetryAfter: leastRetry}
}

// discardedReleased says what the burial of a RELEASED record proves. That says
// of the runs before it that they had no effect, however old the token is. A run
// without a record may have come after it: those are what Open allows, and since
// tells of the others.
func (g *Guard) discardedReleased(ctx context.Context, c *Claim, st Status, released found) (Status, Verdict, error) {
	st.State = StateBuried
	if err := g.confirm(ctx, c.id.op); err != nil {
		return st, 0, &RefusedError{Verdict: Unavailable, Operation: st.Operation, RetryAfter: leastRetry, Err: err}
	}
	if !c.id.op.card.toldAll(released.rec.begun(), c.policy()) && !broken.Is(broken.T1ReleasedUnderOpen) {
		return st, Forgotten, nil
	}
	return st, Dead, nil
}

// discarded says what a burial found or made proves.
func (g *Guard) discarded(ctx context.Context, c *Claim, st Status) (Status, Verdict, error) {
	st.State = StateBuried
	if err := g.confirm(ctx, c.id.op); err != nil {
		return st, 0, &RefusedError{Verdict: Unavailable, Operation: st.Operation, RetryAfter: leastRetry, Err: err}
	}
	if !c.asker().provable {
		return st, Forgotten, nil
	}
	return st, Dead, nil
}
