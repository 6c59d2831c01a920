package idem

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/go-idem/idem/internal/broken"
)

// claims are used again where nobody can have kept one: see recycle.
var claims = sync.Pool{New: func() any { return new(Claim) }}

// recycle gives back a claim of [Do] that is over. Its callers get the answer and
// never the claim, so it is nobody's to hold any more, save where
//
//   - its run handed it out, or may be about to: see endRun;
//   - it followed a record with a note, which its context still tells of;
//   - another request of this process found it, by its record or in a look-out;
//   - a renewal, a mark or the janitor is at work on it, or it lost its record;
//   - a hook, an authorizer or an auditor was told of it;
//   - a call of the store had no known outcome: its value may still be on its way.
//
// Those are left to the collector.
func (c *Claim) recycle() {
	if c.knownElsewhere() || c.won && !c.parted || c.unsure {
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

// knownElsewhere tells whether somebody has been told of the claim who may look at it.
func (c *Claim) knownElsewhere() bool {
	return c.hooked != nil || c.audited != nil || c.followed != "" || c.out.Load() != nil
}

// endRun ends the context of a run whose outcome is settled. A claim of Do that nobody
// else can know is parted from it, in the same step: from here on its Do alone has it.
func (c *Claim) endRun() {
	if !c.lone || c.bare || c.knownElsewhere() {
		c.run.end(context.Canceled)
	} else if c.run.endAndPart() {
		c.parted = true // written only by whom it is left to
	}
}

// alone tells whether nobody but its Do has to do with a claim that nobody holds.
// What it looks at last a renewal may still write to.
func (c *Claim) alone() bool {
	return c.unseen && c.unkept && c.told && !c.holding && !c.unsure
}

// maxClaimScratch is the most room for a value, in bytes, that a claim keeps for
// its next use.
const maxClaimScratch = 4 << 10

// newClaim is the claim of an intent that was verified.
func (g *Guard) newClaim(ctx context.Context, in Intent) *Claim {
	c := claims.Get().(*Claim)
	g.fill(ctx, c, &in)
	return c
}

// fill makes c the claim of an intent that was verified.
func (g *Guard) fill(ctx context.Context, c *Claim, in *Intent) {
	c.g, c.id, c.fp, c.again, c.trace, c.source, c.patience, c.position = g, in.id, in.Fingerprint, in.Refingerprint, packTrace(in.Trace), in.Source, in.Wait, -1
	if g.audit != nil {
		c.audited = g.audits(in.id, in.Scope, in.Client)
	}
	if in.Note != "" {
		c.note = []byte(in.Note)
	}
	if in.Force && c.policy().OnDuplicate == Force {
		asked := *in
		if !broken.Is(broken.I1IdentityLent) {
			asked.id = nil // whoever is asked may keep the intent; who it is lies in a claim that is used again
		}
		c.force = g.mayForce(ctx, asked)
	}
	c.nonce = newOwner()
	if broken.Is(broken.P9RecomputedName) {
		c.id.name = g.names.keyRecord(g.prefix, in.Operation, in.Scope, fmt.Sprint(in.Key, c.nonce))
	}
}

// newOwner is a nonce that no other request has, here or anywhere. It is no
// secret: it never leaves the store, and whoever can write there needs none. So
// it comes from the runtime's own generator, seeded by the system for each
// thread, at about a third of what asking the system each time costs.
func newOwner() (o owner) {
	binary.LittleEndian.PutUint64(o[:], rand.Uint64())
	binary.LittleEndian.PutUint32(o[8:], rand.Uint32())
	return o
}
