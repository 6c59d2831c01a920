package idem

import (
	"fmt"
	"strings"
	"testing"
)

// leaseRules says how the model of a lease is played: by which policy, and
// which rule is left out. The zero value is Retake with every rule kept.
type leaseRules struct {
	hold  bool // the policy is Hold: a claim that ran out is not taken over
	marks bool // the handler marks its effects before it has them

	literal      bool // P2: only an answer "done" is ours, another counter is not
	fromReply    bool // P5: the deadline counts from the reply
	fromLastSend bool // P5: the deadline counts from the last send
	deaf         bool // P5: the owner does not heed its deadline
	blind        bool // P1: a take-over writes over whatever is there by now
	rash         bool // section 8: the handler does not wait for its mark
}

// The numbers of the model: a lease of four ticks, of which the last one is the
// margin, and time for two leases. A renews twice, or renews and marks, sends
// either twice and its settle three times.
const (
	leaseTicks     = 4
	leaseMargin    = 1
	leaseEnd       = 2 * leaseTicks
	leaseRenewals  = 2
	renewalSilence = 1
	settleSilence  = 2

	fenceOfA = 1000
	fenceOfB = 500 // B's clock is behind: only what it found raises its fence
)

// leaseState is one moment: A has claimed, works and settles over a wire that
// delays and loses; B wants the same record.
type leaseState struct {
	now     int8
	cell    modelCell
	wire    modelWire
	a       leaseOwner
	b       leaseTaker
	settled bool // A's outcome was in the store
	effects bool // the marked effects have happened
}

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

type modelSend struct {
	counter uint8
	first   int8
}

type takerPhase uint8

const (
	takerIdle takerPhase = iota
	takerSeen            // has decided to take over what it saw
	takerRunning
	takerOver // its own lease is over
)

type leaseTaker struct {
	phase    takerPhase
	seen     valueID
	deadline int8
}

// leaseModel holds what its states are numbers of.
type leaseModel struct {
	leaseRules
	*modelValues
	owner *modelOwner
}

func newLeaseModel(rules leaseRules) model[leaseState] {
	v := newModelValues()
	m := &leaseModel{rules, v, newModelOwner(v)}
	claim := modelRecord('A', StateProcessing, fenceOfA, leaseTicks*modelTick)
	return model[leaseState]{
		start: leaseState{cell: modelCell{v.of(claim), 0}},
		next:  m.next, bad: m.bad, show: m.show, goals: m.goals(),
	}
}

func (m *leaseModel) next(s leaseState, offer func(string, leaseState)) {
	step := func(what string, to leaseState) {
		if to.settled || to.b.phase >= takerRunning {
			to.wire.forget() // what they were to be swapped from never comes back
		}
		offer(what, to)
	}
	m.time(s, step)
	s.wire.arrivals(func(p modelPacket, after modelWire) {
		to := s
		to.wire = after
		step("the store gets A's "+m.words[p.value], m.arrive(to, p))
	})
	switch s.a.phase {
	case ownerAsking:
		m.hearClaim(s, step)
	case ownerRunning:
		m.renew(s, step)
		m.returns(s, step)
	case ownerLost:
		m.returns(s, step)
	case ownerSettling:
		m.settles(s, step)
	}
	if s.a.renewal.reply != replyPending {
		m.hearRenewal(s, step)
	}
	m.take(s, step)
}

// time passes while it can still decide something. The owner looks at its
// deadline as each tick of a running claim does first.
func (m *leaseModel) time(s leaseState, step func(string, leaseState)) {
	alive := s.a.phase == ownerAsking || s.a.phase == ownerRunning
	if s.now == leaseEnd || s.settled || !alive && s.b.phase >= takerRunning {
		return
	}
	s.now++
	now := modelTime(s.now)
	if s.a.phase == ownerRunning && passed(modelTime(s.a.deadline), now) && !m.deaf {
		s.wire.giveUp(s.a.renewal.value)
		s.a = leaseOwner{phase: ownerLost, known: s.a.known, last: s.a.last, marked: s.a.marked}
	}
	if s.b.phase == takerRunning && passed(modelTime(s.b.deadline), now) {
		s.b = leaseTaker{phase: takerOver}
	}
	step("a tick passes", s)
}

