package idem

import (
	"testing"
	"time"
)

// TestJudgement is the table of PROTOCOL section 4, row by row.
func TestJudgement(t *testing.T) {
	same, other := Fingerprint{Version: 1, Sum: [15]byte{1}}, Fingerprint{Version: 1, Sum: [15]byte{2}}
	strange := Fingerprint{Version: 9, Sum: [15]byte{1}}
	rec := func(s State, flags byte) record {
		return record{state: s, flags: flags, fp: same, lease: 10, t0: 3600, fence: 5}
	}
	at := func(r record, spent time.Duration) found {
		return found{value: []byte{1}, left: r.retention() - spent, rec: r}
	}
	answered := func(s State, partial bool) found {
		r := rec(s, 0)
		r.answered, r.payload.Partial = true, partial
		return at(r, 0)
	}
	running, lapsed := time.Second/2, time.Second
	key := asker{bound: true, provable: true, fp: same}
	live := asker{token: true, bound: true, provable: true, fp: same}
	expired := live
	expired.expired = true
	lostCard := expired
	lostCard.provable = false
	unbound, unboundOld := live, lostCard
	unbound.bound, unboundOld.bound = false, false
	with := func(a asker, fp Fingerprint) asker { a.fp = fp; return a }
	retake := func(a asker) asker { a.retake = true; return a }

	for _, row := range []struct {
		name    string
		asker   asker
		found   found
		step    step
		verdict Verdict
	}{
		{"nothing, a client key", key, found{}, stepCreate, 0},
		{"nothing, a live token", live, found{}, stepCreate, 0},
		{"nothing, an expired token", expired, found{}, stepBury, 0},
		{"nothing, an expired token nobody can vouch for", lostCard, found{}, stepAnswer, Forgotten},
		{"nothing, binding failed", unbound, found{}, stepAnswer, Foreign},
		{"nothing, binding failed, nobody can vouch", unboundOld, found{}, stepAnswer, Forgotten},
		{"processing, time left not told", key, found{value: []byte{1}, rec: rec(StateProcessing, 0)}, stepLook, 0},
		{"processing, lease running", key, at(rec(StateProcessing, 0), running), stepWait, 0},
		{"processing, lease running, other request", with(key, other), at(rec(StateProcessing, 0), running), stepAnswer, Conflict},
		{"processing, lease running, binding failed", unbound, at(rec(StateProcessing, 0), running), stepWait, 0},
		{"processing, lapsed, hold", key, at(rec(StateProcessing, 0), lapsed), stepAnswer, Uncertain},
		{"processing, lapsed, hold, other request", with(key, other), at(rec(StateProcessing, 0), lapsed), stepAnswer, Conflict},
		{"processing, lapsed, retake", retake(key), at(rec(StateProcessing, 0), lapsed), stepTake, 0},
		{"processing, lapsed, retake, expired token", retake(expired), at(rec(StateProcessing, 0), lapsed), stepTake, 0},
		{"processing, lapsed, retake, other request", retake(with(key, other)), at(rec(StateProcessing, 0), lapsed), stepAnswer, Conflict},
		{"processing, lapsed, retake, version not known", retake(with(key, strange)), at(rec(StateProcessing, 0), lapsed), stepAnswer, Uncertain},
		{"processing, lapsed, retake, binding failed", retake(unbound), at(rec(StateProcessing, 0), lapsed), stepAnswer, Uncertain},
		{"processing, lapsed, retake, effects", retake(key), at(rec(StateProcessing, flagEffects), lapsed), stepAnswer, Uncertain},
		{"processing, lapsed, reserved", key, at(rec(StateProcessing, flagReserved), lapsed), stepTake, 0},
		{"processing, lapsed, reserved, other request", with(key, other), at(rec(StateProcessing, flagReserved), lapsed), stepTake, 0},
		{"processing, lapsed, reserved, binding failed", unbound, at(rec(StateProcessing, flagReserved), lapsed), stepAnswer, Foreign},
		{"processing, the store's time left more than was given", key, at(rec(StateProcessing, 0), -time.Second), stepWait, 0},
		{"uncertain", key, at(rec(StateUncertain, 0), 0), stepAnswer, Uncertain},
		{"uncertain, other request", with(key, other), at(rec(StateUncertain, 0), 0), stepAnswer, Conflict},
		{"succeeded, answer kept", key, answered(StateSucceeded, false), stepAnswer, Replayed},
		{"succeeded, empty answer kept", key, answered(StateSucceeded, false), stepAnswer, Replayed},
		{"succeeded, answer not kept", key, answered(StateSucceeded, true), stepAnswer, Used},
		{"succeeded, expired token", expired, answered(StateSucceeded, false), stepAnswer, Replayed},
		{"succeeded, token nobody can vouch for", lostCard, answered(StateSucceeded, false), stepAnswer, Replayed},
		{"succeeded, binding failed", unbound, answered(StateSucceeded, false), stepAnswer, Replayed},
		{"succeeded, other request", with(key, other), answered(StateSucceeded, false), stepAnswer, Conflict},
		{"succeeded, version not known", with(key, strange), answered(StateSucceeded, false), stepAnswer, Replayed},
		{"failed, answer kept", key, answered(StateFailed, false), stepAnswer, Replayed},
		{"released", key, at(rec(StateReleased, 0), 0), stepTake, 0},
		{"released, other request", with(key, other), at(rec(StateReleased, 0), 0), stepTake, 0},
		{"released, expired token", expired, at(rec(StateReleased, 0), 0), stepTake, 0},
		{"released, token nobody can vouch for", lostCard, at(rec(StateReleased, 0), 0), stepTake, 0},
		{"released, binding failed", unbound, at(rec(StateReleased, 0), 0), stepAnswer, Foreign},
		{"buried by expiry", expired, at(rec(StateBuried, 0), 0), stepAnswer, Dead},
		{"buried by expiry, nobody can vouch", lostCard, at(rec(StateBuried, 0), 0), stepAnswer, Forgotten},
		{"buried by expiry, binding failed", unbound, at(rec(StateBuried, 0), 0), stepAnswer, Foreign},
		{"buried by discard", live, at(rec(StateBuried, flagDiscarded), 0), stepAnswer, Foreign},
	} {
		t.Run(row.name, func(t *testing.T) {
			step, verdict := judgeOf(row.asker, row.found)
			if step != row.step || verdict != row.verdict {
				t.Errorf("judged step %d, verdict %q; want step %d, verdict %q", step, verdict, row.step, row.verdict)
			}
		})
	}
}

