package telemetry_test

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/telemetry"
)

// private writes nothing: its program lets nobody know what a request ran in.
type private struct{ propagation.TraceContext }

func (private) Inject(context.Context, propagation.TextMapCarrier) {}

// Given a propagator, then it decides what a record keeps of a span, and by what
// a duplicate finds it; and nothing but a traceparent is ever kept.
func TestThePropagatorSaysWhatARecordKeepsOfASpan(t *testing.T) {
	both := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	for name, row := range map[string]struct {
		options []telemetry.Option
		links   int
	}{
		"the usual one":            {nil, 1},
		"one with baggage":         {[]telemetry.Option{telemetry.WithPropagator(both)}, 1},
		"one that says nothing":    {[]telemetry.Option{telemetry.WithPropagator(private{})}, 0},
		"one that has no such one": {[]telemetry.Option{telemetry.WithPropagator(propagation.Baggage{})}, 0},
	} {
		rec := tracetest.NewSpanRecorder()
		tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(rec))
		tel, err := telemetry.New(append(row.options, telemetry.WithTracerProvider(tracers))...)
		if err != nil {
			t.Fatal(err)
		}
		member, err := baggage.NewMember("who", "alice")
		if err != nil {
			t.Fatal(err)
		}
		bag, err := baggage.New(member)
		if err != nil {
			t.Fatal(err)
		}
		ctx, server := tracers.Tracer("server").Start(baggage.ContextWithBaggage(t.Context(), bag), "server")
		kept := tel.TraceParent(ctx)
		if row.links == 1 && string(kept) != string(telemetry.TraceParent(ctx)) {
			t.Errorf("%s: %q is kept", name, kept)
		}
		_, end := tel.Start(context.Background(), idem.Step{Kind: idem.StepReplay, Operation: operation, Link: kept})
		end(idem.StepResult{Verdict: idem.Replayed})
		server.End()
		if got := named(rec.Ended(), "idem.replay"); len(got) != 1 || len(got[0].Links()) != row.links {
			t.Errorf("%s: %d spans, want one with %d links", name, len(got), row.links)
		}
	}
}
