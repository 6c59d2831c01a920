package idem

import (
	"fmt"
	"testing"
)

// The model of a resolver (PROTOCOL P13). An owner calls a provider and then
// stands still, or dies, or comes back and settles, at any moment. Its call takes
// as long as a lease to arrive, or gets lost. Two resolvers look, ask the provider
// whether it knows of the call, and write what they were told, each step at any
// moment after the one before. Whoever comes next may claim what was released.
//
// What is safe here is safe by two rules: nobody looks before one more lease has
// passed, and what is written is a Swap of exactly what was seen.

const (
	resolveLease  = 3
	resolveMargin = 1
	resolveCall   = resolveLease // how long the provider's call is on its way, at most
	resolveEnd    = 3*resolveLease + 1
)

type resolveState struct {
	now     int8
	cell    modelCell
	call    callState
	sent    int8 // when the call left
	effects int8
	owner   ownerEnd
	r       [2]resolverState
	won     int8 // who settled the claim: the owner, or a resolver
	again   bool // the next request ran
}

type callState uint8

const (
	callNot callState = iota
	callOnItsWay
	callArrived
	callLost
)

type ownerEnd uint8

const (
	ownerStands ownerEnd = iota
	ownerSettled
	ownerIsStale
)

type resolverState struct {
	seen  valueID // what it looked at; 0: it has not yet
	known bool    // the provider knew of the call
	over  bool
}

type resolveModel struct {
	*modelValues
	claim, done valueID
	soon        bool // a resolver does not wait for one more lease
	blind       bool // it writes over whatever is there
}

func (m *resolveModel) model() model[resolveState] {
	m.modelValues = newModelValues()
	claim := modelRecord('A', StateProcessing, fenceOfA, resolveLease*modelTick)
	done := claim
	done.state, done.counter = StateSucceeded, 1
	m.claim, m.done = m.of(claim), m.of(done)
	return model[resolveState]{
		start: resolveState{cell: modelCell{value: m.claim}},
		next:  m.next,
		bad:   m.bad,
		show: func(s resolveState) string {
			return fmt.Sprintf("at %d: %s, call %d, effects %d, owner %d, resolvers %v, won %d", s.now, m.words[s.cell.value], s.call, s.effects, s.owner, s.r, s.won)
		},
		goals: map[string]func(string, resolveState) bool{
			"a late owner is told that it is stale":        func(_ string, s resolveState) bool { return s.owner == ownerIsStale },
			"an owner settles after its lease":             func(_ string, s resolveState) bool { return s.owner == ownerSettled && s.now > resolveLease },
			"a resolver releases, and the next one runs":   func(_ string, s resolveState) bool { return s.again && s.effects == 1 },
			"a resolver succeeds":                          func(_ string, s resolveState) bool { return s.won == 1 && s.owner == ownerStands && s.effects == 1 },
			"a resolver comes after the other":             func(what string, _ resolveState) bool { return what == "resolver 1 is told that it moved" },
			"both resolvers have asked and none has wrote": func(_ string, s resolveState) bool { return s.r[0].seen != 0 && s.r[1].seen != 0 && s.won == 0 },
		},
	}
}

func (m *resolveModel) bad(s resolveState) string {
	switch rec := m.rec(s.cell.value); {
	case s.effects > 1:
		return "the action had its effect twice"
	case s.won > 1:
		return "the claim was settled twice"
	case rec.owner != owner{'A'} && rec.fence <= fenceOfA:
		return "the fence did not grow"
	}
	return ""
}

func (m *resolveModel) next(s resolveState, step func(string, resolveState)) {
	if s.now < resolveEnd && !(s.call == callOnItsWay && s.now-s.sent >= resolveCall) {
		to := s
		to.now++
		step("time passes", to)
	}
	m.calls(s, step)
	if s.call != callNot && s.owner == ownerStands {
		step("the owner settles", m.settles(s))
	}
	for i := range s.r {
		m.resolves(s, i, step)
	}
	if st, _ := judgeOf(modelAsker(false), m.found(s.cell.value, s.cell.left(s.now))); st == stepTake && !s.again {
		to := s
		taken := taken(m.found(s.cell.value, 0), modelRecord('B', StateProcessing, fenceOfB, resolveLease*modelTick))
		to.cell, to.again = modelCell{m.of(taken), s.now}, true
		to.effects++
		step("the next request runs", to)
	}
}

// calls: the owner believes in its claim until the margin of its lease, and its
// call arrives, or not, within its time.
func (m *resolveModel) calls(s resolveState, step func(string, resolveState)) {
	to := s
	switch {
	case s.call == callNot && s.now < resolveLease-resolveMargin:
		to.call, to.sent = callOnItsWay, s.now
		step("the owner calls the provider", to)
	case s.call == callOnItsWay:
		to.call = callArrived
		to.effects++
		step("the call arrives", to)
		to = s
		to.call = callLost
		step("the call is lost", to)
	}
}

// settles is one Swap from what the owner knows, as Claim.attempt makes it.
func (m *resolveModel) settles(s resolveState) resolveState {
	finds := s.cell.value == m.claim
	done := m.rec(m.done)
	switch ownerHears(&done, finds, m.found(s.cell.value, s.cell.left(s.now))) {
	case replyDone:
		s.cell, s.owner = modelCell{m.done, s.now}, ownerSettled
		s.won++
	default:
		s.owner = ownerIsStale
	}
	return s
}

// resolves: it looks and asks in one step, and writes in a later one.
func (m *resolveModel) resolves(s resolveState, i int, step func(string, resolveState)) {
	r, to := s.r[i], s
	if r.over {
		return
	}
	if r.seen == 0 {
		held, in := heldIn(m.found(s.cell.value, s.cell.left(s.now)), true)
		if m.soon {
			in -= resolveLease * modelTick
		}
		if held && in <= 0 {
			to.r[i] = resolverState{seen: s.cell.value, known: s.call == callArrived}
			step(fmt.Sprintf("resolver %d asks", i), to)
		}
		return
	}
	to.r[i].over = true
	if s.cell.value != r.seen && !m.blind {
		step(fmt.Sprintf("resolver %d is told that it moved", i), to)
		return
	}
	state := StateReleased
	if r.known {
		state = StateSucceeded
	}
	next := resolved(m.found(r.seen, 0), owner{'R', byte(i)}, uint64(fenceOfB), state)
	to.cell = modelCell{m.of(next), s.now}
	to.won++
	step(fmt.Sprintf("resolver %d writes %v", i, state), to)
}

func TestModelResolver(t *testing.T) {
	wantSafe(t, (&resolveModel{}).model())
	t.Run("asked as soon as the lease is over", func(t *testing.T) {
		wantBad(t, (&resolveModel{soon: true}).model(), "its effect twice")
	})
	t.Run("written over whatever is there", func(t *testing.T) {
		wantBad(t, (&resolveModel{blind: true}).model(), "settled twice")
	})
}