func TestP12_UnreadableAndNewerRecordsAreHeld(t *testing.T) {
	good := record{state: StateSucceeded, lease: 10, t0: 3600}
	newer, cut, strange := good.append(nil), good.append(nil), good.append(nil)
	newer[0] = 2<<4 | newer[0]&0x0f
	cut = cut[:headSize-1]
	strange[0] = recordVersion<<4 | 9 // a state of a later release
	for name, value := range map[string][]byte{"newer": newer, "cut": cut, "strange state": strange, "text": []byte("OK")} {
		step, verdict := judgeOf(asker{bound: true, provable: true, retake: true}, readFound(Result{Value: value, Left: time.Second}))
		if step != stepAnswer || verdict != Uncertain {
			t.Errorf("%s: step %d, verdict %q; want it held as uncertain", name, step, verdict)
		}
	}
}

func TestI2_ATakeOverRaisesTheFence(t *testing.T) {
	old := record{state: StateProcessing, fence: 1 << 40}
	for _, now := range []uint64{1, 1 << 40, 1<<40 + 5} { // the clock may be behind
		got := taken(found{value: []byte{1}, rec: old}, record{fence: now})
		if got.fence <= old.fence || got.fence < now {
			t.Errorf("clock says %d, record has %d: fence %d does not grow", now, old.fence, got.fence)
		}
		if got.flags&flagTakenOver == 0 {
			t.Error("a claim that follows a lapsed one does not say so")
		}
	}
}

// judgeOf is judge, of values.
func judgeOf(a asker, f found) (step, Verdict) { return judge(&a, &f) }
