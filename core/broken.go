package idem

import (
	"context"
	"time"
)

// What stands here runs only in test programs that break a rule on purpose: see
// internal/broken.

// touch is P6 broken: a refusal gives the record a new time to live.
func (c *Claim) touch(ctx context.Context, f found) {
	moved := f.rec
	moved.counter++
	_, _ = c.g.store.Swap(ctx, c.id.name, f.value, moved.append(nil), moved.retention())
}

// sendTorn is P1 broken: look, then write.
func (c *Claim) sendTorn(ctx context.Context, op *Op) (Result, error) {
	res, err := c.g.call(ctx, "claim", time.Second, &Op{Kind: OpLoad, Name: op.Name})
	if err != nil || (res.Value != nil && string(res.Value) != string(op.Old)) {
		return res, err
	}
	_, err = c.g.call(ctx, "claim", time.Second, op)
	return Result{Done: true}, err
}
