package idem

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// openRules says how a model of a run without a record is played. The zero value
// is a claim by Create under Hold, with every rule kept.
type openRules struct {
	over   claimedOver
	retake bool // onCrash
	moved  bool // the janitor of another process, under Closed, moves the tombstone on

	releases    bool // the janitor releases A's claim, as it does under Closed
	looks       bool // and only where it finds it
	onlyNothing bool // the outcome is written where nothing is there, and nowhere else
	forgetful   bool // A does not know any more what its claim was to be swapped from
	asRecorded  bool // a release that finds nothing there has nothing to end
	resigned    bool // a settle without a reply is not made again
}

// openState is one moment. What A does not know about its claim is as under
// Closed, but its handler has run, so the janitor's work is the settle.
type openState struct {
	janitorState
	a       openPhase
	outcome valueID    // how A's handler ended
	known   valueID    // what A takes to be in the store as an attempt to settle begins
	settle  modelActor // the attempt
	fails   uint8
	again   bool // B runs what A has run, and A's work was done before
}

type openPhase uint8

const (
	openAsks    openPhase = iota // A does not know whether it has claimed
	openRuns                     // and runs all the same
	openSettles                  // an attempt is out
	openFailed                   // its outcome is unknown, it will be made again
	openKept                     // the outcome is in the store
	openStale                    // another's record is
	openAstray                   // an attempt heard every reply and ended without knowing
	openGiven                    // broken: the claim went to the janitor
)

// openFails is how often an attempt to settle hears nothing.
const openFails = 1

// openModel is a janitorModel, for those parts that do not change.
type openModel struct {
	*janitorModel
	openRules
	guard *Guard
	won   *Claim // A's, as Claim.open left it
}

func newOpenModel(rules openRules) model[openState] {
	base := &janitorModel{janitorRules: janitorRules{over: rules.over, retake: rules.retake, looks: rules.looks}}
	s := openState{janitorState: base.begin()}
	m := &openModel{janitorModel: base, openRules: rules}
	var id *identity
	m.guard, id = modelGuard(Policy{OnOutage: Open})
	m.guard.store = &modelScript{v: m.modelValues, heard: make([]modelHeard, askTries)}
	m.won = &Claim{g: m.guard, id: id, start: modelEpoch}
	m.won.run = beginRun(m.won, context.Background())
	q, kind, old := inquiry{c: m.won, st: stepCreate, mine: m.mine}, OpCreate, []byte(nil)
	if m.meant != 0 {
		kind, old = OpSwap, m.bytes[m.meant]
	}
	q.claims(m.guard.clock.now(), kind, old)
	_, err := m.guard.ask(context.Background(), "claim", &q.op)
	q.hear(context.Background(), Result{}, err)
	if err == nil || !m.won.bare || m.id(m.won.known) != m.claim {
		panic("under Open a claim of unknown outcome does not run")
	}
	if rules.forgetful {
		m.won.meant = nil
	}
	m.won.bare = !rules.asRecorded
	return model[openState]{start: s, next: m.next, bad: m.bad, show: m.show, goals: m.goals()}
}

func (m *openModel) next(s openState, step func(string, openState)) {
	s.wire.arrivals(func(p modelPacket, after modelWire) {
		to := s
		to.wire = after
		done := to.put(p)
		what := "too late"
		if done {
			what = "done"
		}
		to.settle.answer(p, done, to.cell.value)
		if p.awaited && s.a == openGiven {
			to.job.call.answer(done, to.cell.value)
		}
		step("the store gets "+m.words[p.old]+"→"+m.words[p.value]+": "+what, to)
	})
	lift := func(what string, j janitorState) {
		to := s
		to.janitorState = j
		to.again = s.again || j.b != s.b && s.b == requestNone && s.over() && m.rec(s.outcome).state != StateReleased
		step(what, to)
	}
	m.ages(s.janitorState, lift)
	if m.moved && s.cell.value == m.meant {
		to, r := s, m.rec(m.meant)
		r.counter++
		to.put(modelPacket{old: m.meant, value: m.of(r)})
		step("another's janitor moves the tombstone on", to)
	}
	m.janitor(s.janitorState, lift)
	m.requestB(s.janitorState, lift)
	m.stepsOfA(s, step)
}

