package idem

import "time"

// The owner's side of the model of a lease: what A knows, and what it does and
// makes of the answers.

type ownerPhase uint8

const (
	ownerAsking   ownerPhase = iota // the claim is in the store, its reply is not heard
	ownerLate                       // the reply came too late to start (I11)
	ownerRunning                    // the handler runs under a context that has not ended
	ownerLost                       // its context has ended with ErrClaimLost, it may still return
	ownerSettling                   // the handler has returned
	ownerDone                       // the outcome is known to be kept
	ownerStale                      // the outcome is known not to be kept
)

// leaseOwner is what a Claim knows, in the model's numbers.
type leaseOwner struct {
	phase    ownerPhase
	known    valueID
	last     uint8
	deadline int8
	sends    [3]modelSend
	renewal  modelCall // or mark
	first    int8      // before the first send of it
	lastSend int8      // before the last one; kept only where a variant asks
	renewals uint8
	marked   bool
	settle   modelCall
	disowned valueID // the record that A took for another's, though it was its own
}

// modelSend is one of Claim.sends.
type modelSend struct {
	sent    bool
	counter uint8
	first   int8
}

// modelOwner turns the numbers of a model's owner into a real Claim and back, so
// that renewals are made, accepted and followed, and deadlines reckoned, by the
// code that does so in a running guard. One claim serves one step: nothing of it
// outlives the step but what is kept in the state.
type modelOwner struct {
	*modelValues
	guard *Guard
	id    *identity
	now   time.Time
}

func newModelOwner(v *modelValues) *modelOwner {
	o := &modelOwner{modelValues: v}
	o.guard = &Guard{clock: newClock(func() time.Time { return o.now }), describe: Description{MaxValue: 1 << 20}}
	p := &Policy{Lease: leaseTicks * modelTick, Retention: modelRetention}
	o.id = &identity{op: &operation{policy: p}}
	return o
}

// claim is the claim of that owner at that moment.
func (o *modelOwner) claim(now int8, a *leaseOwner) *Claim {
	o.now = modelTime(now)
	c := &Claim{g: o.guard, id: o.id, last: uint16(a.last), marked: a.marked, deadline: modelTime(a.deadline), lease: leaseTicks * modelTick, margin: leaseMargin * modelTick}
	if a.known != 0 {
		c.won, c.known, c.rec = true, o.bytes[a.known], o.rec(a.known)
	}
	for _, s := range a.sends {
		if s.sent {
			c.sends = append(c.sends, send{uint16(s.counter), modelTime(s.first)})
		}
	}
	if a.renewal.value != 0 {
		value := o.bytes[a.renewal.value]
		c.pending = &pending{value: value, rec: o.rec(a.renewal.value), first: modelTime(a.first)}
	}
	return c
}

// keep puts what the claim knows now back into the numbers. Of a claim that is
// being settled only what is known to be there still matters.
func (o *modelOwner) keep(c *Claim, a *leaseOwner) {
	a.known = o.modelValues.id(c.known)
	a.first = 0
	if c.pending == nil {
		a.renewal, a.lastSend = modelCall{}, 0
	} else {
		a.first = modelTicks(c.pending.first)
	}
	if a.phase == ownerSettling {
		return
	}
	a.last, a.marked, a.deadline = uint8(c.last), c.marked, modelTicks(c.deadline)
	a.sends = [3]modelSend{}
	for i, s := range c.sends {
		a.sends[i] = modelSend{true, uint8(s.counter), modelTicks(s.first)}
	}
}

// hearsClaim: A hears that it has won, at last, or asks again and is told of its
// own record (P3). Told of B's it would judge that as any newcomer does.
func (m *leaseModel) hearsClaim(s leaseState, step func(string, leaseState)) {
	step("A hears that it has won", m.wins(s, Result{Done: true}))
	if m.ours(s.cell.value) != 0 {
		step("A asks again and is told of its own claim", m.wins(s, Result{Value: m.bytes[s.cell.value]}))
	}
}

// wins does as Claim.send and Guard.claim do with an answer. The claim was sent,
// and reached the store, at 0.
func (m *leaseModel) wins(s leaseState, res Result) leaseState {
	c, claim := m.owner.claim(s.now, &s.a), modelRecord('A', StateProcessing, fenceOfA, leaseTicks*modelTick)
	there := readFound(res)
	c.hear(&Op{Value: claim.append(nil)}, &claim, modelTime(0), res, &there)
	switch {
	case !c.won:
		s.a.disowned = s.cell.value
	case c.late():
		s.a = leaseOwner{phase: ownerLate}
	default:
		s.a.phase = ownerRunning
		m.owner.keep(c, &s.a)
	}
	return s
}

// renew: the keeper's turn, or the handler's where it marks.
func (m *leaseModel) renew(s leaseState, step func(string, leaseState)) {
	a := &s.a
	if a.renewal.awaited {
		if a.renewal.silent < renewalSilence {
			to := s
			to.a.renewal.giveUp(&to.wire)
			step("A hears nothing of its renewal", to)
		}
		return
	}
	if a.renewal.value != 0 || a.renewals < leaseRenewals {
		step("A renews", m.send(s, (*Claim).renewal))
	}
	if m.marks && !a.marked && a.renewals < leaseRenewals {
		step("A marks its effects", m.send(s, func(c *Claim) *pending {
			c.marked = true
			c.pending = c.next(nil)
			return c.pending
		}))
	}
}

