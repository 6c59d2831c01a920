package idem

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// Change says what a [Transition] was, by the protocol's verbs.
type Change string

// The changes of records.
const (
	ChangeClaim    Change = "claim"    // a record was claimed, or claimed again after a release
	ChangeRetake   Change = "retake"   // a claim whose lease ran out was taken over
	ChangeForce    Change = "force"    // a record that would have refused it was claimed all the same
	ChangeOpen     Change = "open"     // a run began without a record: the store is out of reach and the policy open
	ChangeComplete Change = "complete" // a run ended as SUCCEEDED
	ChangeFail     Change = "fail"     // a run ended as FAILED
	ChangeRelease  Change = "release"  // a run ended without effect
	ChangeDoubt    Change = "doubt"    // a run ended in doubt
	ChangeBury     Change = "bury"     // an expired token was buried
	ChangeDiscard  Change = "discard"  // a token that is no longer wanted was buried
	ChangeMend     Change = "mend"     // the janitor wrote over a claim of unknown outcome
	ChangeResolve  Change = "resolve"  // somebody settled a held record for its owner
	ChangeKeep     Change = "keep"     // a held record was kept beyond its time
	ChangeRecreate Change = "recreate" // the store had lost a claim whose run is alive: its renewal made it anew
)

// Transition is one change of one record, as it goes into an audit log. It holds
// no key, token, scope or body: Record and Scope are keyed hashes.
type Transition struct {
	Change    Change
	Time      time.Time // by the guard's corrected clock
	Operation string
	Record    string // the record's name: see KeyHash
	Scope     string // the scope's keyed hash in 16 hex digits: see [Guard.ScopeHash]; "" where it is not known any more
	From, To  State
	// Verdict is that of the request that made the change; zero where none did. With
	// Unavailable it is unknown whether the change was made: the store took the write
	// of a burial, a resolve or a keep and did not say what became of it, and nobody
	// will ask again.
	Verdict Verdict
	Fence   uint64
	Owner   string // who holds, or held, the claim: a random nonce in hex
	Actor   string // of a resolve: see [By]
	Reason  string // likewise
	Client  string // Intent.Client
	Trace   []byte // the traceparent of the request, nil where none is known
	// Ran says that a handler ran before: an error of the [Auditor] changes nothing
	// about that.
	Ran bool

	counter uint16
}

// KeyHash returns the 16 hex digits by which logs and spans know the record.
func (t *Transition) KeyHash() string { return KeyHash(t.Record) }

// ID is the same for every copy of one event: an event is written at least once,
// and twice where the reply to the first writing was lost.
func (t *Transition) ID() string {
	return t.KeyHash() + "-" + strconv.FormatUint(t.Fence, 36) + "-" + strconv.FormatUint(uint64(t.counter), 36) + "-" + t.To.String()
}

// Auditor takes down every transition of a guard's records, after it was made:
// claims, the ends of runs, burials, and what janitors, resolvers and operators
// do. Renewals change no state and are none. Package audit has one that writes
// to sinks.
//
// Audit is called from many goroutines at once. An error says that the event was
// not written. Where Ran is false the request then fails: a claim is given back
// before its handler starts, and its client, like that of a burial, is told
// unavailable. Where Ran is true the client gets its answer whatever Audit
// returns, because the effect is there (PROTOCOL P8). In both cases the
// transition was made: an Auditor that returns an error keeps the event and
// writes it later. A panic counts as an error.
type Auditor interface {
	Audit(ctx context.Context, t Transition) error
}

// AuditGate is the ability of an [Auditor] to say beforehand that nothing can be
// written now. What would change a record is refused then without being tried;
// what only reads one, a replay say, is not.
type AuditGate interface {
	// Open returns why no transition may be begun now, nil where it may.
	Open() error
}

// AuditRider is the ability of an [Auditor] to have its events written by the
// store itself, in the same exchange as the change: see [JournalEntry]. Those
// that the store took are not given to Audit.
type AuditRider interface {
	// Entry returns the entry of a transition that is about to be tried, nil
	// where it is to be given to Audit.
	Entry(t Transition) *JournalEntry
}