// arrive is the store's part.
func (m *leaseModel) arrive(s leaseState, p modelPacket) leaseState {
	done := s.cell.apply(p, s.now)
	if done && m.rec(p.value).state != StateProcessing {
		s.settled = true
	}
	switch {
	case !p.awaited:
	case p.value == s.a.settle.value:
		s.a.settle.answer(done, s.cell.value)
	case p.value == s.a.renewal.value:
		s.a.renewal.answer(done, s.cell.value)
	}
	return s
}

// hearClaim: A hears that it has won, at last, or asks again and is told of its
// own record (P3).
func (m *leaseModel) hearClaim(s leaseState, step func(string, leaseState)) {
	asked := m.rec(s.cell.value).owner[0] == 'A'
	for _, again := range []bool{false, true} {
		if again && !asked {
			continue // B has it: A is told of another's record and judges it as any newcomer
		}
		to, what := s, "A hears that it has won"
		if again {
			what = "A asks again and is told of its own claim"
		}
		c, claim := m.owner.claim(s.now, &to.a), modelRecord('A', StateProcessing, fenceOfA, leaseTicks*modelTick)
		res := Result{Done: !again}
		if again {
			res.Value = m.bytes[s.cell.value]
		}
		c.hear(&storeOp{value: claim.append(nil)}, claim, modelTime(0), res)
		switch {
		case !c.won:
			to.a.disowned = s.cell.value
		case c.late():
			to.a = leaseOwner{phase: ownerLate}
		default:
			to.a.phase = ownerRunning
			m.owner.keep(c, &to.a)
		}
		step(what, to)
	}
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
	return ownerHears(mine, done, f)
}

