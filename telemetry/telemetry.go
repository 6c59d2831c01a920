// Package telemetry tells OpenTelemetry what a guard does: a span for each step
// of a request, a metric for what became of it, and, the point of it all, a
// span link from a duplicate to the run that did the work.
//
//	tel, err := telemetry.New()
//	…
//	guard, err := idem.New(idem.Config{…, Observer: tel})
//	flow, err := httpflow.New(httpflow.Config{Guard: guard, TraceParent: telemetry.TraceParent, …})
//
// The server span is not made here: it belongs to otelhttp, otelecho or
// otelfiber, whose middleware stands outside the guard. The claim keeps that
// span's traceparent in its record; the idem.replay or idem.wait span of a
// duplicate is linked to it, never its child. In Jaeger one click leads from
// the duplicate to the run.
//
// A refused or replayed duplicate is no error: its span's status stays unset.
// Keys, tokens and bodies never appear; a record is known by a keyed hash.
package telemetry

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

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

	tracer     trace.Tracer
	requests   metric.Int64Counter
	observed   metric.Int64Counter
	overhead   metric.Float64Histogram
	reconciled metric.Int64Counter
	sets       attributeSets
	starts     sync.Map // operation → []trace.SpanStartOption
}

var (
	_ idem.Observer    = (*Telemetry)(nil)
	_ idem.StepChooser = (*Telemetry)(nil)
)

// overheadBuckets are seconds: our own time is microseconds in memory and some
// milliseconds over a network.
var overheadBuckets = []float64{5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1, 2.5, 5}

// New builds a Telemetry on the global providers, or on those given. Where no
// SDK is installed it costs next to nothing. The error says which instrument
// could not be made.
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
	t.tracer = t.tracers.Tracer(ScopeName, trace.WithInstrumentationVersion(Version))
	meter := t.meters.Meter(ScopeName, metric.WithInstrumentationVersion(Version))
	var errCount, errSeen, errTime, errReconciled error
	t.reconciled, errReconciled = meter.Int64Counter("idem.reconciled", metric.WithUnit("{record}"),
		metric.WithDescription("Held records that were asked about, by what came of it."))
	t.requests, errCount = meter.Int64Counter("idem.requests", metric.WithUnit("{request}"),
		metric.WithDescription("Judged requests, by what became of them."))
	t.observed, errSeen = meter.Int64Counter("idem.observed", metric.WithUnit("{request}"),
		metric.WithDescription("Requests that mode observe let run, by what would have become of them."))
	t.overhead, errTime = meter.Float64Histogram("idem.overhead.duration", metric.WithUnit("s"),
		metric.WithDescription("Time a judged request spent here, without its handler."),
		metric.WithExplicitBucketBoundaries(overheadBuckets...))
	if err := errors.Join(errCount, errSeen, errTime, errReconciled); err != nil {
		return nil, err
	}
	return t, nil
}

// TraceParent returns the traceparent of the span in ctx (W3C Trace Context),
// nil where there is none that is sampled: nobody could follow a link to it.
func TraceParent(ctx context.Context) []byte {
	if sc := trace.SpanContextFromContext(ctx); !sc.IsValid() || !sc.IsSampled() {
		return nil
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return []byte(carrier["traceparent"])
}

// origin is the span context that a kept traceparent stands for.
func origin(parent []byte) trace.SpanContext {
	if len(parent) == 0 {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": string(parent)})
	return trace.SpanContextFromContext(ctx)
}
