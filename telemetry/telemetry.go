// Package telemetry tells OpenTelemetry what a guard does: a span for each step
// of a request, a metric for what became of it, and, the point of it all, a
// span link from a duplicate to the run that did the work.
//
//	tel, err := telemetry.New()
//	…
//	guard, err := idem.New(idem.Config{…, Observer: tel})
//	flow, err := httpflow.New(httpflow.Config{Guard: guard, TraceParent: tel.TraceParent, …})
//
// The server span is not made here: it belongs to otelhttp, otelecho or
// otelfiber, whose middleware stands outside the guard. The claim keeps that
// span's traceparent in its record; the idem.replay or idem.wait span of a
// duplicate is linked to it, never its child. In Jaeger one click leads from
// the duplicate to the run.
//
// What a guard cannot tell step by step, such as how much of the store's memory
// is taken, [Telemetry.Watch] asks for when metrics are read. The metrics, their
// units and attributes are listed in docs/reference/metrics.md, the alert rules
// and a dashboard stand beside this file.
//
// A refused or replayed duplicate is no error: its span's status stays unset.
// Keys, tokens and bodies never appear; a record is known by a keyed hash.
package telemetry

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	idem "github.com/go-idem/idem/core"
)

// ScopeName names this package's tracer and meter, Version their version.
const (
	ScopeName = "github.com/go-idem/idem/telemetry"
	Version   = "0.1.0"
)

// Option changes how a Telemetry is built.
type Option func(*Telemetry)

// WithTracerProvider takes spans elsewhere than to the global provider.
func WithTracerProvider(p trace.TracerProvider) Option {
	return func(t *Telemetry) { t.tracers = p }
}

// WithMeterProvider takes metrics elsewhere than to the global provider.
func WithMeterProvider(p metric.MeterProvider) Option { return func(t *Telemetry) { t.meters = p } }

// WithPropagator has p say what a claim keeps of its server's span, and read it
// for the link of a duplicate; W3C Trace Context if nil. A record has room for a
// traceparent and for nothing else: p must write and read that field, and what
// else it writes, such as baggage, is left out. One that writes none for some
// requests keeps them out of links.
func WithPropagator(p propagation.TextMapPropagator) Option {
	return func(t *Telemetry) { t.propagator = p }
}

// WithSpanFilter makes spans only of the steps that keep allows. Metrics are
// not filtered.
func WithSpanFilter(keep func(idem.Step) bool) Option { return func(t *Telemetry) { t.keep = keep } }

// WithOrphans asks the sampler about steps inside a span that was not sampled,
// too. It is for samplers that do not follow the parent; the default does.
func WithOrphans() Option { return func(t *Telemetry) { t.orphans = true } }

// WithMetricAttributes adds attributes to every measurement. They must be few
// and bounded: each combination is a series.
func WithMetricAttributes(extra ...attribute.KeyValue) Option {
	return func(t *Telemetry) { t.extra = append(t.extra, extra...) }
}

// Telemetry is an [idem.Observer]. It may be shared by any number of guards and
// goroutines and needs no closing.
type Telemetry struct {
	tracers trace.TracerProvider
	meters  metric.MeterProvider
	keep    func(idem.Step) bool
	extra   []attribute.KeyValue
	orphans bool

	propagator propagation.TextMapPropagator

	spans, measures bool // an SDK takes them
	tracer          trace.Tracer
	meter           metric.Meter
	instruments
	operations memo[string, *operationSets]
	stores     memo[string, *storeSets]
	degrades   memo[string, *cell]
	starts     sync.Map // operation → []trace.SpanStartOption
}

var (
	_ idem.Observer     = (*Telemetry)(nil)
	_ idem.StepBeginner = (*Telemetry)(nil)
	_ idem.StepChooser  = (*Telemetry)(nil)
)

// New builds a Telemetry on the global providers, or on those given. Install
// your SDK first: New looks once whether there is one, and a signal without one
// costs nothing from then on. The error says which instrument could not be made;
// what goes wrong later is told to [otel.Handle].
func New(options ...Option) (*Telemetry, error) {
	t := &Telemetry{}
	for _, o := range options {
		o(t)
	}
	if t.tracers == nil {
		t.tracers = otel.GetTracerProvider()
	}
	if t.meters == nil {
		t.meters = otel.GetMeterProvider()
	}
	if t.propagator == nil {
		t.propagator = propagation.TraceContext{}
	}
	t.spans, t.measures = !isNobody(t.tracers), !isNobody(t.meters)
	t.tracer = t.tracers.Tracer(ScopeName, trace.WithInstrumentationVersion(Version))
	t.meter = t.meters.Meter(ScopeName, metric.WithInstrumentationVersion(Version))
	t.operations.make = t.newOperationSets
	t.stores.make = t.newStoreSets
	t.degrades.make = func(to string) *cell { return t.degradeChanges.with(t.set(keyDegrade.String(to))) }
	if err := t.instruments.make(t.meter); err != nil {
		return nil, err
	}
	if !t.measures {
		return t, nil
	}
	t.degradedNow.Add(context.Background(), 0, t.set(keyDegrade.String("degraded")))
	return t, t.instruments.tell(t.meter)
}

// isNobody tells whether a provider drops what it is given: the API's own, which
// says so by its type, or the global one before an SDK was installed.
func isNobody(provider any) bool {
	switch provider.(type) {
	case nooptrace.TracerProvider, noopmetric.MeterProvider:
		return true
	}
	return strings.HasPrefix(fmt.Sprintf("%T", provider), "*global.")
}

// TraceParent returns the traceparent of the span in ctx (W3C Trace Context),
// nil where there is none that is sampled: nobody could follow a link to it.
func TraceParent(ctx context.Context) []byte { return traceParent(ctx, propagation.TraceContext{}) }

// TraceParent is the function of that name by the propagator that
// [WithPropagator] named.
func (t *Telemetry) TraceParent(ctx context.Context) []byte { return traceParent(ctx, t.propagator) }

func traceParent(ctx context.Context, p propagation.TextMapPropagator) []byte {
	if sc := trace.SpanContextFromContext(ctx); !sc.IsValid() || !sc.IsSampled() {
		return nil
	}
	carrier := propagation.MapCarrier{}
	p.Inject(ctx, carrier)
	if carrier[traceparent] == "" {
		return nil
	}
	return []byte(carrier[traceparent])
}

const traceparent = "traceparent"

// origin is the span context that a kept traceparent stands for.
func (t *Telemetry) origin(parent []byte) trace.SpanContext {
	if len(parent) == 0 {
		return trace.SpanContext{}
	}
	ctx := t.propagator.Extract(context.Background(), propagation.MapCarrier{traceparent: string(parent)})
	return trace.SpanContextFromContext(ctx)
}
