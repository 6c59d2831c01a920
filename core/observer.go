package idem

import (
	"context"
	"time"
)

// StepKind names a step of a request or of the guard's own work. A trace shows
// the same list.
type StepKind string

// The steps.
const (
	StepVerify StepKind = "verify" // key or token judged from the head alone
	StepClaim  StepKind = "claim"  // the record claimed, or what was found there
	StepWait   StepKind = "wait"   // waiting for another owner to finish
	StepRun    StepKind = "run"    // the handler, under a renewed lease
	StepRenew  StepKind = "renew"  // one renewal of a lease, or a mark
	StepSettle StepKind = "settle" // the end of a claim being written
	StepReplay StepKind = "replay" // a kept answer sent again
	StepIssue  StepKind = "issue"  // a token issued
	StepBury   StepKind = "bury"   // a token buried
	StepCard   StepKind = "card"   // an operation's card read or made
	StepMend   StepKind = "mend"   // the janitor writing over a claim of unknown outcome
	StepStore  StepKind = "store"  // one call of the store
	StepAnswer StepKind = "answer" // a whole request: ends with its one verdict
	// StepObserve is a request that ModeObserve lets run although it would have
	// been refused, or answered from a record: see StepResult.Observed.
	StepObserve StepKind = "observe"
	// StepReconcile is a held record being resolved: a root of its own.
	StepReconcile StepKind = "reconcile"
	// StepBatch is many intents being claimed together: see Step.Items.
	StepBatch StepKind = "batch"
	// StepLost is a run that lost its claim: it ends as it begins.
	StepLost StepKind = "lost"
	// StepDegraded lasts for as long as requests cannot be decided because the
	// store does not answer: see [Guard.InOutage].
	StepDegraded StepKind = "degraded"
)

var stepKinds = [...]StepKind{
	StepVerify, StepClaim, StepWait, StepRun, StepRenew, StepSettle, StepReplay, StepIssue,
	StepBury, StepCard, StepMend, StepStore, StepAnswer, StepObserve, StepReconcile,
	StepBatch, StepLost, StepDegraded,
}

// Step is what is known when a step begins.
type Step struct {
	Kind      StepKind
	Operation string
	Record    string // the record's name, which holds a keyed hash and never the key: see KeyHash
	Source    string // where the key came from: token, header, json, form, path, func, none
	Call      string // for StepStore: claim, renew, settle, bury, load or scan
	Store     string // for StepStore: Description.Name
	Items     int    // for StepStore: how many calls one exchange carries, 0 for a call alone; for StepBatch how many intents
	Attempt   int    // for repeated work: 1 is the first
	Link      []byte // for StepWait, StepReplay, StepObserve and StepReconcile: the traceparent kept by the run that did the work
}

// KeyHash returns the 16 hex digits by which telemetry knows a record, "" where
// the step is about none.
func (s *Step) KeyHash() string { return KeyHash(s.Record) }

// StepResult is what is known when it ends.
type StepResult struct {
	Verdict Verdict
	State   State // of the record, where one was seen
	// Result is, for StepSettle and StepRenew, ok, retry, stale, recreated or
	// abandoned; for StepReconcile succeeded, failed, released, later, moved,
	// gave-up, unavailable or error.
	Result  string
	Fence   uint64
	Err     error
	Elapsed time.Duration // by the guard's clock
	// Handler is, for StepAnswer, the part of Elapsed that the handler took.
	Handler time.Duration
	// Waited is, for StepAnswer, the part of Elapsed that it waited for another owner.
	Waited time.Duration
	// Observed is, for StepObserve, what the request would have been answered
	// with under ModeEnforce.
	Observed Verdict

	// TokenAge is, for StepClaim, how old the token was, 0 where there is none.
	TokenAge time.Duration
	// Lease is, for StepClaim, the lease that was claimed, 0 where none was.
	Lease time.Duration
	// OnDuplicate is, for StepClaim, what the policy says of duplicates.
	OnDuplicate Choice
	// Weak is, for StepClaim and StepSettle, that the store marked the claim, or this
	// write of its outcome, as weak: a failover may lose it (see Result.Weak).
	Weak bool
	// LeaseUsed is, for StepRenew and StepSettle, the share of the lease that was
	// over when it was written: about a third where renewals come through. 0 where
	// there is no lease.
	LeaseUsed float64
	// Reason is, for a StepSettle that released a run, why: validation, error, panic or
	// canceled.
	Reason string
	// Kept is, for a StepSettle that completed or failed, how many bytes of the
	// answer are kept. Skipped says why none are: store_limit, where they are more
	// than the store takes; error, where the run ended by one; unencodable; what a
	// [SkipCodec] says (over HTTP too_large or stream); not_kept for any other reason.
	Kept    int
	Skipped string
}

