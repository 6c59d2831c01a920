package idem

import (
	"context"
	"time"
)

// Hooks are the application's own functions that a guard calls around a claim
// and its settle; each may be nil, and one that is costs nothing. They are called
// of every intent whose key or token is good, in this order:
//
//	BeforeClaim → the run → BeforeSettle → AfterSettle → AfterVerdict
//
// where a refusal or a replay goes from BeforeClaim to AfterVerdict at once. An
// intent that is refused from its head alone (missing, malformed, foreign)
// reaches none: whoever sends forged tokens is not to make anybody work. One that
// comes after [Guard.Close] began reaches none either, nor does one that a policy's
// mode or share leaves unguarded. Under [ModeObserve] a run beside has nothing to
// settle: it reaches the first and the last.
//
// A hook watches, and may do one thing: turn an error into doubt. It cannot
// refuse an intent (that would be a verdict that no record knows of), release one
// or have one run. What goes wrong in a hook stays in it: one that panics is
// passed over, and one that takes longer than a second is given up; its context
// ends then, and what it still does or says plays no part. Both are logged and
// counted (Stats.HookFailures). While 64 that were given up have not returned, no
// further one is called.
//
// A hook runs in a goroutine of its own, many at once, and the request waits for
// it: it should be quick, and hand what takes long to somebody else. What it is
// told is good until its context ends.
type Hooks struct {
	// BeforeClaim is called before the store is asked about an intent. The values
	// of the context that it returns are those of the claim and of the run, behind
	// them those of ctx; a deadline or cancellation of it means nothing. Nil is
	// ctx.
	BeforeClaim func(ctx context.Context, in HookIntent) context.Context

	// BeforeSettle is called when a run has ended and before its outcome is
	// written. The lease is still renewed. ctx has the values of the run's, so
	// that [Note] and [ClaimFrom] work.
	BeforeSettle func(ctx context.Context, plan SettlePlan) SettleChange

	// AfterSettle is called when the outcome was written, or could not be yet,
	// before the answer leaves.
	AfterSettle func(ctx context.Context, s HookSettled)

	// AfterVerdict is called when an intent has its one verdict, before the answer
	// leaves. (An HTTP client that does not accept the kept answer as it is coded
	// is told used where this says replayed.)
	AfterVerdict func(ctx context.Context, v HookVerdict)
}

// HookIntent is what [Hooks.BeforeClaim] is told.
type HookIntent struct {
	Operation string
	Scope     string
	Record    string // the record's name, which holds a keyed hash and never the key: see KeyHash
	Source    string // where the key came from: token, header, json, form, path, func
	Force     bool   // it was asked for; whether it is granted is not decided yet
}

// SettlePlan is what [Hooks.BeforeSettle] is told.
type SettlePlan struct {
	Operation string
	Record    string
	Outcome   Outcome // what is to be written, by policy and by what the run said of itself
	// Value is what the run returned: over HTTP a *httpflow.Reply. Nil for a claim
	// by hand, and after a panic. Only look at it.
	Value any
	// Err is the error that the run returned; after a panic some error.
	Err     error
	Effects bool // effects were marked
	Fence   uint64
	Took    time.Duration // the run, by the guard's clock
}

// SettleChange is what a hook wants changed. The zero value changes nothing.
type SettleChange struct {
	// Doubt leaves a run in doubt that would be released or kept as a failure:
	// what the handler took for a refusal may have had an effect. A run that
	// completed is not put in doubt, and one in doubt stays there.
	Doubt bool
}

// HookSettled is what [Hooks.AfterSettle] is told.
type HookSettled struct {
	Operation string
	Record    string
	Outcome   Outcome
	Verdict   Verdict
	// Result says how the write went: ok; recreated, where the store had lost the
	// claim; stale, where it had gone to another, whose record was left as it is;
	// retry, where it is not known yet and goes on in the background.
	Result string
	Fence  uint64
}

// HookVerdict is what [Hooks.AfterVerdict] is told.
type HookVerdict struct {
	Operation string
	Record    string
	Source    string
	Verdict   Verdict
	Ran       bool   // the action ran now, for this very intent
	State     State  // of the record, where one was seen
	Fence     uint64 // 0 unless it ran
	Err       error  // what stood behind a refusal, nil where the verdict says it all
}

