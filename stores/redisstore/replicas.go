package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/broken"
)

// WaitReplicas has claims wait until replicas have them, too. A failover to a
// replica that has not loses the newest claims, and with them what they protect:
// waiting makes that rare, at the price of a round trip between the servers for
// each pipeline. It cannot make it impossible, because who is promoted is not
// asked whether it was among those that answered.
//
// Every claim has one of three outcomes: so many replicas have it in time; they
// have not, and the claim is accepted and marked ([idem.Result].Weak: the guard's
// observer and the record say so), counted in [Stats].Unsynced; or, with OrRefuse, it is refused with [ErrUnsynced], which a
// guard takes for an unknown outcome: it asks again, and its janitor releases.
// Renewals and settles do not wait, and hear nothing of a wait beside them: lost,
// they leave a claim that is held.
type WaitReplicas struct {
	// Replicas is how many must have a claim. 0 waits for none.
	Replicas int
	// Timeout is how long they have for it. 0 means DefaultWaitTimeout.
	Timeout time.Duration
	// OrRefuse refuses a claim that they do not have in time.
	OrRefuse bool
}

// DefaultWaitTimeout is WaitReplicas.Timeout where none is given.
const DefaultWaitTimeout = 100 * time.Millisecond

// ErrUnsynced is matched by the error of a claim that was written, but that too few
// replicas had in time. It is there, unless a failover loses it.
var ErrUnsynced = errors.New("redisstore: too few replicas have the claim")

func (w WaitReplicas) words() []any {
	return []any{"WAIT", w.Replicas, w.Timeout.Milliseconds()}
}

func (w WaitReplicas) check() error {
	switch {
	case w.Replicas < 0 || w.Timeout < 0:
		return fmt.Errorf("%w: WaitReplicas of %d within %v: neither is below zero", ErrOptions, w.Replicas, w.Timeout)
	case w.Timeout > 0 && w.Timeout < time.Millisecond:
		return fmt.Errorf("%w: WaitReplicas.Timeout of %v: WAIT counts in milliseconds, and 0 would be for ever", ErrOptions, w.Timeout)
	case w.Replicas == 0 && w != WaitReplicas{}:
		return fmt.Errorf("%w: WaitReplicas.Replicas is 0: say how many", ErrOptions)
	}
	return nil
}

// waits tells whether an operation is a claim that waits: by the step that a guard
// says it makes the operation for, or else its calls; without a guard it is every
// Create.
func (s *Store) waits(ctx context.Context, op *idem.Op) bool {
	if s.options.WaitReplicas.Replicas == 0 || op.Kind == idem.OpLoad {
		return false
	}
	step := op.Step
	if step == "" || broken.Is(broken.S9WaitByTheFirst) {
		step = idem.StoreStep(ctx)
	}
	return step == "claim" || step == "" && op.Kind == idem.OpCreate
}

// confirm says what a claim that was written is worth, by the WAIT behind it.
func (s *Store) confirm(r idem.Result, wait *command) (idem.Result, error) {
	if wait == nil || broken.Is(broken.S9WaitUnheard) {
		return r, nil
	}
	need := s.options.WaitReplicas
	got, err := wait.answer()
	if err == nil && got.kind == integer && got.n >= int64(need.Replicas) {
		return r, nil
	}
	s.unsynced.Add(1)
	if need.OrRefuse {
		return idem.Result{}, fmt.Errorf("%w: %d of %d within %v", ErrUnsynced, got.n, need.Replicas, need.Timeout)
	}
	r.Weak = true
	return r, nil
}