// Observer is told of every step: tracing, metrics and tests are built on it.
// Start may return a context with more in it (a span); the function it returns
// is called once when the step ends, and may be nil. An observer is called from
// many goroutines at once, must not block, and a panic of its is contained. See
// also [StepChooser].
type Observer interface {
	Start(ctx context.Context, s Step) (context.Context, func(StepResult))
}

// Observers returns an observer that tells all of list, in order.
func Observers(list ...Observer) Observer {
	kept := make([]Observer, 0, len(list))
	for _, o := range list {
		if o != nil {
			kept = append(kept, o)
		}
	}
	if len(kept) == 1 {
		return kept[0]
	}
	return observers(kept)
}

type observers []Observer

// Chooses what any of them chooses.
func (list observers) Chooses(kind StepKind) bool {
	for _, o := range list {
		if c, ok := o.(StepChooser); !ok || c.Chooses(kind) {
			return true
		}
	}
	return false
}

func (list observers) Start(ctx context.Context, s Step) (context.Context, func(StepResult)) {
	ends := make([]func(StepResult), 0, len(list))
	for _, o := range list {
		var end func(StepResult)
		if ctx, end = startContained(ctx, o, s); end != nil {
			ends = append(ends, end)
		}
	}
	return ctx, func(r StepResult) {
		for i := len(ends) - 1; i >= 0; i-- {
			endContained(ends[i], r)
		}
	}
}

// startContained calls an observer; its panic is its own. A nil end ends nothing.
func startContained(ctx context.Context, o Observer, s Step) (out context.Context, end func(StepResult)) {
	defer func() {
		if recover() != nil {
			out, end = ctx, nil
		}
	}()
	if out, end = o.Start(ctx, s); out == nil {
		out = ctx
	}
	return out, end
}

func endContained(end func(StepResult), r StepResult) {
	defer func() { _ = recover() }()
	end(r)
}

// StepChooser is the ability of an observer that looks at some kinds of steps
// only. It is asked once for each kind, when a guard is built; the steps it does
// not choose cost nothing.
type StepChooser interface{ Chooses(StepKind) bool }

// watch is an observer with the kinds it chose.
type watch struct {
	observer Observer
	beginner StepBeginner // observer, where it is one
	chosen   uint32       // a bit for each kind, by its place in stepKinds: none where nobody looks
}

func newWatch(o Observer) *watch {
	w := &watch{observer: o}
	w.beginner, _ = o.(StepBeginner)
	chooser, chooses := o.(StepChooser)
	for i, kind := range stepKinds {
		if o != nil && (!chooses || chooser.Chooses(kind)) {
			w.chosen |= 1 << i
		}
	}
	return w
}

// at says whether anybody looks at steps of a kind. It is asked several times a
// request.
func (w *watch) at(kind StepKind) bool {
	return w.chosen != 0 && w.chosen&(1<<kind.place()) != 0
}

// Watches says whether the guard's observer looks at steps of a kind.
func (g *Guard) Watches(kind StepKind) bool { return g.watch.at(kind) }

// StoreStep returns the step for which a guard makes this store call: claim,
// renew, settle, bury, load or scan, and "" outside such a call. A decorator
// that counts, times or disturbs calls reads it; it must then say so by
// [StepUser], because a guard leaves it out for stores in this process.
func StoreStep(ctx context.Context) string {
	s, _ := ctx.Value(storeStepKey{}).(string)
	return s
}

// WithStoreStep returns a context in which [StoreStep] is step. A store that
// calls other stores in its own goroutines hands it on with this.
func WithStoreStep(ctx context.Context, step string) context.Context {
	return context.WithValue(ctx, storeStepKey{}, step)
}

type storeStepKey struct{}

// StepUser is the ability of a decorator that reads [StoreStep].
type StepUser interface{ UsesStoreStep() bool }