// JournalEntry is a line for a journal that a store keeps beside its records.
// Where an operation carries one, the store appends it in the same exchange, if
// what is under the operation's name then begins as its Value does.
type JournalEntry struct {
	Journal string   // its name in the store
	Max     int64    // about how many entries are kept; above zero
	Fields  []string // name, value, name, value…
	Prefix  int      // how many bytes of Value tell it from every other
}

// Journaler is the ability of a [Batcher] to append the entries that operations
// carry. It says so in Result.Journaled; where that is false, the entry may have
// been appended all the same.
type Journaler interface{ Journals() bool }

// auditing is what a guard knows of its auditor; nil where it has none.
type auditing struct {
	auditor Auditor
	gate    AuditGate
	rider   AuditRider // nil where the store keeps no journal
	log     *slog.Logger
}

func auditingOf(cfg *Config, log *slog.Logger) *auditing {
	if cfg.Auditor == nil {
		return nil
	}
	a := &auditing{auditor: cfg.Auditor, log: log}
	a.gate, _ = cfg.Auditor.(AuditGate)
	if _, many := cfg.Store.(Batcher); many {
		if j, ok := ability[Journaler](cfg.Store); ok && j.Journals() {
			a.rider, _ = cfg.Auditor.(AuditRider)
		}
	}
	return a
}

// closed returns why nothing may be changed now.
func (a *auditing) closed() error {
	if a == nil || a.gate == nil || broken.Is(broken.AuditGateOpen) {
		return nil
	}
	if err := a.gate.Open(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnaudited, err)
	}
	return nil
}

// entry is what rides with the operation that makes a transition.
func (a *auditing) entry(t Transition) *JournalEntry {
	if a == nil || a.rider == nil {
		return nil
	}
	e := a.rider.Entry(t)
	if e != nil {
		e.Prefix = headSize
	}
	return e
}

// tell hands a transition that was made to the auditor, unless the store has
// written it down. What the auditor did not take is said in the log: where a run
// is over nobody else is told of it.
func (a *auditing) tell(ctx context.Context, t Transition, journaled bool) error {
	if a == nil || journaled {
		return nil
	}
	err := a.hand(ctx, t)
	if err != nil {
		a.log.LogAttrs(ctx, slogError, "audit event was not written", slog.String("idem.operation", t.Operation),
			slog.String("idem.key", t.KeyHash()), slog.String("change", string(t.Change)), attrError(err))
	}
	return err
}

// tellUnknown hands on a transition of which the store did not say whether it was
// made, and which nobody asks about again.
func (a *auditing) tellUnknown(ctx context.Context, t Transition) {
	t.Verdict = Unavailable
	_ = a.tell(ctx, t, false)
}

func (a *auditing) hand(ctx context.Context, t Transition) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: the auditor panicked with a %T", ErrUnaudited, p)
		}
	}()
	if err := a.auditor.Audit(ctx, t); err != nil {
		return fmt.Errorf("%w: %w", ErrUnaudited, err)
	}
	return nil
}

// audited is what a claim carries for the audit log: nil where there is none.
type audited struct {
	scope, client string
	from          State // what the claim took the place of
	change        Change
	journaled     bool // the store wrote the claim's own event down
}

// audits returns what a claim carries for its events.
func (g *Guard) audits(id *identity, scope, client string) *audited {
	if g.audit == nil || id.op.standing == g.reconciles {
		return nil // a reconciler's own claim is nobody's business
	}
	return &audited{scope: g.names.scopeHash(scope), client: client}
}

// transition is one of this claim's record to r.
func (c *Claim) transition(change Change, from State, r *record, v Verdict) Transition {
	return Transition{
		Change: change, Time: c.g.clock.corrected(), Operation: c.policy().Operation, Record: c.id.name, Scope: c.audited.scope,
		From: from, To: r.state, Verdict: v, Fence: r.fence, Owner: hex.EncodeToString(r.owner[:]), Client: c.audited.client,
		Trace: unpackTrace(c.trace), counter: r.counter,
	}
}