// set names the hooks that there are, for the start-up report.
func (h *Hooks) set() (names []string) {
	for _, hook := range []struct {
		name string
		set  bool
	}{
		{"before claim", h.BeforeClaim != nil}, {"before settle", h.BeforeSettle != nil},
		{"after settle", h.AfterSettle != nil}, {"after verdict", h.AfterVerdict != nil},
	} {
		if hook.set {
			names = append(names, hook.name)
		}
	}
	return names
}

// withHooks calls BeforeClaim and returns the context to go on with.
func (g *Guard) withHooks(ctx context.Context, in Intent) context.Context {
	h := g.hooks
	if h.BeforeClaim == nil {
		return ctx
	}
	told := HookIntent{Operation: in.Operation, Scope: in.Scope, Record: in.id.name, Source: in.Source, Force: in.Force}
	got, ok := contained(h, "before claim", in.id, ctx, func(ctx context.Context) context.Context { return h.BeforeClaim(ctx, told) })
	if !ok || got == nil {
		return ctx
	}
	return &hookedContext{ctx, context.WithoutCancel(got)}
}

// hookedContext is a context with the values that a hook has attached, and
// nothing else of the hook's.
type hookedContext struct {
	context.Context
	values context.Context
}

func (c *hookedContext) Value(key any) any {
	if v := c.values.Value(key); v != nil {
		return v
	}
	return c.Context.Value(key)
}

// hooked is what a claim keeps for its hooks.
type hooked struct {
	value any // what the run returned
	err   error
	asked bool // BeforeSettle was, or is being
	doubt bool // it wants the run left in doubt
}

// returned keeps what the run returned for the hook before its settle.
func (c *Claim) returned(v any, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hooked.value, c.hooked.err = v, err
}

// beforeSettle asks the hook about an outcome, once: it is false where another
// settle has begun.
func (c *Claim) beforeSettle(out Outcome, undone bool) bool {
	c.mu.Lock()
	if c.ended || c.hooked.asked {
		c.mu.Unlock()
		return false
	}
	c.hooked.asked = true
	plan := SettlePlan{
		Operation: c.policy().Operation, Record: c.id.name, Outcome: c.planned(out, undone), Value: c.hooked.value, Err: c.hooked.err,
		Effects: c.marked, Fence: c.rec.fence, Took: c.g.clock.since(c.start),
	}
	c.mu.Unlock()
	h := c.g.hooks
	if h.BeforeSettle == nil {
		return true
	}
	change, _ := contained(h, "before settle", c.id, c.run, func(ctx context.Context) SettleChange { return h.BeforeSettle(ctx, plan) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hooked.doubt = change.Doubt
	return true
}

// afterSettle tells the hooks what was written, and what became of the intent.
func (c *Claim) afterSettle(target *pending, result string) {
	h := c.g.hooks
	if h.AfterSettle != nil {
		told := HookSettled{
			Operation: c.policy().Operation, Record: c.id.name, Outcome: outcomeIn(target.rec.state), Verdict: c.Verdict(),
			Result: result, Fence: target.rec.fence,
		}
		contained(h, "after settle", c.id, c.run, func(ctx context.Context) struct{} { h.AfterSettle(ctx, told); return struct{}{} })
	}
	c.judged(c.run, target.rec.state)
}

// outcomeIn is the outcome that a settled record tells of.
func outcomeIn(s State) Outcome {
	switch s {
	case StateSucceeded:
		return Completes
	case StateFailed:
		return Fails
	case StateReleased:
		return Releases
	}
	return Doubts
}

// judged tells the hook the verdict of a claim.
func (c *Claim) judged(ctx context.Context, s State) {
	h := c.g.hooks
	if h.AfterVerdict == nil {
		return
	}
	told := HookVerdict{
		Operation: c.policy().Operation, Record: c.id.name, Source: c.source, Verdict: c.Verdict(), Ran: c.won,
		State: s, Fence: c.Fence(), Err: c.refusal,
	}
	contained(h, "after verdict", c.id, ctx, func(ctx context.Context) struct{} { h.AfterVerdict(ctx, told); return struct{}{} })
}