// over tells whether whoever had to see to A's claim is done with it.
func (s openState) over() bool {
	return s.a == openKept || s.a == openStale || s.job.phase == jobDone
}

func (m *openModel) stepsOfA(s openState, step func(string, openState)) {
	switch s.a {
	case openAsks:
		if s.asks < askTries {
			to := s
			to.asks++
			to.wire.send(modelPacket{m.meant, m.claim, false})
			step("A asks again", to)
		}
		s.a = openRuns
		step("A runs without a record", s)
	case openRuns:
		for _, out := range []Outcome{Completes, Releases, Doubts} {
			m.returns(s, out, step)
		}
	case openSettles:
		if s.fails < openFails {
			to := s
			to.fails++
			to.settle.hear(&to.wire, true)
			m.attempt("A hears nothing of its settle", to, step)
		}
		if s.settle.answered() {
			told := m.words[s.settle.reply.there]
			if s.settle.reply.how == heardDone {
				told = m.words[s.settle.value]
			}
			s.settle.hear(&s.wire, false)
			m.attempt("A's settle hears that "+told+" is there", s, step)
		}
	case openFailed:
		m.attempt("A's settle is made again", s, step)
	}
}

// returns: A's handler is over, and its outcome is encoded as core encodes it.
func (m *openModel) returns(s openState, out Outcome, step func(string, openState)) {
	m.won.last = 0
	target := m.won.target(out, Payload{Bytes: []byte("42")}, false)
	s.outcome, s.known = m.id(target.value), m.claim
	what := "A's handler ends as " + target.rec.state.String()
	if m.releases {
		s.a, s.job.phase = openGiven, jobOpen
		step(what+", its claim goes to the janitor", s)
		return
	}
	m.attempt(what, s, step)
}

// attempt is Claim.attempt with what it has heard so far. When it ends without
// knowing, what it takes to be in the store is where the next one begins.
func (m *openModel) attempt(what string, s openState, step func(string, openState)) {
	result, err := "", error(nil)
	m.won.known = m.bytes[s.known]
	p := &pending{value: m.bytes[s.outcome], rec: m.rec(s.outcome)}
	over := s.settle.play(m.guard, m.modelValues, &s.wire, func() {
		if m.onlyNothing {
			var res Result
			res, err = m.guard.call(context.Background(), "settle", 0, &Op{Kind: OpCreate, Value: p.value})
			if result = "stale"; res.Done || string(res.Value) == string(p.value) {
				result = "ok"
			}
			return
		}
		result, err = m.won.attempt(context.Background(), p, 0)
	})
	switch {
	case !over:
		s.a = openSettles
	case err != nil && !errors.Is(err, errModelSilence):
		s.a = openAstray
	case err != nil && !m.resigned:
		s.a, s.known = openFailed, m.id(m.won.known)
	case err != nil || result == "stale":
		s.a, what = openStale, what+": stale"
	default:
		s.a = openKept
	}
	if over && err == nil {
		s.known = m.claim // it plays no part any more
	}
	step(what, s)
}

func (m *openModel) bad(s openState) string {
	switch {
	case s.a == openAstray:
		return "P2: an attempt heard every reply, followed each, and came to no end"
	case s.again:
		return "I9: what A ran is run again, and A's work was done before"
	case s.over() && s.cell.value == m.claim && !s.wire.has(m.claim):
		return "I13: A's work is done, no copy is on its way, and a claim that nobody owns holds the key"
	case s.b != requestNone && s.cell.value != s.claimB:
		return "I3: what B claimed or left was written over"
	case s.a == openKept && s.b == requestNone && s.cell.value != s.outcome && !m.asRecorded:
		return "I3: A's outcome was written over"
	}
	return ""
}