// claiming takes note of the claim that is about to be sent, and returns what
// rides with it.
func (c *Claim) claiming(f found, mine *record) *JournalEntry {
	if c.audited == nil {
		return nil
	}
	c.audited.journaled = false
	c.audited.from, c.audited.change = f.rec.state, ChangeClaim
	switch {
	case mine.flags&flagForced != 0:
		c.audited.change = ChangeForce
	case mine.flags&flagTakenOver != 0 && f.rec.flags&flagReserved == 0:
		c.audited.change = ChangeRetake
	}
	return c.g.audit.entry(c.transition(c.audited.change, c.audited.from, mine, 0))
}

// tellClaim tells of a claim that was won, before its run begins.
func (c *Claim) tellClaim(ctx context.Context) error {
	switch {
	case c.audited == nil || c.loose:
		return nil
	case c.bare:
		t := c.transition(ChangeOpen, StateAbsent, &c.rec, Unprotected)
		t.To = StateAbsent
		return c.g.audit.tell(ctx, t, false)
	}
	return c.g.audit.tell(ctx, c.transition(c.audited.change, c.audited.from, &c.rec, 0), c.audited.journaled)
}

// changes says how a run ended.
var changes = map[State]Change{StateSucceeded: ChangeComplete, StateFailed: ChangeFail, StateReleased: ChangeRelease, StateUncertain: ChangeDoubt}

// settlement is the transition by which a run ends. anew says that its claim was
// not there any more.
func (c *Claim) settlement(p *pending, anew bool) Transition {
	from := StateProcessing
	if anew {
		from = StateAbsent
	}
	t := c.transition(changes[p.rec.state], from, &p.rec, c.verdictOf(p.rec.state))
	t.Ran = !c.reserved
	return t
}

// settlingEntry is what rides with a settle.
func (c *Claim) settlingEntry(p *pending, anew bool) *JournalEntry {
	if c.audited == nil || c.g.audit.rider == nil {
		return nil
	}
	return c.g.audit.entry(c.settlement(p, anew))
}

// tellSettle tells of an outcome that was written. What the auditor makes of it
// changes nothing: the run is over.
func (c *Claim) tellSettle(ctx context.Context, p *pending, anew, journaled bool) {
	if c.audited != nil {
		_ = c.g.audit.tell(ctx, c.settlement(p, anew), journaled)
	}
}

// tellRecreated tells of a claim that the store had lost and that its renewal made
// anew.
func (c *Claim) tellRecreated(ctx context.Context, r *record) {
	if c.audited != nil {
		t := c.transition(ChangeRecreate, StateAbsent, r, 0)
		t.Ran = !c.reserved
		_ = c.g.audit.tell(ctx, t, false)
	}
}

// burial is the transition of a token to its grave.
func (c *Claim) burial(from State, r *record) Transition {
	if r.flags&flagDiscarded != 0 {
		return c.transition(ChangeDiscard, from, r, 0)
	}
	return c.transition(ChangeBury, from, r, Dead)
}

// mended is the transition that a janitor made.
func (g *Guard) mended(one *job, from State, r *record) Transition {
	return Transition{
		Change: ChangeMend, Time: g.clock.corrected(), Operation: g.OperationOf(one.name), Record: one.name, Scope: one.scope,
		From: from, To: r.state, Fence: r.fence, Owner: hex.EncodeToString(r.owner[:]), counter: r.counter,
	}
}

// replaced is the transition that somebody made who is not the owner.
func (g *Guard) replaced(change Change, seen *Record, next *record, by By) Transition {
	return Transition{
		Change: change, Time: g.clock.corrected(), Operation: seen.Operation, Record: seen.Name, Scope: seen.ScopeHash,
		From: seen.State, To: next.state, Fence: next.fence, Owner: hex.EncodeToString(next.owner[:]),
		Actor: by.Actor, Reason: by.Reason, Trace: seen.Trace, counter: next.counter,
	}
}
