package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/metric"
)

// instruments are the metrics, each of them a row of docs/reference/metrics.md.
type instruments struct {
	requests, observed, settled, issued, releases counter
	losses, renewals, reconciled, skips, flushes  counter
	degradeChanges                                counter
	degradedNow                                   metric.Int64UpDownCounter
	overhead, claimed, waited, called, queued     metric.Float64Histogram
	tokenAge, utilization, handled                metric.Float64Histogram
	kept, batches                                 metric.Int64Histogram
	memory, records                               metric.Int64ObservableGauge
	oldest, limit                                 metric.Float64ObservableGauge
	evictions, auditDrops                         metric.Int64ObservableCounter
}

// Buckets. Our own time is microseconds in memory and some milliseconds over a
// network; handlers take from milliseconds to minutes.
var (
	ownBuckets     = []float64{5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1, 2.5, 5}
	storeBuckets   = []float64{1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1, 2.5}
	handlerBuckets = []float64{1e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}
	ageBuckets     = []float64{1, 5, 10, 30, 60, 120, 180, 300, 600, 900, 1800, 3600, 14400, 86400}
	shareBuckets   = []float64{0.1, 0.2, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}
	sizeBuckets    = []float64{0, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20}
	countBuckets   = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}
)

// make makes them all, and reports every one that could not be made.
func (i *instruments) make(m metric.Meter) error {
	var errs []error
	count := func(c *counter, name, unit, what string) {
		var err error
		c.instrument, err = m.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(what))
		errs = append(errs, err)
	}
	time := func(name, unit, what string, buckets []float64) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit(unit), metric.WithDescription(what), metric.WithExplicitBucketBoundaries(buckets...))
		errs = append(errs, err)
		return h
	}
	size := func(name, unit, what string, buckets []float64) metric.Int64Histogram {
		h, err := m.Int64Histogram(name, metric.WithUnit(unit), metric.WithDescription(what), metric.WithExplicitBucketBoundaries(buckets...))
		errs = append(errs, err)
		return h
	}
	gauge := func(name, unit, what string) metric.Int64ObservableGauge {
		g, err := m.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(what))
		errs = append(errs, err)
		return g
	}
	total := func(name, unit, what string) metric.Int64ObservableCounter {
		c, err := m.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(what))
		errs = append(errs, err)
		return c
	}
	count(&i.requests, "idem.requests", "{request}", "Judged requests, by what became of them.")
	count(&i.observed, "idem.observed", "{request}", "Requests that mode observe let run, by what would have become of them.")
	count(&i.settled, "idem.settle.results", "{settle}", "Tries to write the end of a claim, by how they went.")
	count(&i.releases, "idem.releases", "{release}", "Runs that were released, by why.")
	count(&i.issued, "idem.tokens.issued", "{token}", "Tokens asked for; error.type says why none was issued.")
	count(&i.losses, "idem.lease.losses", "{claim}", "Claims that were lost while they ran.")
	count(&i.renewals, "idem.lease.renewals", "{renewal}", "Renewals of leases, by how they went.")
	count(&i.reconciled, "idem.reconciled", "{record}", "Held records that were asked about, by what came of it.")
	count(&i.skips, "idem.kept_body.skips", "{answer}", "Answers that were not kept, by why.")
	count(&i.flushes, "idem.store.flushes", "{flush}", "Pipelines that came back from the store.")
	count(&i.degradeChanges, "idem.degrade.transitions", "{transition}", "Changes between normal and degraded.")
	i.overhead = time("idem.overhead.duration", "s", "Time a judged request spent here, without its handler.", ownBuckets)
	i.claimed = time("idem.claim.duration", "s", "Time it took to claim a record, or to find out why not.", ownBuckets)
	i.waited = time("idem.wait.duration", "s", "Time a duplicate waited for another owner.", handlerBuckets)
	i.called = time("idem.store.operation.duration", "s", "Time of one exchange with the store.", storeBuckets)
	i.queued = time("idem.store.queue.duration", "s", "Time the first call of a pipeline waited before it was sent.", ownBuckets)
	i.tokenAge = time("idem.token.age", "s", "Age of a token when it claimed.", ageBuckets)
	i.utilization = time("idem.lease.utilization", "1", "Share of a lease that was over when it was renewed or settled.", shareBuckets)
	i.handled = time("idem.handler.duration", "s", "Time of a guarded run.", handlerBuckets)
	i.kept = size("idem.kept_body.size", "By", "Size of answers that are kept.", sizeBuckets)
	i.batches = size("idem.batch.size", "{intent}", "Intents that were claimed together.", countBuckets)
	i.memory = gauge("idem.store.memory", "By", "Memory that a store in this process takes.")
	i.records = gauge("idem.records", "{record}", "Records in the store, by how a request would read them.")
	i.evictions = total("idem.store.evictions", "{record}", "Expired records that a store in this process took out.")
	i.auditDrops = total("idem.audit.drops", "{event}", "Audit events that were dropped.")
	var err error
	i.degradedNow, err = m.Int64UpDownCounter("idem.degrade.status", metric.WithUnit("{guard}"),
		metric.WithDescription("Guards whose store is out of reach now."))
	errs = append(errs, err)
	i.oldest, err = m.Float64ObservableGauge("idem.record.oldest_age", metric.WithUnit("s"),
		metric.WithDescription("Age of the record that has been claimed longest."))
	errs = append(errs, err)
	i.limit, err = m.Float64ObservableGauge("idem.handler.limit", metric.WithUnit("s"),
		metric.WithDescription("How long a guarded run may take: MaxRun."))
	return errors.Join(append(errs, err)...)
}

func (i *instruments) counters() []*counter {
	return []*counter{&i.requests, &i.observed, &i.settled, &i.issued, &i.releases, &i.losses, &i.renewals,
		&i.reconciled, &i.skips, &i.flushes, &i.degradeChanges}
}

// tell has the counters told whenever the meter's metrics are read.
func (i *instruments) tell(m metric.Meter) error {
	counters := i.counters()
	list := make([]metric.Observable, len(counters))
	for n, c := range counters {
		list[n] = c.instrument
	}
	_, err := m.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		for _, c := range counters {
			c.observe(to)
		}
		return nil
	}, list...)
	return err
}
