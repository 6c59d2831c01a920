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

// series is a set of attributes, ready for instruments of either kind.
type series struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

func (t *Telemetry) series(list ...attribute.KeyValue) *series {
	set := metric.WithAttributeSet(attribute.NewSet(append(list, t.extra...)...))
	return &series{[]metric.AddOption{set}, []metric.RecordOption{set}}
}

// memo makes a thing once for each word and finds it without a lock.
type memo[T any] struct {
	make func(word string) T
	made atomic.Pointer[map[string]T]
	mu   sync.Mutex
}

func (m *memo[T]) get(word string) T {
	if made := m.made.Load(); made != nil {
		if v, ok := (*made)[word]; ok {
			return v
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	more := map[string]T{}
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

// operationSets are the sets of one operation.
type operationSets struct {
	bare     *series
	verdicts memo[*series]
	requests memo[*memo[*series]] // by source
	results  memo[*series]        // of settles
	renewals memo[*series]
	reasons  memo[*series] // of releases
	skips    memo[*series]
	issues   memo[*series] // by error.type
	held     memo[*series] // by what a resolver said
}

func (t *Telemetry) newOperationSets(operation string) *operationSets {
	if operation == "" {
		operation = "_OTHER" // a name that is none of the guard's
	}
	op := keyOperation.String(operation)
	by := func(key attribute.Key) func(string) *series {
		return func(word string) *series {
			if word == "" {
				return t.series(op)
			}
			return t.series(op, key.String(word))
		}
	}
	o := &operationSets{bare: t.series(op)}
	o.verdicts.make = by(keyVerdict)
	o.results.make, o.renewals.make = by(keyResult), by(keyRenewal)
	o.reasons.make, o.skips.make = by(keyReason), by(keySkip)
	o.issues.make, o.held.make = by(keyErrorType), by(keyReconciled)
	o.requests.make = func(source string) *memo[*series] {
		return &memo[*series]{make: func(verdict string) *series {
			return t.series(op, keyVerdict.String(verdict), keySource.String(source))
		}}
	}
	return o
}

// of returns the sets of an operation.
func (t *Telemetry) of(operation string) *operationSets { return t.operations.get(operation) }

func (o *operationSets) verdict(v idem.Verdict) *series { return o.verdicts.get(v.String()) }

// storeSets are the sets of one store: by call, then by error.type.
type storeSets struct {
	bare  *series
	calls memo[*memo[*series]]
}

func (t *Telemetry) newStoreSets(name string) *storeSets {
	store := keyStore.String(name)
	s := &storeSets{bare: t.series(store)}
	s.calls.make = func(call string) *memo[*series] {
		return &memo[*series]{make: func(fault string) *series {
			list := []attribute.KeyValue{store, keyCall.String(call)}
			if fault != "" {
				list = append(list, keyErrorType.String(fault))
			}
			return t.series(list...)
		}}
	}
	return s
}