func (m *openModel) goals() map[string]func(string, openState) bool {
	says := func(words string) func(string, openState) bool {
		return func(what string, _ openState) bool { return strings.Contains(what, words) }
	}
	goals := map[string]func(string, openState) bool{
		"the outcome takes the claim's place":         says("PROCESSING:A:0→SUCCEEDED:A:1: done"),
		"a release does":                              says("PROCESSING:A:0→RELEASED:A:1: done"),
		"doubt does":                                  says("PROCESSING:A:0→UNCERTAIN:A:1: done"),
		"a claim that lands under the settle is told": says("A's settle hears that PROCESSING:A:0 is there"),
		"a copy of A's claim is too late, and all is done": func(what string, s openState) bool {
			return strings.Contains(what, "→PROCESSING:A:0: too late") && s.a == openKept && s.wire == modelWire{}
		},
		"an attempt of unknown outcome is found to be done": func(what string, s openState) bool {
			return s.fails == openFails && s.a == openKept && strings.HasSuffix(what, "SUCCEEDED:A:1 is there")
		},
		"B claims what A released, and all is done": func(what string, s openState) bool {
			return what == "B claims over RELEASED:A:1" && s.a == openKept
		},
	}
	if m.openRules.retake {
		goals["B takes the claim over, and A is told"] = says("A's settle hears that PROCESSING:B:0 is there: stale")
	}
	meant := m.words[m.meant]
	goals["the outcome takes the place of "+meant] = says(meant + "→SUCCEEDED:A:1: done")
	switch m.openRules.over {
	case overNothing, overTombstone:
		goals["B claimed meanwhile, and A is told"] = says("A's settle hears that PROCESSING:B:0 is there: stale")
		goals["B ended meanwhile, and A is told"] = says("A's settle hears that SUCCEEDED:B:1 is there: stale")
	case overLapsed:
		goals["X settles late, and A is told"] = says("A's settle hears that SUCCEEDED:X:0 is there: stale")
	}
	return goals
}

var openPhases = [...]string{"asks", "runs", "settles", "will settle again", "is done", "is stale", "is astray", "has given its claim away"}

func (m *openModel) show(s openState) string {
	return m.janitorModel.show(s.janitorState) + fmt.Sprintf("  A %s (%s)", openPhases[s.a], m.words[s.outcome])
}

// wrongOnly goes past what else is wrong, to see whether that comes about too.
func wrongOnly[S comparable](m model[S], wrong string) model[S] {
	bad := m.bad
	m.bad = func(s S) string {
		if found := bad(s); strings.HasPrefix(found, wrong) {
			return found
		}
		return ""
	}
	return m
}

// TestModelJanitorOpen: a claim of unknown outcome under Open. The action runs,
// so what is written over the claim, over the nothing or the tombstone it may
// yet be made from, is what the action came to (PROTOCOL section 9).
func TestModelJanitorOpen(t *testing.T) {
	for _, over := range []claimedOver{overNothing, overTombstone} {
		name := [...]string{"over nothing", "over a tombstone"}[over]
		t.Run(name+", Hold", func(t *testing.T) { wantSafe(t, newOpenModel(openRules{over: over})) })
		t.Run(name+", Retake", func(t *testing.T) { wantSafe(t, newOpenModel(openRules{over: over, retake: true})) })
		for _, left := range []struct {
			out    string
			rules  openRules
			wrongs []string
		}{
			{"the janitor releases what it finds", openRules{releases: true, looks: true}, []string{"I9: ", "I13: "}},
			{"the janitor releases in any case", openRules{releases: true}, []string{"I9: "}},
			{"it settles only where nothing is there", openRules{onlyNothing: true}, []string{"I13: "}},
			{"it does not try again", openRules{resigned: true}, []string{"I9: ", "I13: "}},
		} {
			left.rules.over = over
			for _, wrong := range left.wrongs {
				t.Run(name+", broken: "+left.out+", "+wrong[:len(wrong)-2], func(t *testing.T) { wantBad(t, wrongOnly(newOpenModel(left.rules), wrong), wrong) })
			}
		}
	}
	t.Run("over a lapsed claim, Retake", func(t *testing.T) {
		wantSafe(t, newOpenModel(openRules{over: overLapsed, retake: true}))
	})
	t.Run("over a tombstone that another's janitor moves on", func(t *testing.T) {
		wantSafe(t, newOpenModel(openRules{over: overTombstone, moved: true}))
	})
	t.Run("broken: it forgets the tombstone", func(t *testing.T) {
		wantBad(t, wrongOnly(newOpenModel(openRules{over: overTombstone, forgetful: true}), "I9: "), "I9: ")
	})
	t.Run("broken: a release writes nothing where nothing is", func(t *testing.T) {
		wantBad(t, newOpenModel(openRules{asRecorded: true}), "I13: ")
	})
}
