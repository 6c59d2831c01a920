package idem

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// heldRules says how a model of a held release is played. The zero value is
// Hold, with the rule kept.
type heldRules struct {
	retake bool // onCrash
	early  bool // a repeat claims from a release that is not written yet
}

// heldState is one moment. A's run is released, and the write of that is of
// unknown outcome: its process holds the release and goes on writing it. C is a
// repeat in the same process, whose claim may be of unknown outcome in its turn;
// the janitor then sees to that.
type heldState struct {
	cell   modelCell
	lapsed bool // the lease of what is there has run out
	wire   modelWire

	a       heldPhase
	known   valueID // what A takes to be in the store as an attempt to settle begins
	settle  modelActor
	aSilent uint8

	c       repeatPhase
	saw     bool       // C began with what its process holds, not with the store
	calls   modelActor // C's, and then the janitor's
	mine    valueID    // what C has claimed with, or has given to the janitor
	meant   valueID    // and over what
	cSilent uint8
	jSilent uint8
}

type heldPhase uint8

const (
	heldSettles heldPhase = iota // the first attempt is out
	heldHolds                    // its outcome is unknown, it will be made again
	heldAgain                    // another attempt is out
	heldDone
	heldStale
	heldAstray // an attempt heard every reply and ended without knowing
)

type repeatPhase uint8

const (
	repeatNone    repeatPhase = iota
	repeatClaims              // its call is out
	repeatRefused             // it was answered without running
	repeatRuns
	repeatEnded
	repeatOpen // its claim is the janitor's, to be begun or begun anew
	repeatMends
	repeatMended
)

// How often nothing is heard of a settle, of C's calls (each of them is made
// askTries times) and of the janitor's.
const (
	heldSilence   = 2
	repeatSilence = askTries
	mendSilence   = 1
)

type heldModel struct {
	heldRules
	*modelValues
	guard   *Guard
	id      *identity
	claim   *Claim   // A's
	target  *pending // A's outcome
	ran     valueID  // A's claim
	outcome valueID  // and what it came to
}

func newHeldModel(rules heldRules) model[heldState] {
	p := Policy{OnCrash: Hold}
	if rules.retake {
		p.OnCrash = Retake
	}
	m := &heldModel{heldRules: rules, modelValues: newModelValues()}
	m.guard, m.id = modelGuard(p)
	mine := modelRecord('A', StateProcessing, fenceOfA, janitorLease*modelTick)
	m.ran = m.of(mine)
	m.claim = &Claim{g: m.guard, id: m.id, won: true, rec: mine, known: m.bytes[m.ran], start: modelEpoch, deadline: modelEpoch.Add(janitorLease * modelTick)}
	m.claim.run = beginRun(m.claim, context.Background())
	m.target = m.claim.target(Releases, Payload{}, false)
	m.outcome = m.modelValues.id(m.target.value)
	s := heldState{cell: modelCell{value: m.ran}, known: m.ran}
	m.attempt("", s, func(_ string, to heldState) { s = to })
	return model[heldState]{start: s, next: m.next, bad: m.bad, show: m.show, goals: m.goals()}
}

func (m *heldModel) next(s heldState, step func(string, heldState)) {
	s.wire.arrivals(func(p modelPacket, after modelWire) {
		to := s
		to.wire = after
		done := to.put(p)
		what := "too late"
		if done {
			what = "done"
		}
		to.settle.answer(p, done, to.cell.value)
		to.calls.answer(p, done, to.cell.value)
		step("the store gets "+m.words[p.old]+"→"+m.words[p.value]+": "+what, to)
	})
	if s.calls.reads() {
		to := s
		to.calls.reply = modelHeard{how: heardLoad, there: s.cell.value, lapsed: s.lapsed}
		step("the store is read: "+m.words[s.cell.value], to)
	}
	if m.rec(s.cell.value).state == StateProcessing && !s.lapsed {
		to := s
		to.lapsed = true
		step("the lease runs out", to)
	}
	m.settles(s, step)
	m.repeats(s, step)
	m.mends(s, step)
}

// put is the store's part.
func (s *heldState) put(p modelPacket) (done bool) {
	before := s.cell.value
	done = s.cell.apply(p, 0)
	if s.cell.value != before {
		s.lapsed = false
	}
	return done
}

