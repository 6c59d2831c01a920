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

// request are the two series of a request that ended so.
type request struct {
	count    *cell
	overhead recorded
}

// operationSets are the series of one operation.
type operationSets struct {
	bare     recorded
	losses   func() *cell
	requests [idem.Unguarded + 1]memo[string, request] // by verdict, then source
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
	for v := range o.requests {
		verdict := keyVerdict.String(idem.Verdict(v).String())
		o.requests[v].make = func(source string) request {
			return request{t.requests.with(t.set(op, verdict, keySource.String(source))), t.recorded(op, verdict)}
		}
	}
	return o
}

// storeSets are the series of one store.
type storeSets struct {
	flushes func() *cell
	queued  recorded
	observe []metric.ObserveOption
	calls   memo[string, recorded] // that did not fail
	faults  memo[failure, recorded]
}

// failure is a call of a store that failed, by its error.type.
type failure struct{ call, fault string }

// call is the series of a call that ended with err.
func (s *storeSets) call(name string, err error) recorded {
	if err == nil {
		return s.calls.get(name)
	}
	return s.faults.get(failure{name, storeFault(err)})
}

func (t *Telemetry) newStoreSets(name string) *storeSets {
	store := keyStore.String(name)
	set := t.set(store)
	s := &storeSets{flushes: sync.OnceValue(func() *cell { return t.flushes.with(set) }), queued: recorded{set}, observe: []metric.ObserveOption{set}}
	s.calls.make = func(call string) recorded { return t.recorded(store, keyCall.String(call)) }
	s.faults.make = func(f failure) recorded {
		return t.recorded(store, keyCall.String(f.call), keyErrorType.String(f.fault))
	}
	return s
}
