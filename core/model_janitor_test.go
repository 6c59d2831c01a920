package idem

import (
	"fmt"
	"strings"
	"testing"
)

// claimedOver is what a claim of unknown outcome was to be made over.
type claimedOver uint8

const (
	overNothing   claimedOver = iota // a Create
	overTombstone                    // a Swap of what an earlier request released
	overLapsed                       // a Swap of a claim whose lease ran out
)

// janitorRules says how a model of the janitor is played. The zero value is a
// claim by Create under Hold, with every rule kept. The policy is Closed: what
// is not known to be claimed is not run. (Open has a model of its own: the
// janitor's work is a settle there.)
type janitorRules struct {
	over   claimedOver
	retake bool // onCrash

	looks    bool // the janitor swaps what it finds to be ours, and writes nothing else
	deaf     bool // it does not follow what it is told is there
	resigned bool // it does not try again where its own outcome is unknown
	forceful bool // it releases whatever it is told is there
}

// janitorState is one moment. Request A's claim is of unknown outcome, and
// copies of it may be on their way long after A gave up; the janitor has to see
// to it that none of them is left to block the key. Request B comes at any time.
type janitorState struct {
	cell   modelCell
	lapsed bool // the lease of what is there has run out
	wire   modelWire
	asks   uint8 // of A: how often it has sent
	job    janitorJob
	b      requestPhase
	claimB valueID // what B has put into the store
}

type jobPhase uint8

const (
	jobNone jobPhase = iota // A still asks
	jobOpen                 // to be begun, or begun anew
	jobOut                  // a write is out
	jobDone
)

// janitorJob is what Janitor.writeOver knows.
type janitorJob struct {
	phase jobPhase
	call  modelCall
	swaps uint8
	fails uint8
}

type requestPhase uint8

const (
	requestNone requestPhase = iota
	requestRuns
	requestSettled
	requestReleased
)

const (
	janitorFails = 1  // how often its own outcome is unknown
	janitorLease = 10 // in ticks; time itself plays no part, only whether it is over
)

// janitorModel holds what its states are numbers of.
type janitorModel struct {
	janitorRules
	*modelValues
	mine  record  // A's claim
	claim valueID // the same, encoded
	meant valueID // what it was to be swapped from; 0: created
}

func newJanitorModel(rules janitorRules) model[janitorState] {
	m := &janitorModel{janitorRules: rules}
	return model[janitorState]{start: m.begin(), next: m.next, bad: m.bad, show: m.show, goals: m.goals()}
}

// begin makes A's claim and puts it on its way.
func (m *janitorModel) begin() janitorState {
	m.modelValues = newModelValues()
	m.mine = modelRecord('A', StateProcessing, fenceOfA, janitorLease*modelTick)
	s := janitorState{asks: 1}
	if m.over != overNothing {
		before := modelRecord('X', StateReleased, fenceOfA, janitorLease*modelTick)
		if m.over == overLapsed {
			before.state, s.lapsed = StateProcessing, true
		}
		m.meant = m.of(before)
		m.mine = taken(m.found(m.meant, 0), m.mine)
		s.cell.value = m.meant
	}
	m.claim = m.of(m.mine)
	s.wire.send(modelPacket{m.meant, m.claim, false})
	return s
}

func (m *janitorModel) next(s janitorState, step func(string, janitorState)) {
	s.wire.arrivals(func(p modelPacket, after modelWire) {
		to := s
		to.wire = after
		done := to.put(p)
		what := "too late"
		if done {
			what = "done"
		}
		if p.awaited {
			to.job.call.answer(done, to.cell.value)
		}
		step("the store gets "+m.words[p.old]+"→"+m.words[p.value]+": "+what, to)
	})
	m.ages(s, step)
	m.asksA(s, step)
	m.janitor(s, step)
	m.requestB(s, step)
}

// put is the store's part.
func (s *janitorState) put(p modelPacket) (done bool) {
	before := s.cell.value
	done = s.cell.apply(p, 0)
	if s.cell.value != before {
		s.lapsed = false
	}
	return done
}

// ages: leases run out, the retention of what A claimed over does, and where
// that was a lapsed claim, its owner may settle it after all.
func (m *janitorModel) ages(s janitorState, step func(string, janitorState)) {
	r := m.rec(s.cell.value)
	if r.state == StateProcessing && !s.lapsed {
		to := s
		to.lapsed = true
		step("the lease runs out", to)
	}
	if s.cell.value == 0 || s.cell.value != m.meant {
		return
	}
	if r.state == StateProcessing {
		r.state = StateSucceeded
		to := s
		to.put(modelPacket{old: m.meant, value: m.of(r)})
		step("X settles late", to)
	}
	s.cell.value, s.lapsed = 0, false
	step("the retention of X's record is over", s)
}

func (m *janitorModel) bad(s janitorState) string {
	switch {
	case s.job.phase == jobDone && s.cell.value == m.claim && !s.wire.has(m.claim) && m.holds():
		return "I13: the janitor is done, no copy is on its way, and a claim that nobody owns holds the key"
	case s.b == requestRuns && s.cell.value != s.claimB:
		return "I1: B's claim was written over while B runs"
	case s.b > requestRuns && s.cell.value != s.claimB:
		return "I3: what B left was written over"
	}
	return ""
}

