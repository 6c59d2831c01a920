package idem

import (
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// This file holds the protocol's decisions as pure functions. Whoever talks to
// a store asks here what to do with what it was told, and so do the models.

// found is what a store says is under a record's name.
type found struct {
	value  []byte        // nil: nothing is there
	left   time.Duration // 0: not told
	rec    record
	unread error // why value cannot be read
	shared bool  // others read it, too: what is told of it is copied
}

// readFound reads what a store says, for those who ask whose it is. A sealed
// answer is held until somebody opens it: see Guard.read.
func readFound(r Result) found {
	f := found{value: r.Value, left: r.Left}
	f.decode()
	if f.unread == nil && f.rec.sealed {
		f.unread = errNoSealer
	}
	return f
}

// decode reads the value, and opens nothing.
func (f *found) decode() {
	if f.value != nil {
		f.unread = f.rec.decode(f.value)
	}
}

// asker is what decides about a request besides the record.
type asker struct {
	token    bool // the key is a token
	bound    bool // both MACs are right (always true of a client's key)
	expired  bool // the token's life is over
	provable bool // T1 (b): here "no record" proves "no run"
	retake   bool // onCrash
	force    bool // asked for, allowed by the policy, and authorised
	fp       Fingerprint
	at       time.Time // of a token: when its age was told, by the host's clock
	// earlier computes the request's fingerprint by an earlier choice, of this
	// version; nil or false where that cannot be done.
	earlier func(version byte) (Fingerprint, bool)
}

// step is what to do next about a record.
type step uint8

const (
	stepAnswer step = iota // the verdict is known
	stepCreate             // claim: create the record
	stepTake               // claim: swap what was found
	stepForce              // the same, over what would have refused it
	stepBury               // create BURIED
	stepLook               // load: the time left decides and was not told
	stepWait               // another owner is running it
)

// claims tells whether a step writes, so that one caller of a process takes it
// and the others wait for what comes of it.
func (st step) claims() bool {
	switch st {
	case stepCreate, stepTake, stepForce, stepBury:
		return true
	}
	return false
}

// judge is the table of PROTOCOL section 4.
func judge(a *asker, f *found) (step, Verdict) {
	switch {
	case f.value == nil:
		return judgeNothing(a)
	case f.unread != nil:
		if broken.Is(broken.P12UnreadableIsAbsent) {
			return stepTake, 0
		}
		return stepAnswer, Uncertain
	}
	same, other := compareFingerprints(a, f.rec.fp)
	grave := f.rec.state == StateBuried && !broken.Is(broken.S8ForceFromTheGrave)
	if a.force && a.bound && !other && !grave && f.rec.state != StateReleased {
		return stepForce, 0
	}
	switch f.rec.state {
	case StateProcessing:
		return judgeProcessing(a, f, same, other)
	case StateUncertain:
		if other {
			return stepAnswer, Conflict
		}
		return stepAnswer, Uncertain
	case StateSucceeded, StateFailed:
		if other {
			return stepAnswer, Conflict
		}
		if !f.rec.answered || f.rec.payload.Partial {
			return stepAnswer, Used
		}
		return stepAnswer, Replayed
	case StateReleased:
		if a.bound {
			return stepTake, 0
		}
		return stepAnswer, a.neverRun()
	}
	// BURIED.
	switch {
	case !a.bound:
		return stepAnswer, a.neverRun()
	case f.rec.flags&flagDiscarded != 0:
		return stepAnswer, Foreign
	case a.provable:
		return stepAnswer, Dead
	}
	return stepAnswer, Forgotten
}

func judgeNothing(a *asker) (step, Verdict) {
	switch {
	case !a.bound:
		return stepAnswer, a.neverRun()
	case a.token && a.expired && (a.provable || broken.Is(broken.T1DeadUnproved)):
		return stepBury, 0
	case a.token && a.expired:
		return stepAnswer, Forgotten
	}
	return stepCreate, 0
}

// neverRun is the verdict for a token whose binding failed and that has not
// run: foreign, unless nobody can tell whether it ran.
func (a *asker) neverRun() Verdict {
	if a.provable {
		return Foreign
	}
	return Forgotten
}

func judgeProcessing(a *asker, f *found, same, other bool) (step, Verdict) {
	if f.left == 0 {
		return stepLook, 0
	}
	if !f.rec.lapsed(f.left) {
		if other {
			return stepAnswer, Conflict
		}
		return stepWait, 0
	}
	if f.rec.flags&flagReserved != 0 {
		if a.bound {
			return stepTake, 0
		}
		return stepAnswer, Foreign
	}
	if other {
		return stepAnswer, Conflict
	}
	retake := a.retake && f.rec.flags&flagEffects == 0
	if broken.Is(broken.P13EffectsRetaken) {
		retake = a.retake
	}
	if broken.Is(broken.P13HoldRetaken) {
		retake = true
	}
	if retake && same && a.bound {
		return stepTake, 0
	}
	return stepAnswer, Uncertain
}

// compareFingerprints tells whether the request is certainly the same as the
// record's, or certainly another. Neither is certain where the record's
// version is one that this guard cannot compute: such a record is replayed or
// held, never run anew (PROTOCOL section 7).
func compareFingerprints(a *asker, kept Fingerprint) (same, other bool) {
	asked := a.fp
	if kept.Version != asked.Version && a.earlier != nil {
		if fp, ok := a.earlier(kept.Version); ok {
			asked = fp
		}
	}
	if kept.Version == asked.Version {
		return kept.Sum == asked.Sum, kept.Sum != asked.Sum
	}
	return false, false
}

// taken is the claim that follows f: the fence up, the fingerprint replaced.
func taken(f found, claim record) record {
	claim.fence = max(claim.fence, f.rec.fence+1)
	if broken.Is(broken.I2FenceStands) {
		claim.fence = f.rec.fence
	}
	if f.rec.state == StateProcessing {
		claim.flags |= flagTakenOver
		if f.rec.flags&flagReserved == 0 {
			claim.flags &^= flagReserved // a run may stand behind it: a crash must not hide that
		}
	}
	return claim
}

// reply is what an owner makes of the answer to its swap.
type reply uint8

const (
	replyDone  reply = iota // the value is in the store
	replyAgain              // ours, with another counter: swap from what is there
	replyGone               // nothing is there
	replyStale              // another's, or settled
)

// ownerHears is PROTOCOL P2: what is there is ours as long as it carries our
// nonce and fence and is PROCESSING or UNCERTAIN, whatever its counter. mine is
// looked at where it is: a repeat that is answered meanwhile opens its answer.
func ownerHears(mine *record, done bool, f found) reply {
	switch {
	case done:
		return replyDone
	case f.value == nil:
		return replyGone
	case f.unread == nil && f.rec.isOf(mine.owner, mine.fence) && !broken.Is(broken.P2LiteralSwap):
		return replyAgain
	case broken.Is(broken.I3StaleWrites):
		return replyAgain
	}
	return replyStale
}

// mending is what the janitor does about a claim of unknown outcome.
type mending uint8

const (
	mendDone   mending = iota // nothing of ours is there, nor can come
	mendSwap                  // swap what is there by the value given
	mendCreate                // create the value given
)

// mend is PROTOCOL section 9, "unknown outcome": the janitor writes, it does
// not look, so that a copy of the claim that is still on its way finds the
// place taken. mine is the claim, meant what it was to be swapped from (nil
// where it was created).
func mend(mine record, meant []byte, f found) (mending, record) {
	gone := mine
	gone.flags &^= flagReserved
	gone.state, gone.counter, gone.trace, gone.note = StateReleased, mine.counter+1, nil, nil
	if mine.flags&flagForced != 0 && !broken.Is(broken.S8ForcedMended) {
		gone.state = StateUncertain // it never ran, but what it was forced over may have had an effect
	}
	switch {
	case f.value == nil && meant == nil:
		if broken.Is(broken.S9JanitorLooks) {
			return mendDone, record{}
		}
		return mendCreate, gone
	case f.value == nil || f.unread != nil:
		return mendDone, record{}
	case f.rec.isOf(mine.owner, mine.fence):
		return mendSwap, gone
	case f.rec.state == StateReleased && string(f.value) == string(meant) && !broken.Is(broken.S9JanitorLooks):
		moved := f.rec
		moved.counter++
		return mendSwap, moved
	}
	return mendDone, record{}
}
