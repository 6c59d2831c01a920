package idem

import (
	"context"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// inquiry is a claim's way through the table of PROTOCOL section 4: what it
// knows of the record, the call of the store that it needs next, and what it
// makes of the answer. Who makes the call is not its affair: decide makes one
// after the other, a batch makes those of many claims together.
type inquiry struct {
	c       *Claim
	f       found
	have    bool         // f was looked at just now
	look    bool         // look before claiming, as a waiter does
	many    bool         // it is one of a batch, which does not wait now
	confirm confirmation // nil: Guard.confirm

	rounds, looks int
	st            step
	ctx           context.Context // to make the call in
	op            Op              // the call
	mine          record          // what it writes
	first         time.Time       // the moment before it was sent first
	burial        Ending
	grave         *Transition // for the audit log

	over    bool
	waiting bool  // over: another owner is running it
	err     error // over: nothing could be decided
}

// confirmation reads an operation's card anew, see Guard.confirm.
type confirmation func(ctx context.Context, op *operation) error

// decide asks the store until the table gives a verdict, the claim is won, or
// there is somebody to wait for. f is what is known of the record, nil nothing; have
// says that it was looked at just now; look
// says to look before claiming, as a waiter does.
func (c *Claim) decide(ctx context.Context, f *found, have, look bool) (waiting bool, err error) {
	q := inquiry{c: c, have: have, look: look}
	if f != nil {
		q.f = *f
	}
	for q.next(ctx) {
		var res Result
		if broken.Is(broken.P1CheckThenSet) && q.op.Step == "claim" {
			res, err = c.sendTorn(q.ctx, &q.op)
		} else {
			res, err = c.g.ask(q.ctx, q.op.Step, &q.op)
		}
		c.unsure = c.unsure || q.op.unsure
		q.hear(ctx, res, err)
	}
	return q.waiting, q.err
}

// next judges what is known and says whether a call is needed; op says which.
// Where none is, the inquiry is over.
func (q *inquiry) next(ctx context.Context) bool {
	c := q.c
	if q.over {
		return false
	}
	if q.rounds == 3 || q.looks == 4 {
		q.inFlight()
		return false
	}
	a := c.asker()
	st, verdict := judge(&a, &q.f)
	if !q.have && (q.look || st == stepAnswer || c.holder() != nil) {
		st = stepLook
	}
	if c.g.audit != nil && st.claims() {
		if unseen := c.g.audit.closed(); unseen != nil {
			if q.have {
				q.err, q.over = c.unavailable(unseen), true
				return false
			}
			st = stepLook // what is there may still be replayed
		}
	}
	if c.looks && st != stepLook && st != stepWait && st != stepAnswer {
		q.inFlight() // the other owner left nothing to replay
		return false
	}
	now := a.at // a token's age and its claim's lease count from one moment
	if st.claims() && now.IsZero() {
		now = c.g.clock.now()
	}
	q.st, q.ctx = st, ctx
	switch st {
	case stepAnswer:
		q.answer(ctx, &q.f, verdict)
		return false
	case stepWait:
		c.seen, q.waiting, q.over = q.f, true, true
		if broken.Is(broken.P6RefusalWrites) {
			c.touch(ctx, q.f)
		}
		return false
	case stepLook:
		q.looks++
		if q.f.rec.state == StateProcessing && !q.many {
			c.ready(ctx)
		}
		q.first = c.g.clock.now()
		q.op = Op{Kind: OpLoad, Name: c.id.name, Step: "load"}
	case stepCreate:
		c.freshIn(&q.mine, now, StateProcessing, c.claimFlags())
		q.claims(now, OpCreate, nil)
	case stepTake:
		c.followed = string(c.g.noteOf(c.id.name, &q.f.rec))
		q.mine = taken(q.f, c.freshAt(now, StateProcessing, c.claimFlags()))
		q.claims(now, OpSwap, q.f.value)
	case stepForce:
		c.followed = string(c.g.noteOf(c.id.name, &q.f.rec))
		q.mine = taken(q.f, c.freshAt(now, StateProcessing, flagForced))
		q.claims(now, OpSwap, q.f.value)
	case stepBury:
		if c.observes() && !broken.Is(broken.S8ObserveBuries) {
			q.answer(ctx, &q.f, Dead) // as it would be
			return false
		}
		return q.buries(ctx)
	}
	return true
}

// inFlight ends the inquiry where somebody else is at work on the record and
// nothing more is known.
func (q *inquiry) inFlight() {
	q.c.verdict, q.c.retry, q.c.seen, q.over = InFlight, time.Second, q.f, true
}

// claims makes the call the claim that mine says: one Create, or one Swap from old,
// sent after the moment first.
func (q *inquiry) claims(first time.Time, kind OpKind, old []byte) {
	op, mine := &q.op, &q.mine
	*op = Op{Kind: kind, Old: old}
	var space []byte
	if q.c.start.IsZero() { // once only: an earlier value may still be on its way
		space = q.c.space[:0]
	}
	q.rounds++
	op.Step, op.Name, op.Value, op.TTL = "claim", q.c.id.name, q.c.g.encodeIn(space, q.c.id.name, mine), mine.retention()
	if broken.Is(broken.T2LeaseAsRetention) {
		op.TTL = mine.leaseTime()
	}
	op.index, op.Entry = q.c.entry(mine), q.c.claiming(q.f, mine)
	q.first = first
}

// buries makes it a burial: BURIED where nothing is, in the one step that finds
// nothing. It tells whether the call is needed.
func (q *inquiry) buries(ctx context.Context) bool {
	q.rounds++
	q.ctx, q.burial = q.c.observe(ctx, Step{Kind: StepBury})
	if broken.Is(broken.T1BuryLooks) {
		q.burial.End(StepResult{})
		q.answer(ctx, &found{}, Dead)
		return false
	}
	r := q.c.fresh(StateBuried, 0)
	r.trace, r.note, r.scope = nil, nil, scopeHash{}
	q.op = Op{Kind: OpCreate, Name: q.c.id.name, Value: r.append(nil), TTL: r.retention(), Step: "bury"}
	if q.c.audited != nil {
		grave := q.c.burial(StateAbsent, &r)
		q.grave, q.op.Entry = &grave, q.c.g.audit.entry(grave)
	}
	return true
}

// hear takes the answer to the call. An error says that its outcome is unknown
// and that it was asked again as often as may be.
func (q *inquiry) hear(ctx context.Context, res Result, err error) {
	c := q.c
	if err == nil && (q.st == stepLook || !res.Done) {
		q.f = found{value: res.Value, left: res.Left}
		q.f.decode()
	}
	switch q.st {
	case stepLook:
		if err == nil {
			break
		}
		if f, kept := c.keptHere(); kept {
			q.f, err = f, nil
		} else if c.opens(q.f) {
			c.open(c.fresh(StateProcessing, 0), nil)
		}
	case stepCreate, stepTake, stepForce:
		q.heardClaim(res, err)
	case stepBury:
		q.burial.End(StepResult{State: StateBuried, Err: err})
		if err != nil && q.grave != nil {
			c.g.audit.tellUnknown(ctx, *q.grave)
		}
		// What is there and equals what was sent is our own burial, whose reply
		// was lost.
		if err == nil && (res.Done || string(res.Value) == string(q.op.Value)) {
			if c.audited != nil {
				if unseen := c.g.audit.tell(ctx, *q.grave, res.Journaled); unseen != nil {
					q.err, q.over = c.unavailable(unseen), true
					return
				}
			}
			q.answer(ctx, &found{}, Dead)
			return
		}
	}
	switch {
	case c.won:
		q.over = true
	case err != nil:
		q.err, q.over = c.unavailable(err), true
		c.g.outage.slow.Store(IsTimeout(err))
		c.g.degraded(false)
	default:
		q.have, c.start = true, q.first
		c.g.open(c.id.name, &q.f)
		if here := c.holder(); here != nil {
			here.inPlaceOf(&q.f)
		}
		if out := c.out.Load(); out != nil {
			q.f.shared = true
			out.saw(q.f, q.first)
		}
	}
}

// keptHere is the outcome that this process holds of a record that cannot be looked
// at. Under Retake another may have run since and answered otherwise; then the
// store's word is waited for, unless the policy would rather run again without it.
func (c *Claim) keptHere() (found, bool) {
	here := c.holder()
	if p := c.policy(); here == nil || p.OnCrash == Retake && p.OnOutage != Open {
		return found{}, false
	}
	return here.keeps()
}

// heardClaim wins the claim, or hands one of unknown outcome to the janitor.
// What is there and carries our nonce and fence is our own claim, whose reply
// was lost (PROTOCOL P3).
func (q *inquiry) heardClaim(res Result, err error) {
	c := q.c
	switch {
	case err == nil:
		c.hear(&q.op, &q.mine, q.first, res, &q.f)
		if c.audited != nil {
			c.audited.journaled = res.Journaled
		}
	case c.opens(found{}):
		c.open(q.mine, q.op.Old)
	default:
		c.g.janitor.mend(c, q.mine, q.op.Old)
	}
}

// answer ends the inquiry with a verdict.
func (q *inquiry) answer(ctx context.Context, f *found, v Verdict) {
	q.err, q.over = q.c.answer(ctx, f, v, q.confirm), true
}