// holds tells whether A's claim is in the way for good. Another's lapsed claim
// is left alone: writing it anew would start its lease again, and its owner may
// be about to settle it. A late copy may therefore take it over after the
// janitor, and is taken over in its turn once its own lease has run out.
func (m *janitorModel) holds() bool {
	if m.over != overLapsed {
		return true
	}
	st, _ := judgeOf(modelAsker(m.retake), m.found(m.claim, modelRetention-janitorLease*modelTick))
	return st != stepTake
}

func (m *janitorModel) goals() map[string]func(string, janitorState) bool {
	says := func(words string) func(string, janitorState) bool {
		return func(what string, _ janitorState) bool { return strings.Contains(what, words) }
	}
	lateCopy := m.words[m.meant] + "→" + m.words[m.claim] + ": too late"
	goals := map[string]func(string, janitorState) bool{
		"a copy of A's claim is too late, and the janitor is done": func(what string, s janitorState) bool {
			return strings.Contains(what, lateCopy) && s.b == requestNone && s.wire == modelWire{} && s.job.phase == jobDone
		},
		"the janitor releases A's claim": says("PROCESSING:A:0→RELEASED:A:1: done"),
		"B claims what the janitor released, and it is done": func(what string, s janitorState) bool {
			return what == "B claims over RELEASED:A:1" && s.job.phase == jobDone
		},
		"the janitor's own late copy changes nothing": func(what string, s janitorState) bool {
			return strings.HasSuffix(what, "RELEASED:A:1: too late") && s.job.phase == jobDone
		},
	}
	if m.retake {
		goals["B takes A's claim over"] = says("B claims over PROCESSING:A:0")
	}
	switch m.over {
	case overNothing:
		goals["the janitor is told of B's claim, and leaves it"] = says("hears that PROCESSING:B:0 is there")
		goals["the janitor is told of B's outcome, and leaves it"] = says("hears that SUCCEEDED:B:1 is there")
		goals["the janitor takes the place of a late copy"] = says("nothing→RELEASED:A:1: done")
	case overTombstone:
		goals["the janitor moves the tombstone on"] = says("RELEASED:X:0→RELEASED:X:1: done")
		goals["the janitor finds nothing, and leaves it"] = says("the janitor finds nothing")
	case overLapsed:
		goals["the janitor leaves a lapsed claim alone"] = says("the janitor finds PROCESSING:X:0")
		goals["X settles late"] = says("X settles late")
		goals["a copy of A's claim arrives after the janitor"] = func(what string, s janitorState) bool {
			return strings.Contains(what, "PROCESSING:A:0: done") && s.job.phase == jobDone
		}
	}
	return goals
}

var (
	jobPhases     = [...]string{"has no job", "has the job", "has written", "is done"}
	requestPhases = [...]string{"is not there", "runs", "has succeeded", "has released"}
)

func (m *janitorModel) show(s janitorState) string {
	lapsed := ""
	if s.lapsed {
		lapsed = " (lapsed)"
	}
	return fmt.Sprintf("store %s%s  wire %s  janitor %s  B %s", m.words[s.cell.value], lapsed, s.wire.words(m.modelValues), jobPhases[s.job.phase], requestPhases[s.b])
}

// testJanitor plays each rule left out, and wants what goes wrong then.
func testJanitor(t *testing.T, over claimedOver) {
	for _, left := range []struct {
		out   string
		rules janitorRules
		wrong string
	}{
		{"it only looks", janitorRules{looks: true}, "I13: "},
		{"it does not follow what it is told", janitorRules{deaf: true}, "I13: "},
		{"it does not try again", janitorRules{resigned: true}, "I13: "},
		{"it releases whatever is there", janitorRules{forceful: true}, "I1: "},
	} {
		left.rules.over = over
		t.Run("broken: "+left.out, func(t *testing.T) { wantBad(t, newJanitorModel(left.rules), left.wrong) })
	}
}

// TestModelJanitor: a claim by Create, of unknown outcome, with copies on their
// way (PROTOCOL section 9).
func TestModelJanitor(t *testing.T) {
	t.Run("Hold", func(t *testing.T) { wantSafe(t, newJanitorModel(janitorRules{})) })
	t.Run("Retake", func(t *testing.T) { wantSafe(t, newJanitorModel(janitorRules{retake: true})) })
	testJanitor(t, overNothing)
}

// TestModelJanitorSwap: the same where the claim was a Swap: of what an earlier
// request released, or of a claim that lapsed.
func TestModelJanitorSwap(t *testing.T) {
	rules := janitorRules{over: overTombstone}
	t.Run("over a tombstone, Hold", func(t *testing.T) { wantSafe(t, newJanitorModel(rules)) })
	rules.retake = true
	t.Run("over a tombstone, Retake", func(t *testing.T) { wantSafe(t, newJanitorModel(rules)) })
	rules.over = overLapsed
	t.Run("over a lapsed claim, Retake", func(t *testing.T) { wantSafe(t, newJanitorModel(rules)) })
	testJanitor(t, overTombstone)
}
