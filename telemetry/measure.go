package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	idem "github.com/go-idem/idem/core"
)

// isMeasured tells whether something is measured of a step.
func isMeasured(kind idem.StepKind) bool {
	switch kind {
	case idem.StepAnswer, idem.StepObserve, idem.StepClaim, idem.StepWait, idem.StepRun, idem.StepSettle,
		idem.StepRenew, idem.StepIssue, idem.StepStore, idem.StepReconcile, idem.StepBatch,
		idem.StepLost, idem.StepDegraded:
		return true
	}
	return false
}

// took takes a duration, where a view has not left the instrument out.
func took(ctx context.Context, h metric.Float64Histogram, d time.Duration, set recorded) {
	if h.Enabled(ctx) {
		h.Record(ctx, d.Seconds(), set...)
	}
}

// measure takes what a step that is over tells.
func (t *Telemetry) measure(ctx context.Context, s *idem.Step, r *idem.StepResult) {
	switch s.Kind {
	case idem.StepStore:
		took(ctx, t.called, r.Elapsed, t.stores.get(s.Store).call(s.Call, r.Err))
		return
	case idem.StepDegraded:
		t.degraded(ctx, -1)
		return
	case idem.StepAnswer:
		if r.Verdict == 0 || r.Verdict > idem.Unguarded { // it could not be judged: its intent or the guard was wrong
			return
		}
	}
	o := t.operations.get(s.Operation)
	switch s.Kind {
	case idem.StepAnswer: // one count for its one verdict, and our own time
		one := o.requests[r.Verdict].get(s.Source)
		one.count.n.Add(1)
		took(ctx, t.overhead, max(0, r.Elapsed-r.Handler-r.Waited), one.overhead)
	case idem.StepObserve:
		o.observed.get(r.Observed).n.Add(1)
	case idem.StepClaim:
		took(ctx, t.claimed, r.Elapsed, o.bare)
		if r.TokenAge > 0 {
			took(ctx, t.tokenAge, r.TokenAge, o.bare)
		}
	case idem.StepWait:
		took(ctx, t.waited, r.Elapsed, o.bare)
	case idem.StepRun:
		took(ctx, t.handled, r.Elapsed, o.bare)
	case idem.StepSettle:
		t.settles(ctx, o, r)
	case idem.StepRenew:
		o.renewals.get(r.Result).n.Add(1)
		t.used(ctx, o, r.LeaseUsed)
	case idem.StepLost:
		o.losses().n.Add(1)
	case idem.StepIssue:
		o.issues.get(errorType(s, r)).n.Add(1)
	case idem.StepReconcile:
		o.held.get(r.Result).n.Add(1)
	case idem.StepBatch:
		if t.batches.Enabled(ctx) {
			t.batches.Record(ctx, int64(s.Items), o.bare...)
		}
	}
}

// used takes the share of a lease that was over, 0 where there is none.
func (t *Telemetry) used(ctx context.Context, o *operationSets, share float64) {
	if share > 0 && t.utilization.Enabled(ctx) {
		t.utilization.Record(ctx, share, o.bare...)
	}
}

func (t *Telemetry) settles(ctx context.Context, o *operationSets, r *idem.StepResult) {
	o.results.get(r.Result).n.Add(1)
	t.used(ctx, o, r.LeaseUsed)
	switch {
	case r.Reason != "":
		o.reasons.get(r.Reason).n.Add(1)
	case r.Skipped != "":
		o.skips.get(r.Skipped).n.Add(1)
	case r.Kept > 0:
		if t.kept.Enabled(ctx) {
			t.kept.Record(ctx, int64(r.Kept), o.bare...)
		}
	}
}

// storeFault is error.type of a call of the store that failed.
func storeFault(err error) string {
	if idem.IsTimeout(err) {
		return "timeout"
	}
	return "store"
}

// degraded counts an outage in by 1, and out by -1.
func (t *Telemetry) degraded(ctx context.Context, by int64) {
	to := "degraded"
	if by < 0 {
		to = "normal"
	}
	t.degrades.get(to).n.Add(1)
	t.degradedNow.Add(ctx, by, t.set(keyDegrade.String("degraded")))
}

// Flushed takes note of a pipeline that came back: hand it to a store that
// commits in groups.
//
//	redisstore.Options{…, OnFlush: func(f redisstore.Flush) { tel.Flushed("redis", f.LongestWait) }}
func (t *Telemetry) Flushed(store string, waited time.Duration) {
	if !t.measures {
		return
	}
	s := t.stores.get(store)
	s.flushes().n.Add(1)
	took(context.Background(), t.queued, waited, s.queued)
}

// WatchOptions say what is asked for when metrics are read.
type WatchOptions struct {
	// Census counts the guard's records by state each time, looking at so many at
	// most. 0 is 100,000 where the records are in this process's memory, which
	// takes about 0.1 s, and none elsewhere: see [idem.Guard.Census].
	Census int
	// Every is how old a census may be; 15 s if zero.
	Every time.Duration
	// AuditDrops returns how many audit events were dropped so far; nil where
	// nothing is audited.
	AuditDrops func() int64
}

// Watch measures what no step tells: the store's memory, the records by state and
// the oldest of them, and how long a run may take. Call stop before the guard is closed. One guard is watched
// once. Without an SDK for metrics it does nothing.
func (t *Telemetry) Watch(g *idem.Guard, o WatchOptions) (stop func(), err error) {
	if !t.measures {
		return func() {}, nil
	}
	if o.Census == 0 && g.Local() {
		o.Census = 100_000
	}
	if o.Every == 0 {
		o.Every = 15 * time.Second
	}
	w := &watcher{t: t, g: g, options: o}
	reg, err := t.meter.RegisterCallback(w.look, t.memory, t.evictions, t.auditDrops, t.records, t.oldest, t.limit)
	if err != nil {
		return nil, err
	}
	return func() {
		if err := reg.Unregister(); err != nil {
			otel.Handle(err)
		}
	}, nil
}

// watcher looks at one guard. A reader calls it one at a time; two readers do not.
type watcher struct {
	t       *Telemetry
	g       *idem.Guard
	options WatchOptions
	census  censusCache
}

func (w *watcher) look(ctx context.Context, to metric.Observer) error {
	store, m, ok := w.g.Measure()
	if ok && w.g.Local() {
		set := w.t.stores.get(store).observe
		to.ObserveInt64(w.t.memory, m.Memory, set...)
		to.ObserveInt64(w.t.evictions, m.Expired, set...)
	}
	for _, p := range w.g.Policies() {
		to.ObserveFloat64(w.t.limit, p.MaxRun.Seconds(), w.t.set(keyOperation.String(p.Operation)))
	}
	if w.options.AuditDrops != nil {
		to.ObserveInt64(w.t.auditDrops, w.options.AuditDrops(), w.t.set())
	}
	if w.options.Census <= 0 {
		return nil
	}
	for _, one := range w.census.of(ctx, w.g, w.options) {
		set := w.t.set(keyOperation.String(one.Operation), keyState.String(one.State.String()))
		to.ObserveInt64(w.t.records, one.Records, set)
		to.ObserveFloat64(w.t.oldest, one.Oldest.Seconds(), set)
	}
	return nil
}
