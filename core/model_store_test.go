package idem

import (
	"fmt"
	"strings"
	"time"
)

// What the models share: the clock in ticks, the encoded values, the one record
// of a store, and the wire to it.

// modelTick is the models' unit of time, the smallest that a lease is told in.
const modelTick = minLease

// modelRetention is the time to live of every value. No model runs that long.
const modelRetention = 100 * time.Second

var (
	modelEpoch = time.Unix(1_700_000_000, 0)
	modelPrint = Fingerprint{Version: 1, Sum: [15]byte{1}}
)

// modelTime is a moment of the models' one clock. That hosts and store may
// differ is no matter here: the owner measures by its own, the taker by the
// store's, and both are only ever subtracted from themselves.
func modelTime(tick int8) time.Time { return modelEpoch.Add(timeOf(tick)) }

func timeOf(ticks int8) time.Duration { return time.Duration(ticks) * modelTick }

func modelTicks(t time.Time) int8 { return int8(t.Sub(modelEpoch) / modelTick) }

// modelRecord is a record of the intent that all the models are about.
func modelRecord(who byte, s State, fence uint64, lease time.Duration) record {
	return record{
		state: s, owner: owner{who}, fence: fence, lease: uint16(lease / minLease),
		t0: uint32(modelRetention / time.Second), fp: modelPrint,
	}
}

// modelAsker is a request by a client's key, the same request each time.
func modelAsker(retake bool) asker {
	return asker{bound: true, provable: true, retake: retake, fp: modelPrint}
}

// valueID stands for an encoded value, so that states stay small and can be
// compared; 0 is no value.
type valueID uint8

// modelValues are the encoded values of one model, by the real codec.
type modelValues struct {
	bytes [][]byte
	words []string // the same in words
	ids   map[string]valueID
}

func newModelValues() *modelValues {
	return &modelValues{bytes: make([][]byte, 1), words: []string{"nothing"}, ids: map[string]valueID{}}
}

// id is the number of an encoded value.
func (v *modelValues) id(value []byte) valueID {
	if id, ok := v.ids[string(value)]; ok {
		return id
	}
	id := valueID(len(v.bytes))
	if id == 0 {
		panic("the model makes more values than it can number")
	}
	v.bytes, v.words = append(v.bytes, value), append(v.words, inWords(readFound(Result{Value: value}).rec))
	v.ids[string(value)] = id
	return id
}

// of encodes a record.
func (v *modelValues) of(r record) valueID { return v.id(r.append(nil)) }

// found is what a store that holds this value tells, read as core reads it.
func (v *modelValues) found(id valueID, left time.Duration) found {
	if id == 0 {
		return found{}
	}
	return readFound(Result{Value: v.bytes[id], Left: left})
}

// rec is a value decoded.
func (v *modelValues) rec(id valueID) record { return v.found(id, 0).rec }

// inWords tells a record by its state, owner and change counter.
func inWords(r record) string {
	words := fmt.Sprintf("%s:%c:%d", strings.ToUpper(r.state.String()), r.owner[0], r.counter)
	if r.flags&flagEffects != 0 {
		words += "+effects"
	}
	return words
}

// modelCell is what a store holds under one name: a value, and when it was
// written there.
type modelCell struct {
	value valueID
	since int8
}

// left is how long the value still has, as a store tells it.
func (c modelCell) left(now int8) time.Duration {
	return modelRetention - timeOf(now-c.since)
}

// apply is Create (old is 0) or Swap as the contract has them. A value that is
// there already is a Swap's own retry: done, and its time is left as it is.
func (c *modelCell) apply(p modelPacket, now int8) (done bool) {
	switch c.value {
	case p.old:
		*c = modelCell{p.value, now}
		return true
	case p.value:
		return p.old != 0
	}
	return false
}

// modelPacket is a Create (old is 0) or a Swap on its way to the store. One
// that its caller gave up on may arrive all the same, at any time, but its
// reply is not heard any more.
type modelPacket struct {
	old, value valueID
	awaited    bool
}

// modelWire is what is on its way, in no particular order: sorted, so that two
// orders of sending are one state.
type modelWire [8]modelPacket

func (p modelPacket) weight() int {
	w := int(p.old)<<9 | int(p.value)<<1
	if p.awaited {
		w++
	}
	return w
}

// send puts a packet on its way.
func (w *modelWire) send(p modelPacket) {
	for i := range w {
		if w[i].weight() < p.weight() {
			w[i], p = p, w[i]
		}
	}
	if p.value != 0 {
		panic("the model sends more than its wire holds")
	}
}

// take removes the packet at i.
func (w *modelWire) take(i int) modelPacket {
	p := w[i]
	copy(w[i:], w[i+1:])
	w[len(w)-1] = modelPacket{}
	return p
}

// giveUp says that nobody waits any more for the reply to that value.
func (w *modelWire) giveUp(value valueID) {
	for i := range w {
		if p := w[i]; p.value == value && p.awaited {
			w.take(i)
			p.awaited = false
			w.send(p)
			return
		}
	}
}

// forget drops what nobody waits for, where its arrival can change nothing any
// more.
func (w *modelWire) forget() {
	for i := len(w) - 1; i >= 0; i-- {
		if p := w[i]; p.value != 0 && !p.awaited {
			w.take(i)
		}
	}
}

// arrivals offers each different packet that can arrive next, with the wire
// after it.
func (w modelWire) arrivals(each func(p modelPacket, after modelWire)) {
	for i, p := range w {
		if p.value == 0 || i > 0 && p == w[i-1] {
			continue
		}
		after := w
		after.take(i)
		each(p, after)
	}
}

// has tells whether a packet with that value is still on its way.
func (w modelWire) has(value valueID) bool {
	for _, p := range w {
		if p.value == value {
			return true
		}
	}
	return false
}

// words is the wire in words.
func (w modelWire) words(v *modelValues) string {
	var on []string
	for _, p := range w {
		if p.value != 0 {
			on = append(on, v.words[p.old]+"→"+v.words[p.value])
		}
	}
	return "[" + strings.Join(on, " ") + "]"
}

// modelCall is one call from its sender's side: a value that is to be written
// and what is heard of it. The sender waits for the reply of its last send
// only, as a call that timed out is never heard again.
type modelCall struct {
	value   valueID // 0: there is nothing to write
	silent  uint8   // how often it was given up on
	awaited bool    // a send is out
	reply   modelReply
	told    valueID // what the store said is there instead
}

type modelReply uint8

const (
	replyPending modelReply = iota // not yet
	replyYes                       // done
	replyNo                        // told is there
)

// send writes value over old.
func (c *modelCall) send(w *modelWire, old valueID) {
	c.awaited, c.reply, c.told = true, replyPending, 0
	w.send(modelPacket{old, c.value, true})
}

// giveUp stops waiting.
func (c *modelCall) giveUp(w *modelWire) {
	w.giveUp(c.value)
	c.silent++
	c.awaited, c.reply, c.told = false, replyPending, 0
}

// answer is the store's, on its way back; it can be heard, late or never.
func (c *modelCall) answer(done bool, there valueID) {
	c.reply = replyYes
	if !done {
		c.reply, c.told = replyNo, there
	}
}

// hear takes the reply and says what core is told by it. What Create and Swap
// find there comes without the time it has left.
func (c *modelCall) hear(v *modelValues) (done bool, f found) {
	done, f = c.reply == replyYes, v.found(c.told, 0)
	c.awaited, c.reply, c.told = false, replyPending, 0
	return done, f
}
