package idem

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// Resolver finds out what became of a run that nobody can tell about any more:
// it looks into the application's own tables, or asks the provider that the run
// had called, by the note or the downstream key of the record. Package
// core/reconcile calls it.
//
// It is called for one record by one process at a time, but again and again as
// long as it says "later", and from any goroutine. Released has to be certain:
// the action had no effect, and no call of that run that is still on its way can
// have one. A resolver that cannot tell says later; that is always safe.
type Resolver interface {
	Resolve(ctx context.Context, r Record) (Resolution, error)
}

// Resolution is what became of a run. The zero Resolution says that it cannot
// be told yet.
type Resolution struct {
	// Outcome is Completes, Fails or Releases.
	Outcome Outcome
	// Payload is the answer that repeats get from now on, in the bytes that the
	// operation's [Codec] would have made: not looked at with Releases.
	Payload Payload
}

// RunOperation is the operation under which reconcilers claim the right to look
// after a record, so that one of them does at a time: its key is the record's
// name. No policy may have its name, or another one of the system idem.
const RunOperation = ownSystem + "reconcile:run"

const ownSystem = "idem:"

// configureResolvers checks the resolvers and makes the policy of their runs.
func (g *Guard) configureResolvers(cfg Config) (errs []error) {
	if len(cfg.Resolvers) == 0 {
		return nil
	}
	_, g.indexes = cfg.Store.(Indexer)
	p := Policy{Operation: RunOperation, Preset: API, OnCrash: Retake, Fingerprint: FingerprintChoice{Mode: "none"}}.withDefaults()
	p.Lease = max(p.Lease, leastLease(g.describe))
	p.MaxRun = max(p.MaxRun, p.Lease)
	for name, r := range cfg.Resolvers {
		s := g.operations[name]
		if s == nil || r == nil {
			errs = append(errs, fmt.Errorf("config: Resolvers[%q]: there is no such policy, or the resolver is nil", name))
			continue
		}
		p.Retention = max(p.Retention, s.running.Load().policy.Retention)
	}
	g.reconciles = &standing{}
	g.reconciles.running.Store(g.under(g.reconciles, &p))
	return errs
}

// By says who settles a record that is not his, and why. It goes to the log and
// never into the record.
type By struct{ Actor, Reason string }

// What settling somebody else's record can fail with, beside ErrUnavailable.
var (
	// ErrNotHeld says that nobody but its owner may settle a record: it is not
	// there, or settled, or its run may still be alive.
	ErrNotHeld = errors.New("idem: this record is not held")
	// ErrMoved says that a record is no longer what was seen. Nothing was changed:
	// look again.
	ErrMoved = errors.New("idem: the record is no longer what was seen: look again")
	// ErrUnaudited says that a record was settled, but that the [Auditor] could not
	// write the event down yet; it keeps it.
	ErrUnaudited = errors.New("idem: the audit log cannot be written")
)

// Resolve settles a held record in the place of its owner: it becomes
// SUCCEEDED, FAILED or RELEASED in one Swap of exactly what was seen, with an
// owner of its own and the fence up, so that its old owner, wherever it is, is
// told that it is stale (PROTOCOL P13). This is a force: it is counted and
// logged. It returns the record as it is now.
//
// Get seen from [Guard.Record]. Errors: [ErrNotHeld], [ErrMoved], a resolution
// that settles nothing, and ErrUnavailable where the outcome of the Swap is
// unknown: it may still be applied, as long as nothing else is, so look again
// before deciding otherwise. With [ErrUnaudited] alone the record was settled.
func (g *Guard) Resolve(ctx context.Context, seen Record, res Resolution, by By) (Record, error) {
	state := settledAs(res.Outcome)
	if state == StateAbsent {
		return seen, fmt.Errorf("idem: a record is resolved as Completes, Fails or Releases, not as %v", res.Outcome)
	}
	if held, in := seen.Held(); !held || in > 0 {
		return seen, fmt.Errorf("%w: it is %v and cannot be settled by others for %v", ErrNotHeld, seen.State, in)
	}
	var mine owner
	_, _ = rand.Read(mine[:]) // never fails
	next := resolved(seen.found, mine, uint64(g.clock.corrected().UnixMicro()), state)
	next.note, next.sealedNote = g.noteOf(seen.Name, &seen.rec), nil // a sealed one is bound to its owner
	if state != StateReleased {
		next.answered, next.payload = true, res.Payload
		if g.encodedSize(&next) > g.describe.MaxValue {
			next.payload = Payload{Partial: true}
		}
	}
	now, err := g.replace(ctx, seen, next, ChangeResolve, by)
	if err != nil && (!errors.Is(err, ErrUnaudited) || errors.Is(err, ErrUnavailable)) {
		return now, err
	}
	g.counts.resolved.Add(1)
	g.log.LogAttrs(ctx, slog.LevelInfo, "held record was settled for its owner", slog.String("idem.operation", seen.Operation),
		slog.String("idem.key", seen.KeyHash()), slog.String("idem.state", state.String()), slog.Uint64("idem.fence", next.fence),
		slog.String("actor", by.Actor), slog.String("reason", by.Reason))
	return now, err
}

