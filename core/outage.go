package idem

import (
	"context"
	"log/slog"
)

// opens tells whether this request may run although the store is out of reach:
// the policy says so, and nothing is known that stands in the way. An expired
// token never does: it may be buried (PROTOCOL T1).
func (c *Claim) opens(f found) bool {
	if c.looks || c.policy().OnOutage != Open || f.value != nil || c.seen.value != nil {
		return false
	}
	a := c.asker()
	return a.bound && !(a.token && a.expired)
}

// stillMeant tells whether what is there is still what a bare run's claim was
// to be swapped from: to the letter, or a release whose counter a janitor has
// moved on. Then the claim never came, and the outcome takes its place.
func (c *Claim) stillMeant(f found) bool {
	if c.meant == nil || f.unread != nil {
		return false
	}
	meant, err := decodeRecord(c.meant)
	moved := err == nil && f.rec.state == StateReleased && meant.state == StateReleased && f.rec.owner == meant.owner && f.rec.fence == meant.fence
	return moved || string(f.value) == string(c.meant)
}

// open wins a claim without a record. mine is what was sent, or would have
// been, and meant what it was to be swapped from: the claim may be in the store,
// or be on its way, so the outcome is written over all of these (PROTOCOL
// section 9). Until that is done this process answers repeats from the outcome
// it holds, and the operation's since has to be moved: nobody can tell from a
// missing record any more that nothing ran.
func (c *Claim) open(mine record, meant []byte) {
	c.won, c.bare, c.meant = true, true, meant
	c.rec, c.known = mine, mine.append(nil)
	c.due = c.g.clock.now().Add(c.lease / 3)
	c.withoutRecord()
}

// withoutRecord takes note of a run that leaves no record: since has to move.
func (c *Claim) withoutRecord() {
	c.g.counts.open.Add(1)
	c.g.degraded(true)
	c.id.op.card.disturbed.Add(1)
	select {
	case c.g.pokeCards <- struct{}{}:
	default:
	}
	c.g.log.LogAttrs(context.Background(), slog.LevelWarn, "run without a record: the store is out of reach and the policy is open", attrOperation(c), attrKey(c))
}