// settles: A's process goes on writing the release.
func (m *heldModel) settles(s heldState, step func(string, heldState)) {
	switch s.a {
	case heldHolds:
		s.a = heldAgain
		m.attempt("A's settle is made again", s, step)
	case heldSettles, heldAgain:
		if s.aSilent < heldSilence {
			to := s
			to.aSilent++
			to.settle.hear(&to.wire, true)
			m.attempt("A hears nothing of its settle", to, step)
		}
		if s.settle.answered() {
			s.settle.hear(&s.wire, false)
			m.attempt("A hears of its settle", s, step)
		}
	}
}

// attempt is Claim.attempt with what it has heard so far.
func (m *heldModel) attempt(what string, s heldState, step func(string, heldState)) {
	result, err := "", error(nil)
	m.claim.known = m.bytes[s.known]
	over := s.settle.play(m.guard, m.modelValues, &s.wire, func() {
		result, err = m.claim.attempt(context.Background(), m.target, 0)
	})
	switch {
	case !over:
	case err != nil && !errors.Is(err, errModelSilence):
		s.a = heldAstray
	case err != nil:
		s.a, s.known = heldHolds, m.modelValues.id(m.claim.known)
	case result == "stale":
		s.a, s.known, what = heldStale, m.ran, what+": stale"
	default:
		s.a, s.known, what = heldDone, m.ran, what+": "+result
	}
	step(what, s)
}

// repeats: C comes once its process holds the release, or has let go of it.
func (m *heldModel) repeats(s heldState, step func(string, heldState)) {
	switch s.c {
	case repeatNone:
		switch s.a {
		case heldSettles:
			return
		case heldHolds, heldAgain:
			_, s.saw = m.holds()
		}
		s.c = repeatClaims
		m.claims("C comes, in A's process", s, step)
	case repeatClaims:
		if s.cSilent < repeatSilence {
			to := s
			to.cSilent++
			to.calls.hear(&to.wire, true)
			m.claims("C hears nothing", to, step)
		}
		if s.calls.answered() {
			what := "C hears that it is done"
			if s.calls.reply.how != heardDone {
				what = "C hears that " + m.words[s.calls.reply.there] + " is there"
			}
			s.calls.hear(&s.wire, false)
			m.claims(what, s, step)
		}
	case repeatRuns:
		r := m.rec(s.mine)
		r.state = StateSucceeded
		r.counter++
		p := modelPacket{old: s.mine, value: m.of(r)}
		s.c, s.mine = repeatEnded, p.value
		s.put(p)
		step("C ends", s)
	}
}

// holds is what A's process tells a repeat of A's claim.
func (m *heldModel) holds() (found, bool) {
	if m.early {
		return found{value: m.target.value, left: m.target.rec.retention(), rec: m.target.rec}, true
	}
	m.claim.told, m.claim.holding = true, true
	return m.claim.view()
}

// claims is Claim.decide with what it has heard so far.
func (m *heldModel) claims(what string, s heldState, step func(string, heldState)) {
	f, have := found{}, false
	if s.saw {
		f, have = m.holds()
	}
	m.guard.janitor.jobs = nil
	c := &Claim{g: m.guard, id: m.id, fp: modelPrint, nonce: owner{'C'}}
	over := s.calls.play(m.guard, m.modelValues, &s.wire, func() { _, _ = c.decide(context.Background(), &f, have, false) })
	switch {
	case !over:
	case c.won:
		s.c, s.mine = repeatRuns, m.modelValues.id(c.known)
		what += ", and runs"
	case len(m.guard.janitor.jobs) > 0:
		job := m.guard.janitor.jobs[0]
		s.c, s.mine, s.meant = repeatOpen, m.of(job.mine), 0
		if job.meant != nil {
			s.meant = m.modelValues.id(job.meant)
		}
		what += ", its claim over " + m.words[s.meant] + " goes to the janitor"
	default:
		s.c = repeatRefused
		what += ", and is refused"
	}
	step(what, s)
}

// mends: the janitor sees to C's claim.
func (m *heldModel) mends(s heldState, step func(string, heldState)) {
	switch s.c {
	case repeatOpen:
		s.c = repeatMends
		m.writeOver("the janitor begins", s, step)
	case repeatMends:
		if s.jSilent < mendSilence {
			to := s
			to.jSilent++
			to.calls.hear(&to.wire, true)
			m.writeOver("the janitor hears nothing", to, step)
		}
		if s.calls.answered() {
			what := "the janitor hears that it is done"
			if s.calls.reply.how != heardDone {
				what = "the janitor hears that " + m.words[s.calls.reply.there] + " is there"
			}
			s.calls.hear(&s.wire, false)
			m.writeOver(what, s, step)
		}
	}
}

