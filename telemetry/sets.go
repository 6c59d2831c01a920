package telemetry

import (
	"maps"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	idem "github.com/go-idem/idem/core"
)

// Sets of attributes are built once: there are as many as operations × verdicts
// × sources, and as operations × results, and all of these are closed lists. So
// no measurement allocates, and none can make a series out of what a client sent.

func (t *Telemetry) set(list ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(append(list, t.extra...)...))
}

// recorded is a set of attributes ready for a histogram.
type recorded []metric.RecordOption

func (t *Telemetry) recorded(list ...attribute.KeyValue) recorded {
	return recorded{t.set(list...)}
}

// counter counts in this process's own memory and is asked when metrics are
// read: an atomic addition costs a tenth of a synchronous instrument's. What is
// lost for it are a counter's exemplars; those of the histograms beside it stay.
type counter struct {
	instrument metric.Int64ObservableCounter
	mu         sync.Mutex
	cells      []*cell
}

// cell is one series of a counter.
type cell struct {
	n   atomic.Int64
	set []metric.ObserveOption
}

// with makes a series. It is called once for each set of attributes.
func (c *counter) with(set metric.MeasurementOption) *cell {
	one := &cell{set: []metric.ObserveOption{set}}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cells = append(c.cells, one)
	return one
}

func (c *counter) observe(to metric.Observer) {
	c.mu.Lock()
	cells := c.cells // it is only ever appended to
	c.mu.Unlock()
	for _, one := range cells {
		to.ObserveInt64(c.instrument, one.n.Load(), one.set...)
	}
}

// memo makes a thing once for each word and finds it without a lock.
type memo[K comparable, T any] struct {
	make func(K) T
	made atomic.Pointer[map[K]T]
	mu   sync.Mutex
}

func (m *memo[K, T]) get(word K) T {
	if made := m.made.Load(); made != nil {
		if v, ok := (*made)[word]; ok {
			return v
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	more := map[K]T{}
	if made := m.made.Load(); made != nil {
		if v, ok := (*made)[word]; ok {
			return v
		}
		maps.Copy(more, *made)
	}
	v := m.make(word)
	more[word] = v
	m.made.Store(&more)
	return v
}

// ended is what became of a request, and how its key came.
type ended struct {
	verdict idem.Verdict
	source  string
}

// request are the two series of a request that ended so.
type request struct {
	count    *cell
	overhead recorded
}

// operationSets are the series of one operation.
type operationSets struct {
	bare     recorded
	losses   func() *cell
	requests memo[ended, request]
	observed memo[idem.Verdict, *cell]
	results  memo[string, *cell] // of settles
	renewals memo[string, *cell]
	reasons  memo[string, *cell] // of releases
	skips    memo[string, *cell]
	issues   memo[string, *cell] // by error.type
	held     memo[string, *cell] // by what a resolver said
}

func (t *Telemetry) newOperationSets(operation string) *operationSets {
	if operation == "" {
		operation = "_OTHER" // a name that is none of the guard's
	}
	op := keyOperation.String(operation)
	by := func(c *counter, key attribute.Key) func(string) *cell {
		return func(word string) *cell {
			if word == "" {
				return c.with(t.set(op))
			}
			return c.with(t.set(op, key.String(word)))
		}
	}
	o := &operationSets{bare: t.recorded(op)}
	o.losses = sync.OnceValue(func() *cell { return t.losses.with(t.set(op)) })
	o.observed.make = func(v idem.Verdict) *cell { return t.observed.with(t.set(op, keyVerdict.String(v.String()))) }
	o.results.make, o.renewals.make = by(&t.settled, keyResult), by(&t.renewals, keyRenewal)
	o.reasons.make, o.skips.make = by(&t.releases, keyReason), by(&t.skips, keySkip)
	o.issues.make, o.held.make = by(&t.issued, keyErrorType), by(&t.reconciled, keyReconciled)
	o.requests.make = func(e ended) request {
		verdict := keyVerdict.String(e.verdict.String())
		return request{t.requests.with(t.set(op, verdict, keySource.String(e.source))), t.recorded(op, verdict)}
	}
	return o
}

// storeCall is one exchange with a store, by how it went.
type storeCall struct{ store, call, fault string }

func (t *Telemetry) newStoreCall(c storeCall) recorded {
	list := []attribute.KeyValue{keyStore.String(c.store), keyCall.String(c.call)}
	if c.fault != "" {
		list = append(list, keyErrorType.String(c.fault))
	}
	return t.recorded(list...)
}

// storeSets are the series of one store that have no more attributes.
type storeSets struct {
	flushes func() *cell
	queued  recorded
	observe []metric.ObserveOption
}

func (t *Telemetry) newStoreSets(name string) *storeSets {
	set := t.set(keyStore.String(name))
	return &storeSets{sync.OnceValue(func() *cell { return t.flushes.with(set) }), recorded{set}, []metric.ObserveOption{set}}
}
