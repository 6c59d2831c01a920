package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	idem "github.com/go-idem/idem/core"
)

// measured are the steps that something is measured of.
var measured = map[idem.StepKind]bool{
	idem.StepAnswer: true, idem.StepObserve: true, idem.StepClaim: true, idem.StepWait: true, idem.StepRun: true, idem.StepSettle: true,
	idem.StepRenew: true, idem.StepIssue: true, idem.StepStore: true, idem.StepReconcile: true, idem.StepBatch: true,
	idem.StepLost: true, idem.StepDegraded: true,
}

// measure takes what a step that is over tells.
func (t *Telemetry) measure(ctx context.Context, s *idem.Step, r *idem.StepResult) {
	took := r.Elapsed.Seconds()
	if s.Kind == idem.StepStore {
		t.called.Record(ctx, took, t.stores.get(s.Store).calls.get(s.Call).get(storeFault(r.Err)).record...)
		return
	}
	o := t.of(s.Operation)
	switch s.Kind {
	case idem.StepAnswer: // one count for its one verdict, and our own time, without the handler
		t.requests.Add(ctx, 1, o.requests.get(s.Source).get(r.Verdict.String()).add...)
		t.overhead.Record(ctx, max(0, r.Elapsed-r.Handler).Seconds(), o.verdict(r.Verdict).record...)
	case idem.StepObserve:
		t.observed.Add(ctx, 1, o.verdict(r.Observed).add...)
	case idem.StepClaim:
		t.claimed.Record(ctx, took, o.bare.record...)
		if r.TokenAge > 0 {
			t.tokenAge.Record(ctx, r.TokenAge.Seconds(), o.bare.record...)
		}
	case idem.StepWait:
		t.waited.Record(ctx, took, o.bare.record...)
	case idem.StepRun:
		t.handled.Record(ctx, took, o.bare.record...)
	case idem.StepSettle:
		t.settles(ctx, o, r)
	case idem.StepRenew:
		t.renewals.Add(ctx, 1, o.renewals.get(r.Result).add...)
		if r.LeaseUsed > 0 {
			t.utilization.Record(ctx, r.LeaseUsed, o.bare.record...)
		}
	case idem.StepLost:
		t.losses.Add(ctx, 1, o.bare.add...)
	case idem.StepIssue:
		t.issued.Add(ctx, 1, o.issues.get(errorType(*s, *r)).add...)
	case idem.StepReconcile:
		t.reconciled.Add(ctx, 1, o.held.get(r.Result).add...)
	case idem.StepBatch:
		t.batches.Record(ctx, int64(s.Items), o.bare.record...)
	}
}

func (t *Telemetry) settles(ctx context.Context, o *operationSets, r *idem.StepResult) {
	t.settled.Add(ctx, 1, o.results.get(r.Result).add...)
	if r.LeaseUsed > 0 {
		t.utilization.Record(ctx, r.LeaseUsed, o.bare.record...)
	}
	switch {
	case r.Reason != "":
		t.releases.Add(ctx, 1, o.reasons.get(r.Reason).add...)
	case r.Skipped != "":
		t.skips.Add(ctx, 1, o.skips.get(r.Skipped).add...)
	case r.Kept > 0:
		t.kept.Record(ctx, int64(r.Kept), o.bare.record...)
	}
}

// storeFault is error.type of a call of the store.
func storeFault(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "store"
}

// degraded counts an outage in, and out when it ends.
func (t *Telemetry) degraded(ctx context.Context) func(idem.StepResult) {
	turn := func(to string, by int64) {
		t.degradeChanges.Add(ctx, 1, t.series(keyDegrade.String(to)).add...)
		t.degradedNow.Add(ctx, by, t.series(keyDegrade.String("degraded")).add...)
	}
	turn("degraded", 1)
	return func(idem.StepResult) { turn("normal", -1) }
}

// Flushed takes note of a pipeline that came back: hand it to a store that
// commits in groups.
//
//	redisstore.Options{…, OnFlush: func(f redisstore.Flush) { tel.Flushed("redis", f.LongestWait) }}
func (t *Telemetry) Flushed(store string, waited time.Duration) {
	if !t.measures {
		return
	}
	set := t.stores.get(store).bare
	t.flushes.Add(context.Background(), 1, set.add...)
	t.queued.Record(context.Background(), waited.Seconds(), set.record...)
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
// the oldest of them. Call stop before the guard is closed. One guard is watched
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
	reg, err := t.meter.RegisterCallback(w.look, t.memory, t.evictions, t.auditDrops, t.records, t.oldest)
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
	if set := w.t.stores.get(store).bare; ok && w.g.Local() {
		to.ObserveInt64(w.t.memory, m.Memory, observe(set)...)
		to.ObserveInt64(w.t.evictions, m.Expired, observe(set)...)
	}
	if w.options.AuditDrops != nil {
		to.ObserveInt64(w.t.auditDrops, w.options.AuditDrops())
	}
	if w.options.Census <= 0 {
		return nil
	}
	for _, one := range w.census.of(ctx, w.g, w.options) {
		set := w.t.series(keyOperation.String(one.Operation), keyState.String(one.State.String()))
		to.ObserveInt64(w.t.records, one.Records, observe(set)...)
		to.ObserveFloat64(w.t.oldest, one.Oldest.Seconds(), observe(set)...)
	}
	return nil
}

func observe(s *series) []metric.ObserveOption {
	return []metric.ObserveOption{s.add[0].(metric.ObserveOption)}
}