// hearRenewal does as Claim.write does after a call. A renewal may still be out
// when the handler has returned; it then only moves what A knows to be there.
func (m *leaseModel) hearRenewal(s leaseState, step func(string, leaseState)) {
	c := m.owner.claim(s.now, &s.a)
	p, told := c.pending, s.a.renewal.told
	done, f := s.a.renewal.hear(m.modelValues)
	what := "A hears that its renewal is done"
	switch m.hears(p.rec, done, f) {
	case replyDone:
		c.accept(p)
		if m.fromReply {
			c.deadline = modelTime(s.now + leaseTicks - leaseMargin)
		}
		if m.fromLastSend {
			c.deadline = modelTime(s.a.lastSend + leaseTicks - leaseMargin)
		}
		if p.rec.flags&flagEffects != 0 {
			s.effects = true
		}
		m.owner.keep(c, &s.a)
	case replyAgain:
		what = "A hears that " + m.words[told] + " is there and renews that"
		c.follow(f)
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

// ours is the value if it is a running claim of A's, 0 otherwise.
func (m *leaseModel) ours(id valueID) valueID {
	if r := m.rec(id); r.isOf(owner{'A'}, fenceOfA) {
		return id
	}
	return 0
}

// returns: the handler returns and its outcome is sent. It does not return from
// a mark before it has heard of it.
func (m *leaseModel) returns(s leaseState, step func(string, leaseState)) {
	if s.a.phase == ownerRunning && s.a.marked && s.a.renewal.value != 0 && !s.effects {
		return
	}
	c := m.owner.claim(s.now, &s.a)
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

// take is B: a newcomer that looks, judges, and takes over where it may.
func (m *leaseModel) take(s leaseState, step func(string, leaseState)) {
	switch s.b.phase {
	case takerIdle:
		f := m.found(s.cell.value, s.cell.left(s.now))
		if st, _ := judge(modelAsker(!m.hold), f); st == stepTake {
			s.b = leaseTaker{phase: takerSeen, seen: s.cell.value}
			step("B reads "+m.words[s.b.seen]+" and may take it over", s)
		}
	case takerSeen:
		m.swaps(s, step)
	}
}

func (m *leaseModel) swaps(s leaseState, step func(string, leaseState)) {
	claim := taken(m.found(s.b.seen, 0), modelRecord('B', StateProcessing, fenceOfB, leaseTicks*modelTick))
	p := modelPacket{old: s.b.seen, value: m.of(claim)}
	if m.blind {
		p.old = s.cell.value
	}
	if !s.cell.apply(p, s.now) {
		s.b = leaseTaker{}
		step("B's take-over fails: the value is another", s)
		return
	}
	won := leaseOwner{}
	c := m.owner.claim(s.now, &won)
	c.hear(&storeOp{value: m.bytes[p.value]}, claim, modelTime(s.now), Result{Done: true})
	s.b = leaseTaker{phase: takerRunning, deadline: modelTicks(c.deadline)}
	step("B takes over", s)
}

// bad is what must never be.
func (m *leaseModel) bad(s leaseState) string {
	switch {
	case s.a.phase == ownerRunning && s.b.phase == takerRunning:
		return "I1: two live owners"
	case s.a.disowned != 0:
		return "P2: A takes its own record " + m.words[s.a.disowned] + " for another's: its outcome is thrown away, and the action runs again"
	case s.settled && m.rec(s.cell.value).state != StateSucceeded:
		return "I3: a kept outcome was written over"
	case s.b.phase == takerRunning && m.rec(s.cell.value).fence <= fenceOfA:
		return "I2: the fence did not grow"
	case s.effects && s.b.phase == takerRunning:
		return "P13: the action runs again after its effects were marked"
	case m.hold && s.b.phase == takerRunning:
		return "P13: a claim under Hold was taken over"
	}
	return ""
}

// goals are the situations that the rules are for.
func (m *leaseModel) goals() map[string]func(string, leaseState) bool {
	says := func(words string) func(string, leaseState) bool {
		return func(what string, _ leaseState) bool { return strings.Contains(what, words) }
	}
	goals := map[string]func(string, leaseState) bool{
		"A renews, and its deadline moves":                             func(_ string, s leaseState) bool { return s.a.deadline > leaseTicks-leaseMargin },
		"A hears of its claim too late":                                func(_ string, s leaseState) bool { return s.a.phase == ownerLate },
		"A settles over a renewal of its own that it has not heard of": says("is there and settles that"),
		"A settles after its lease, and is kept": func(_ string, s leaseState) bool {
			return s.now > leaseTicks && s.a.phase == ownerDone
		},
	}
	if m.marks {
		goals["A's effects happen"] = func(_ string, s leaseState) bool { return s.effects }
		goals["A marks over a renewal of its own that it has not heard of"] = says("is there and renews that")
		goals["A's mark arrives after A has given up"] = func(_ string, s leaseState) bool {
			return !s.effects && s.a.phase == ownerLost && m.rec(s.cell.value).flags&flagEffects != 0
		}
	}
	if !m.hold {
		goals["B takes over"] = says("B takes over")
		goals["B takes over what A has renewed"] = func(what string, s leaseState) bool {
			return what == "B takes over" && s.now > leaseTicks
		}
		goals["B takes over, and A's outcome is stale"] = func(_ string, s leaseState) bool {
			return s.a.phase == ownerStale && s.b.phase >= takerRunning
		}
		goals["A settles before B's take-over arrives"] = says("B's take-over fails")
	}
	return goals
}

var (
	ownerPhases = [...]string{"asks", "gave its late claim back", "runs", "has lost its claim", "settles", "is done", "is stale"}
	takerPhases = [...]string{"waits", "will take over", "runs", "is over"}
)

func (m *leaseModel) show(s leaseState) string {
	return fmt.Sprintf("t=%d  store %s since %d  wire %s  A %s, knows %s, deadline %d  B %s", s.now, m.words[s.cell.value],
		s.cell.since, s.wire.words(m.modelValues), ownerPhases[s.a.phase], m.words[s.a.known], s.a.deadline, takerPhases[s.b.phase])
}

// TestModelLease is P2, P3, P5 and what a take-over may do, in every order of
// the events of one owner and one taker.
func TestModelLease(t *testing.T) {
	for name, rules := range map[string]leaseRules{
		"Retake":              {},
		"Hold":                {hold: true},
		"Retake, with a mark": {marks: true},
	} {
		t.Run(name, func(t *testing.T) { wantSafe(t, newLeaseModel(rules)) })
	}
	for _, left := range []struct {
		out   string
		rules leaseRules
		wrong string
	}{
		{"an answer other than done is another's", leaseRules{literal: true}, "P2: "},
		{"the deadline counts from the reply", leaseRules{fromReply: true}, "I1: "},
		{"the deadline counts from the last send", leaseRules{fromLastSend: true}, "I1: "},
		{"the deadline is not heeded", leaseRules{deaf: true}, "I1: "},
		{"a take-over writes over whatever is there", leaseRules{blind: true}, "I3: "},
		{"the handler does not wait for its mark", leaseRules{marks: true, rash: true}, "P13: "},
	} {
		t.Run("broken: "+left.out, func(t *testing.T) { wantBad(t, newLeaseModel(left.rules), left.wrong) })
	}
}