// writeOver is janitor.writeOver with what it has heard so far.
func (m *heldModel) writeOver(what string, s heldState, step func(string, heldState)) {
	err, one := error(nil), &job{name: m.id.name, mine: m.rec(s.mine), meant: m.bytes[s.meant]}
	over := s.calls.play(m.guard, m.modelValues, &s.wire, func() { err = m.guard.janitor.writeOver(context.Background(), one) })
	switch {
	case over && err != nil:
		s.c = repeatOpen
	case over:
		s.c = repeatMended
	}
	step(what, s)
}

func (m *heldModel) bad(s heldState) string {
	switch {
	case s.a == heldAstray:
		return "P2: an attempt heard every reply, followed each, and came to no end"
	case s.c == repeatMended && s.cell.value == s.mine && !s.wire.has(s.mine) && m.rec(s.meant).state != StateProcessing:
		return "I13: the janitor is done, no copy is on its way, and a claim that nobody owns holds the key"
	case (s.c == repeatRuns || s.c == repeatEnded) && s.cell.value != s.mine:
		return "I3: what C claimed or left was written over"
	case s.a == heldDone && s.c == repeatNone && s.cell.value != m.outcome:
		return "I3: the release was written over"
	}
	return ""
}

func (m *heldModel) goals() map[string]func(string, heldState) bool {
	says := func(words ...string) func(string, heldState) bool {
		return func(what string, _ heldState) bool {
			for _, w := range words {
				if !strings.Contains(what, w) {
					return false
				}
			}
			return true
		}
	}
	goals := map[string]func(string, heldState) bool{
		"C claims what was released, while A does not know that it is": func(what string, s heldState) bool {
			return strings.Contains(what, "RELEASED:A:1→PROCESSING:C:0: done") && s.a < heldDone
		},
		"A is told of C's claim":                      says("A hears of its settle: stale"),
		"C is refused while A's claim is there":       says("C hears that PROCESSING:A:0 is there, and is refused"),
		"a claim by Create goes to the janitor":       says("C hears nothing, its claim over nothing goes"),
		"a claim by Swap goes to the janitor":         says("C hears nothing, its claim over RELEASED:A:1 goes"),
		"the janitor moves the tombstone on":          says("RELEASED:A:1→RELEASED:A:2: done"),
		"the janitor releases C's claim":              says("PROCESSING:C:0→RELEASED:C:1: done"),
		"a copy of C's claim is too late":             says("→PROCESSING:C:0: too late"),
		"the janitor is told that A's claim is there": says("the janitor hears that PROCESSING:A:0 is there"),
	}
	if m.retake {
		goals["C takes A's claim over"] = says("PROCESSING:A:0→PROCESSING:C:0: done")
	}
	return goals
}

var (
	heldPhases   = [...]string{"settles", "holds its release", "settles again", "is done", "is stale", "is astray"}
	repeatPhases = [...]string{"is not there", "claims", "is refused", "runs", "has ended", "is the janitor's", "is mended", "was mended"}
)

func (m *heldModel) show(s heldState) string {
	lapsed := ""
	if s.lapsed {
		lapsed = " (lapsed)"
	}
	return fmt.Sprintf("store %s%s  wire %s  A %s  C %s", m.words[s.cell.value], lapsed, s.wire.words(m.modelValues), heldPhases[s.a], repeatPhases[s.c])
}

// TestModelJanitorHeldRelease: a release that is not written yet is not claimed
// from, not even in the process that knows it (PROTOCOL P8, and why Claim.view
// leaves it out). The janitor tells by what is in the store whether a claim can
// still come, and what its claim was to be swapped from is not there yet.
func TestModelJanitorHeldRelease(t *testing.T) {
	t.Run("Hold", func(t *testing.T) { wantSafe(t, newHeldModel(heldRules{})) })
	t.Run("Retake", func(t *testing.T) { wantSafe(t, newHeldModel(heldRules{retake: true})) })
	t.Run("broken: a repeat claims from it, Hold", func(t *testing.T) {
		wantBad(t, newHeldModel(heldRules{early: true}), "I13: ")
	})
	t.Run("broken: a repeat claims from it, Retake", func(t *testing.T) {
		wantBad(t, newHeldModel(heldRules{early: true, retake: true}), "I13: ")
	})
}
