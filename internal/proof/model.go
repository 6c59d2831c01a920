package proof

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// kind is what happened to a record.
type kind uint8

const (
	claimed   kind = iota // the right to run was won
	marked                // a run marked its effects
	settled               // a run ended, as settle.to says
	stale                 // a run ended that was not the record's any more
	replayed              // the answer of a run was given again
	inFlight              // somebody was told that another is running it
	uncertain             // somebody was told that nobody knows
)

var kindWords = [...]string{"claim", "mark", "settle", "stale", "replay", "in-flight", "uncertain"}

// event is one thing that happened to a record, at one moment between two that
// are known.
type event struct {
	kind kind
	run  string // the run it is about: the request that it was made for
	// from and until are the nanoseconds between which it happened.
	from, until int64

	to    phase // of settled
	maybe bool  // of marked and settled: it may not have been written, or not yet
	// soft says of replayed that its run's client was answered before the outcome
	// was known to be written: its process answers repeats from what it holds,
	// even where another has taken over meanwhile (PROTOCOL P8).
	soft bool
	// excused says of in-flight that it proves nothing: a claim of unknown outcome
	// may have held the record, which no run and no answer tells of, or a run was
	// just being settled. Its own process goes on saying so until it has heard of
	// that, while others can read the outcome already.
	excused bool
}

// never is when something ends that may be yet to come.
const never = math.MaxInt64

// phase is the state of a record, as far as clients can tell.
type phase uint8

const (
	free  phase = iota // nothing there, or released
	held               // claimed by a run
	done               // its answer is kept
	doubt              // held until it is resolved
)

var phaseWords = [...]string{"free", "held", "done", "doubt"}

// state is one moment of a record.
type state struct {
	phase  phase
	run    string
	since  int64 // the earliest moment of the claim of held
	marked bool  // of held: a crash leaves it in doubt
}

// model is a record under Retake whose leases are at least so long. It is legal
// for a claim to follow a held one only where its lease may have run out, and its
// effects were not marked.
func model(lease time.Duration) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{}} },
		Step: func(s, in, _ any) []any { return next(s.(state), in.(event), lease) },
		DescribeOperation: func(in, _ any) string {
			e := in.(event)
			return kindWords[e.kind] + " " + e.run
		},
		DescribeState: func(s any) string { return fmt.Sprint(s) },
	}
	return m.ToModel()
}

// next is where an event can lead; nowhere, if it cannot be.
func next(s state, e event, lease time.Duration) (to []any) {
	ours := s.run == e.run
	lapsed := s.phase == held && e.until-s.since >= int64(lease)
	switch e.kind {
	case claimed:
		if s.phase == free || lapsed && !s.marked {
			to = append(to, state{phase: held, run: e.run, since: e.from})
		}
	case marked:
		if s.phase == held && ours {
			to = append(to, state{held, s.run, s.since, true})
		}
		if e.maybe {
			to = append(to, s)
		}
	case settled:
		switch {
		case s.phase == held && ours && e.to == free:
			to = append(to, state{})
		case s.phase == held && ours:
			to = append(to, state{phase: e.to, run: e.run})
		}
		if e.maybe {
			to = append(to, s)
		}
	case stale:
		if !ours {
			to = append(to, s)
		}
	case replayed:
		if s.phase == done && ours || e.soft {
			to = append(to, s)
		}
	case inFlight:
		if s.phase == held || e.excused {
			to = append(to, s)
		}
	case uncertain:
		if s.phase == doubt || lapsed && s.marked {
			to = append(to, s)
		}
	}
	return to
}

// patience bounds the search for an order of one key's events.
const patience = 20 * time.Second

// legal tells whether the events of one record can have happened one after the
// other. The error says that they cannot, or that no answer was found in time.
func legal(events []event, lease time.Duration) error {
	ops := make([]porcupine.Operation, len(events))
	for i, e := range events {
		ops[i] = porcupine.Operation{ClientId: i, Input: e, Call: e.from, Return: e.until}
	}
	switch porcupine.CheckOperationsTimeout(model(lease), ops, patience) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("no order of %d events was found within %v, nor that there is none", len(events), patience)
	}
	return errIllegal
}
