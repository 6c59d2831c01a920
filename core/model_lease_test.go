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
	fromFinding  bool // P5: it counts from when A was told of a value of its own
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
		m.hearsClaim(s, step)
	case ownerRunning:
		m.renew(s, step)
		m.returns(s, step)
	case ownerLost:
		m.returns(s, step)
	case ownerSettling:
		m.settles(s, step)
	}
	if s.a.renewal.reply != replyPending {
		m.hearsRenewal(s, step)
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

// take is B: a newcomer that looks, judges, and takes over where it may.
func (m *leaseModel) take(s leaseState, step func(string, leaseState)) {
	switch s.b.phase {
	case takerIdle:
		f := m.found(s.cell.value, s.cell.left(s.now))
		if st, _ := judgeOf(modelAsker(!m.hold), f); st == stepTake {
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
	c.hear(&Op{Value: m.bytes[p.value]}, &claim, modelTime(s.now), Result{Done: true}, nil)
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
	case s.settled && m.rec(s.cell.value).state == StateProcessing:
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

// TestModelLease is P2, P3, P5, P13 and I11 in every order of the events of one
// owner and one taker. Deadlines are reckoned by Claim.hear, accept and follow;
// that a deadline ends the run is redrawn in leaseModel.time, because in core it
// stands in front of the keeper's store call.
func TestModelLease(t *testing.T) {
	t.Run("Retake", func(t *testing.T) { wantSafe(t, newLeaseModel(leaseRules{})) })
	t.Run("Hold", func(t *testing.T) { wantSafe(t, newLeaseModel(leaseRules{hold: true})) })
	t.Run("Retake, with a mark", func(t *testing.T) { wantSafe(t, newLeaseModel(leaseRules{marks: true})) })
	for _, left := range []struct {
		out   string
		rules leaseRules
		wrong string
	}{
		{"an answer other than done is another's", leaseRules{literal: true}, "P2: "},
		{"the deadline counts from the reply", leaseRules{fromReply: true}, "I1: "},
		{"the deadline counts from the last send", leaseRules{fromLastSend: true}, "I1: "},
		{"the deadline counts from being told", leaseRules{fromFinding: true, marks: true}, "I1: "},
		{"the deadline is not heeded", leaseRules{deaf: true}, "I1: "},
		{"a take-over writes over whatever is there", leaseRules{blind: true}, "I3: "},
		{"the handler does not wait for its mark", leaseRules{marks: true, rash: true}, "P13: "},
	} {
		t.Run("broken: "+left.out, func(t *testing.T) { wantBad(t, newLeaseModel(left.rules), left.wrong) })
	}
}