// send sends the renewal or mark that core makes, over the value A knows.
func (m *leaseModel) send(s leaseState, makes func(*Claim) *pending) leaseState {
	c := m.owner.claim(s.now, &s.a)
	p := makes(c)
	if id := m.id(p.value); id != s.a.renewal.value {
		s.a.renewal = modelCall{value: id}
		s.a.renewals++
	}
	m.owner.keep(c, &s.a)
	s.a.renewal.send(&s.wire, s.a.known)
	if m.fromLastSend {
		s.a.lastSend = s.now
	}
	if m.rash && s.a.marked {
		s.effects = true
	}
	return s
}

// hears is what A makes of an answer.
func (m *leaseModel) hears(mine record, done bool, f found) reply {
	if m.literal && !done {
		return replyStale
	}
	return ownerHears(&mine, done, f)
}

// hearsRenewal does as Claim.write does after a call. A renewal may still be out
// when the handler has returned. It then moves what A knows to be there, and
// what it is told of A's own settle ends nothing.
func (m *leaseModel) hearsRenewal(s leaseState, step func(string, leaseState)) {
	c := m.owner.claim(s.now, &s.a)
	p, told := c.pending, s.a.renewal.told
	done, f := s.a.renewal.hear(m.modelValues)
	what := "A hears that its renewal is done"
	switch m.hears(p.rec, done, f) {
	case replyDone:
		c.accept(p)
		if m.fromReply {
			c.deadline = m.freshDeadline(s.now)
		}
		if m.fromLastSend {
			c.deadline = m.freshDeadline(s.a.lastSend)
		}
		if p.rec.flags&flagEffects != 0 {
			s.effects = true
		}
		m.owner.keep(c, &s.a)
	case replyAgain:
		what = "A hears that " + m.words[told] + " is there and renews that"
		c.follow(f)
		if m.fromFinding {
			c.deadline = m.freshDeadline(s.now)
		}
		m.owner.keep(c, &s.a)
		s.a.renewal.send(&s.wire, s.a.known)
	default:
		what = "A hears that another has it"
		s.a.renewal = modelCall{}
		if s.a.phase == ownerRunning {
			disowned := m.ours(told)
			s.a = leaseOwner{phase: ownerLost, known: s.a.known, last: s.a.last, marked: s.a.marked, disowned: disowned}
		}
	}
	step(what, s)
}

// freshDeadline is what a variant reckons from the wrong moment.
func (m *leaseModel) freshDeadline(from int8) time.Time {
	return modelTime(from + leaseTicks - leaseMargin)
}

// ours is the value if it is a running claim of A's, 0 otherwise.
func (m *leaseModel) ours(id valueID) valueID {
	if r := m.rec(id); r.isOf(owner{'A'}, fenceOfA) {
		return id
	}
	return 0
}

// returns: the handler returns and its outcome is sent. It does not return from
// a mark before it has heard of it, or has lost the claim.
func (m *leaseModel) returns(s leaseState, step func(string, leaseState)) {
	if s.a.phase == ownerRunning && s.a.marked && s.a.renewal.value != 0 && !s.effects {
		return
	}
	c := m.owner.claim(s.now, &s.a)
	if s.a.marked && !s.effects {
		c.markErr = ErrClaimLost
	}
	target := c.target(Completes, Payload{Bytes: []byte("42")}, false)
	out := s.a.renewal
	if !out.awaited {
		out = modelCall{}
	}
	s.a = leaseOwner{
		phase: ownerSettling, known: s.a.known, renewal: out, first: s.a.first, disowned: s.a.disowned,
		settle: modelCall{value: m.id(target.value)},
	}
	s.a.settle.send(&s.wire, s.a.known)
	step("A's handler returns, A settles", s)
}

// settles does as Claim.attempt does, and the janitor after it.
func (m *leaseModel) settles(s leaseState, step func(string, leaseState)) {
	call := s.a.settle
	switch {
	case !call.awaited:
		s.a.settle.send(&s.wire, s.a.known)
		step("A settles again", s)
		return
	case call.silent < settleSilence:
		to := s
		to.a.settle.giveUp(&to.wire)
		step("A hears nothing of its settle", to)
	}
	if call.reply == replyPending {
		return
	}
	done, f := s.a.settle.hear(m.modelValues)
	switch m.hears(m.rec(call.value), done, f) {
	case replyDone:
		s.a.end(ownerDone, &s.wire)
		step("A hears that its outcome is kept", s)
	case replyAgain:
		s.a.known = call.told
		s.a.settle.send(&s.wire, s.a.known)
		step("A hears that "+m.words[call.told]+" is there and settles that", s)
	default:
		s.a.end(ownerStale, &s.wire)
		s.a.disowned = m.ours(call.told)
		step("A hears that "+m.words[call.told]+" is there: stale", s)
	}
}

// end forgets what no longer matters, so that equal situations are one state.
func (a *leaseOwner) end(how ownerPhase, w *modelWire) {
	w.giveUp(a.renewal.value)
	*a = leaseOwner{phase: how, disowned: a.disowned}
}
