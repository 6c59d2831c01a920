package idem

import (
	"fmt"
	"strings"
	"testing"
)

// loadOrder is in which order a store's Load reads its two halves, where it
// cannot read them in one step.
type loadOrder bool

const (
	valueFirst loadOrder = false // as the contract of Store asks
	timeFirst  loadOrder = true
)

// loadState is one moment of A and B claiming what was released long ago. B's
// Load is torn: other claims happen between its halves.
type loadState struct {
	now    int8
	cell   modelCell
	a      bool // A has claimed
	b      loadPhase
	value  valueID // what B has read
	age    int8    // how many ticks of its time B has read to be gone
	robbed int8    // the age of the claim that B took over, and one; 0: none
}

type loadPhase uint8

const (
	loadsNothing loadPhase = iota
	loadsHalf
	loadsBoth
	loadDecided
)

// The numbers of the model. A clock reads -100 where the tombstone was written.
const (
	loadLease     = 3
	loadEnd       = loadLease + 2
	loadTombstone = -100
)

// loadModel holds what its states are numbers of.
type loadModel struct {
	*modelValues
	order     loadOrder
	tombstone valueID
}

func newLoadModel(order loadOrder) model[loadState] {
	m := &loadModel{modelValues: newModelValues(), order: order}
	m.tombstone = m.of(modelRecord('X', StateReleased, fenceOfA, loadLease*modelTick))
	return model[loadState]{
		start: loadState{cell: modelCell{m.tombstone, loadTombstone}},
		next:  m.next, bad: m.bad, show: m.show,
		goals: map[string]func(string, loadState) bool{
			"B takes what was released":   func(what string, _ loadState) bool { return what == "B takes RELEASED:X:0" },
			"B takes a claim that lapsed": func(what string, _ loadState) bool { return what == "B takes PROCESSING:A:0" },
			"B waits for a running claim": func(what string, _ loadState) bool { return what == "B waits for PROCESSING:A:0" },
			"B is too late":               func(what string, _ loadState) bool { return strings.HasPrefix(what, "B loses") },
		},
	}
}

func (m *loadModel) next(s loadState, step func(string, loadState)) {
	if s.now < loadEnd {
		to := s
		to.now++
		step("a tick passes", to)
	}
	if !s.a {
		m.claimA(s, step)
	}
	switch {
	case s.b == loadsBoth:
		m.decide(s, step)
	case s.b == loadsNothing && m.order == valueFirst, s.b == loadsHalf && m.order == timeFirst:
		s.b++
		s.value = s.cell.value
		step("B reads the value", s)
	case s.b == loadsNothing, s.b == loadsHalf:
		s.b++
		s.age = s.now - s.cell.since
		step("B reads the time left", s)
	}
}

// claimA is A's claim, in one step.
func (m *loadModel) claimA(s loadState, step func(string, loadState)) {
	f := m.found(s.cell.value, s.cell.left(s.now))
	if st, _ := judgeOf(modelAsker(true), f); st != stepTake {
		return
	}
	claim := taken(f, modelRecord('A', StateProcessing, fenceOfA, loadLease*modelTick))
	s.a = s.cell.apply(modelPacket{old: s.cell.value, value: m.of(claim)}, s.now)
	step("A claims", s)
}

// decide is B's judgement of what it has read, and its claim.
func (m *loadModel) decide(s loadState, step func(string, loadState)) {
	s.b = loadDecided
	f := m.found(s.value, modelRetention-timeOf(s.age))
	if st, _ := judgeOf(modelAsker(true), f); st != stepTake {
		step("B waits for "+m.words[s.value], s)
		return
	}
	claim := taken(f, modelRecord('B', StateProcessing, fenceOfB, loadLease*modelTick))
	before := s.cell
	if !s.cell.apply(modelPacket{old: s.value, value: m.of(claim)}, s.now) {
		step("B loses "+m.words[s.value], s)
		return
	}
	if f.rec.state == StateProcessing {
		s.robbed = s.now - before.since + 1
	}
	step("B takes "+m.words[s.value], s)
}

func (m *loadModel) bad(s loadState) string {
	if s.robbed > 0 && s.robbed-1 < loadLease {
		return fmt.Sprintf("I1: a live claim was taken over at the age of %d", s.robbed-1)
	}
	return ""
}

var loadPhases = [...]string{"has read nothing", "has read one half", "has read both halves", "has decided"}

func (m *loadModel) show(s loadState) string {
	return fmt.Sprintf("t=%d  store %s since %d  B %s: %s, %d ticks old", s.now, m.words[s.cell.value], s.cell.since, loadPhases[s.b], m.words[s.value], s.age)
}

// TestModelLoadOrder is the one sentence of the contract of Store about Load:
// the time left belongs to the value returned with it, or to a later moment.
func TestModelLoadOrder(t *testing.T) {
	t.Run("the value, then its time", func(t *testing.T) { wantSafe(t, newLoadModel(valueFirst)) })
	t.Run("broken: the time, then a value", func(t *testing.T) { wantBad(t, newLoadModel(timeFirst), "I1: ") })
}
