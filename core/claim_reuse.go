package idem

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
)

// claims are used again where nobody can have kept one: see recycle.
var claims = sync.Pool{New: func() any { return new(Claim) }}

// recycle gives back a claim of [Do] that is over. Its callers get the answer and
// never the claim, so it is nobody's to hold any more, save where
//
//   - its run handed it out, or may be about to: see runContext.part;
//   - another request of this process found it, by its record or in a look-out;
//   - a renewal, a mark or the janitor is at work on it, or it lost its record;
//   - a hook, an authorizer or an auditor was told of it;
//   - a call of the store had no known outcome: its value may still be on its way.
//
// Those are left to the collector.
func (c *Claim) recycle() {
	if c.unsure || c.hooked != nil || c.audited != nil || c.out.Load() != nil {
		return
	}
	if c.won && (c.bare || !c.unseen || !c.unkept || !c.told || c.holding || !c.run.part()) {
		return
	}
	scratch := c.scratch
	if c.won {
		scratch = c.final.value
	}
	*c = Claim{}
	if cap(scratch) <= maxClaimScratch {
		c.scratch = scratch[:0]
	}
	claims.Put(c)
}

// maxClaimScratch is the most room for a value, in bytes, that a claim keeps for
// its next use.
const maxClaimScratch = 4 << 10

// newOwner is a nonce that no other request has, here or anywhere. It is no
// secret: it never leaves the store, and whoever can write there needs none. So
// it comes from the runtime's own generator, seeded by the system for each
// thread, at about a third of what asking the system each time costs.
func newOwner() (o owner) {
	binary.LittleEndian.PutUint64(o[:], rand.Uint64())
	binary.LittleEndian.PutUint32(o[8:], rand.Uint32())
	return o
}