// Keep holds a record beyond its time to live: it writes UNCERTAIN over what was
// seen, with the same owner and fence, for another retention (PROTOCOL P13). Its
// owner may still settle it. Errors are those of [Guard.Resolve].
func (g *Guard) Keep(ctx context.Context, seen Record) (Record, error) {
	if held, in := seen.Held(); !held || in > 0 {
		return seen, fmt.Errorf("%w: it is %v", ErrNotHeld, seen.State)
	}
	next := seen.rec
	next.state, next.answered, next.payload = StateUncertain, false, Payload{}
	next.counter++
	return g.replace(ctx, seen, next, ChangeKeep, By{})
}

// replace swaps exactly what was seen by next and returns what is there then.
func (g *Guard) replace(ctx context.Context, seen Record, next record, change Change, by By) (Record, error) {
	if err := g.audit.closed(); err != nil {
		return seen, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if op := g.operation(seen.Operation); op != nil {
		if err := op.card.refusal(); err != nil {
			return seen, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		next.t0 = max(next.t0, uint32(op.policy.Retention/time.Second))
	}
	op := Op{Kind: OpSwap, Name: seen.Name, Old: seen.value, Value: g.encode(seen.Name, &next), TTL: next.retention()}
	res, err := g.ask(ctx, "settle", &op)
	switch {
	case err != nil:
		if g.audit != nil {
			g.audit.tellUnknown(ctx, g.replaced(change, &seen, &next, by))
		}
		return seen, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case !res.Done:
		return g.recordOf(seen.Name, res), ErrMoved
	}
	now := g.recordOf(seen.Name, Result{Value: op.Value, Left: op.TTL})
	if g.audit == nil {
		return now, nil
	}
	return now, g.audit.tell(ctx, g.replaced(change, &seen, &next, by), false)
}

// settledAs is the state in which an outcome leaves a record, absent where it
// settles nothing.
func settledAs(out Outcome) State {
	switch out {
	case Completes:
		return StateSucceeded
	case Fails:
		return StateFailed
	case Releases:
		return StateReleased
	}
	return StateAbsent
}

// resolved is the record that follows a held one by the word of somebody who is
// not its owner: his nonce, the fence up (PROTOCOL P13). The fingerprint stays, so
// that repeats are compared, and so do the note and the trace.
func resolved(f found, by owner, now uint64, state State) record {
	r := f.rec
	if !broken.Is(broken.P13ResolverAsOwner) {
		r.owner, r.fence = by, max(now, r.fence+1)
	}
	r.state, r.counter, r.answered, r.payload = state, 0, false, Payload{}
	r.flags |= flagForced
	if state == StateReleased {
		r.flags &^= flagEffects
	}
	return r
}

// heldIn is PROTOCOL P13: whether a record is held for somebody who is not its
// owner, and how long it still is its owner's alone, one more lease after its
// own ran out. hold is the policy's onCrash.
func heldIn(f found, hold bool) (held bool, in time.Duration) {
	switch {
	case f.value == nil || f.unread != nil:
		return false, 0
	case f.rec.state == StateUncertain:
		return true, 0
	case f.rec.state != StateProcessing || f.rec.flags&flagReserved != 0:
		return false, 0
	case !hold && f.rec.flags&flagEffects == 0:
		return false, 0
	}
	leases := 2 * f.rec.leaseTime()
	if broken.Is(broken.P13ResolvedTooSoon) {
		leases = f.rec.leaseTime()
	}
	return true, max(0, leases-max(0, f.rec.retention()-f.left))
}
