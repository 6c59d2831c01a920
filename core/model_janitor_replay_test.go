package idem

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// A claim, a settle and the janitor make their calls of the store one after the
// other, deep inside of functions. So that a model can stop there, let other
// things happen and go on, those functions are played again from their beginning
// at every step: a store that is only a script answers what was heard so far,
// and the first call beyond is the one that is out now. What decides is then
// Claim.decide, Claim.attempt and janitor.writeOver themselves.

// modelHeard is what became of one call, as its caller learns it.
type modelHeard struct {
	how    heardHow
	there  valueID
	lapsed bool // of a Load: the lease of what is there has run out
}

type heardHow uint8

const (
	heardNothing heardHow = iota // it timed out
	heardDone
	heardThere // what there is instead, or was found
	heardLoad
)

// modelHears bounds how many calls one function makes in a model.
const modelHears = 8

// modelActor is one that calls the store, from its own side.
type modelActor struct {
	heard [modelHears]modelHeard
	calls uint8      // how many of them are over
	out   bool       // the next is out
	do    OpKind     // what it does
	value valueID    // and what it writes
	reply modelHeard // on its way back, unless it says nothing
}

var errModelSilence = errors.New("model: no reply")

// notHeardYet leaves a function at the call that is out.
type notHeardYet struct{}

// modelScript is the store as a function that is played again sees it.
type modelScript struct {
	v     *modelValues
	heard []modelHeard
	out   *Op
}

func (s *modelScript) Create(_ context.Context, name string, value []byte, ttl time.Duration) (Result, error) {
	return s.call(Op{Kind: OpCreate, Name: name, Value: value, TTL: ttl})
}

func (s *modelScript) Swap(_ context.Context, name string, old, value []byte, ttl time.Duration) (Result, error) {
	return s.call(Op{Kind: OpSwap, Name: name, Old: old, Value: value, TTL: ttl})
}

func (s *modelScript) Load(_ context.Context, name string) (Result, error) {
	return s.call(Op{Kind: OpLoad, Name: name})
}

func (s *modelScript) call(op Op) (Result, error) {
	if len(s.heard) == 0 {
		s.out = &op
		panic(notHeardYet{})
	}
	h := s.heard[0]
	s.heard = s.heard[1:]
	r := Result{Done: h.how == heardDone}
	switch h.how {
	case heardNothing:
		return Result{}, errModelSilence
	case heardThere, heardLoad:
		r.Value = s.v.bytes[h.there]
	}
	if h.how == heardLoad && h.there != 0 {
		r.Left = s.v.leftOf(h.there, h.lapsed)
	}
	return r, nil
}

// leftOf is how long a value still has, as far as it matters whether its lease
// has run out.
func (v *modelValues) leftOf(id valueID, lapsed bool) time.Duration {
	r := v.rec(id)
	if lapsed {
		return r.retention() - r.leaseTime()
	}
	return r.retention()
}

// play plays do with what was heard so far. It tells whether do came to its end;
// otherwise the call that is out was sent.
func (a *modelActor) play(g *Guard, v *modelValues, w *modelWire, do func()) (over bool) {
	s := &modelScript{v: v, heard: a.heard[:a.calls]}
	g.store = s
	func() {
		defer func() {
			if r := recover(); r != nil && s.out == nil {
				panic(r)
			}
		}()
		do()
	}()
	if s.out == nil {
		*a = modelActor{}
		return true
	}
	a.out, a.do, a.value, a.reply = true, s.out.Kind, 0, modelHeard{}
	if s.out.Kind != OpLoad {
		a.value = v.id(s.out.Value)
		p := modelPacket{value: a.value, awaited: true}
		if s.out.Kind == OpSwap {
			p.old = v.id(s.out.Old)
		}
		w.send(p)
	}
	return false
}

// answer is the store's reply to a write, where it is this actor's that waits.
func (a *modelActor) answer(p modelPacket, done bool, there valueID) {
	switch {
	case !p.awaited || !a.out || a.value != p.value:
	case done:
		a.reply = modelHeard{how: heardDone}
	default:
		a.reply = modelHeard{how: heardThere, there: there}
	}
}

// reads tells whether the store has yet to answer a Load.
func (a *modelActor) reads() bool { return a.out && a.do == OpLoad && a.reply.how == heardNothing }

// answered tells whether there is a reply to be heard.
func (a *modelActor) answered() bool { return a.out && a.reply.how != heardNothing }

// hear takes the reply, silence where there is none.
func (a *modelActor) hear(w *modelWire, silence bool) {
	h := a.reply
	if silence {
		h = modelHeard{}
		if a.value != 0 {
			w.giveUp(a.value)
		}
	}
	if a.calls == modelHears {
		panic("the model makes more calls than it can remember")
	}
	a.heard[a.calls] = h
	a.calls++
	a.out, a.value, a.reply = false, 0, modelHeard{}
}

// modelGuard is the guard of one process, as far as claims, settles and the
// janitor need it. Its janitor has no goroutine: what is handed to it is read
// from its list.
func modelGuard(p Policy) (*Guard, *identity) {
	p.Lease, p.Retention = janitorLease*modelTick, modelRetention
	g := &Guard{
		clock: newClock(func() time.Time { return modelEpoch }), describe: Description{MaxValue: 1 << 20},
		watch: newWatch(nil), log: slog.New(slog.DiscardHandler),
	}
	g.janitor = &janitor{g: g, poke: make(chan struct{}, 1)}
	return g, &identity{op: &operation{standing: &standing{}, policy: &p}, name: "record", bound: true}
}
