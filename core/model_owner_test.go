package idem

import (
	"time"
)

// modelOwner turns the numbers of a model's owner into a real Claim and back, so
// that renewals are made, accepted and followed, and deadlines reckoned, by the
// code that does so in a running guard. One claim serves one step: nothing of it
// outlives the step but what is kept in the state.
type modelOwner struct {
	*modelValues
	guard *Guard
	id    *identity
	now   time.Time
}

func newModelOwner(v *modelValues) *modelOwner {
	o := &modelOwner{modelValues: v}
	o.guard = &Guard{clock: newClock(func() time.Time { return o.now }), describe: Description{MaxValue: 1 << 20}}
	p := &Policy{Lease: leaseTicks * modelTick, Retention: modelRetention}
	o.id = &identity{op: &operation{policy: p, margin: leaseMargin * modelTick}}
	return o
}

// claim is the claim of that owner at that moment.
func (o *modelOwner) claim(now int8, a *leaseOwner) *Claim {
	o.now = modelTime(now)
	c := &Claim{g: o.guard, id: o.id, last: uint16(a.last), marked: a.marked, deadline: modelTime(a.deadline)}
	if a.known != 0 {
		c.won, c.known, c.rec = true, o.bytes[a.known], o.rec(a.known)
	}
	for _, s := range a.sends {
		if s != (modelSend{}) {
			c.sends = append(c.sends, send{uint16(s.counter), modelTime(s.first)})
		}
	}
	if a.renewal.value != 0 {
		value := o.bytes[a.renewal.value]
		c.pending = &pending{value: value, rec: o.rec(a.renewal.value), first: modelTime(a.first)}
	}
	return c
}

// keep puts what the claim knows now back into the numbers. Of a claim that is
// being settled only what is known to be there still matters.
func (o *modelOwner) keep(c *Claim, a *leaseOwner) {
	a.known = o.modelValues.id(c.known)
	a.first = 0
	if c.pending == nil {
		a.renewal, a.lastSend = modelCall{}, 0
	} else {
		a.first = modelTicks(c.pending.first)
	}
	if a.phase == ownerSettling {
		return
	}
	a.last, a.marked, a.deadline = uint8(c.last), c.marked, modelTicks(c.deadline)
	a.sends = [3]modelSend{}
	for i, s := range c.sends {
		a.sends[i] = modelSend{uint8(s.counter), modelTicks(s.first)}
	}
}
