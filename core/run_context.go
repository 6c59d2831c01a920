package idem

import (
	"context"
	"sync"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// runContext is the context of a handler: cut loose from the connection
// (PROTOCOL P7), ended by the loss of the claim, MaxRun or Close.
//
// Most handlers of memory and of a millisecond never ask when it ends. So the
// context that can be waited for is made when somebody first asks for more than
// whether it has ended; until then an end is only noted down.
//
// It is the one thing of a claim that a handler can keep for longer than its run,
// so it is no part of the claim: a claim of [Do] that ended is used again, its
// context never is.
//
// It is kept small (96 bytes), as every run allocates one.
type runContext struct {
	mu      sync.Mutex
	claim   *Claim          // nil once it is used again
	parent  context.Context // of the request; its values stay
	whole   *wholeContext   // nil until it is needed
	left    remains         // of a claim that is used again
	verdict Verdict         // of such a claim
	lent    bool            // somebody may hold the claim
	ended   bool            // of one without whole: it is cancelled
}

// wholeContext is one that can be waited for.
type wholeContext struct {
	context.Context
	cancel context.CancelCauseFunc // nil of the request's own
	why    error                   // it has ended: the cause
}

// remains are what the context of a run still answers with when its claim is used
// again.
type remains struct {
	op    *operation
	name  string
	fp    Fingerprint
	fence uint64
}

type runKey struct{}

// beginRun makes the context of a run that its connection cannot end.
func beginRun(c *Claim, parent context.Context) *runContext {
	return &runContext{claim: c, parent: parent}
}

// attachRun makes the context of a run that its connection ends, too.
func attachRun(c *Claim, parent context.Context) *runContext {
	return &runContext{claim: c, whole: newWholeContext(parent)}
}

// lendRun makes the context of a run that is none of the guard's business.
func lendRun(c *Claim, parent context.Context) *runContext {
	return &runContext{claim: c, whole: &wholeContext{Context: parent}}
}

func newWholeContext(parent context.Context) *wholeContext {
	w := new(wholeContext)
	w.Context, w.cancel = context.WithCancelCause(parent)
	return w
}

// lend returns the claim to somebody who may keep it: it is not used again. Of a
// claim that is, the lender gets another that has ended like it.
func (r *runContext) lend() *Claim {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lent = true
	if r.claim == nil {
		was := r.left
		r.claim = &Claim{
			g: was.op.guard, id: &identity{op: was.op, name: was.name, bound: true}, fp: was.fp, rec: record{fence: was.fence, fp: was.fp}, verdict: r.verdict,
			position: -1, won: true, ended: true, run: r,
		}
		r.claim.quiet.L = &r.claim.mu
	}
	return r.claim
}

// recorded is [Claim.Recorded] of its claim. Only what has a record is used again.
func (r *runContext) recorded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.claim == nil || r.claim.Recorded()
}

// endAndPart ends it as a run ends that was settled, and tells whether it let go of
// the claim, so that it can be used again.
func (r *runContext) endAndPart() bool {
	r.mu.Lock()
	whole := r.whole
	r.ended = r.ended || whole == nil
	parted := r.part()
	r.mu.Unlock()
	if whole != nil {
		r.end(context.Canceled)
	}
	return parted
}

// part lets go of the claim. It fails where somebody may hold it. r.mu is held.
func (r *runContext) part() bool {
	c := r.claim
	if r.lent && !broken.Is(broken.I1ClaimUsedAgain) { // and whoever has it may be at work on it
		return false
	}
	if !c.alone() {
		return false
	}
	if broken.Is(broken.I1ClaimUsedAgain) {
		return true
	}
	r.left, r.verdict = remains{c.id.op, c.id.name, c.rec.fp, c.rec.fence}, c.verdict
	r.claim = nil
	return true
}

// made is the context that can be waited for.
func (r *runContext) made() *wholeContext {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.make()
}

// make is made for who holds r.mu.
func (r *runContext) make() *wholeContext {
	if r.whole == nil {
		r.whole = newWholeContext(context.WithoutCancel(r.parent))
		if r.ended {
			r.whole.why = context.Canceled
			r.whole.cancel(context.Canceled)
		}
	}
	return r.whole
}

// end ends it; the first cause stays.
func (r *runContext) end(why error) {
	if r == nil { // it was never begun
		return
	}
	r.mu.Lock()
	if r.whole == nil && (r.ended || why == context.Canceled) {
		r.ended = true
		r.mu.Unlock()
		return
	}
	whole := r.make()
	if whole.why == nil {
		whole.why = why
	}
	why = whole.why
	r.mu.Unlock()
	if whole.cancel != nil {
		whole.cancel(why)
	}
}

// Deadline is that of the request where its connection ends the run, else none.
func (r *runContext) Deadline() (time.Time, bool) {
	r.mu.Lock()
	whole := r.whole
	r.mu.Unlock()
	if whole == nil {
		return time.Time{}, false
	}
	return whole.Deadline()
}

// Done is closed when the run is to stop.
func (r *runContext) Done() <-chan struct{} { return r.made().Done() }

// Err says whether it is to stop.
func (r *runContext) Err() error {
	if r == nil { // it was never begun
		return nil
	}
	r.mu.Lock()
	whole, ended := r.whole, r.ended
	r.mu.Unlock()
	switch {
	case whole != nil:
		return whole.Err()
	case ended:
		return context.Canceled
	}
	return nil
}

// Value returns itself to this package, and else what the request's context
// holds. Package context asks by it for what can be waited for, too: what it
// would find in the request's context is a context (or nothing), and that
// question goes to the one that can be.
func (r *runContext) Value(key any) any {
	if _, ok := key.(runKey); ok {
		return r
	}
	r.mu.Lock()
	whole, parent := r.whole, r.parent
	r.mu.Unlock()
	if whole == nil {
		v := parent.Value(key)
		if !asksToWait(key, v) {
			return v
		}
		whole = r.made()
	}
	return whole.Value(key)
}
