package telemetry_test

import (
	"context"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/reconcile"
	"github.com/go-idem/idem/stores/memstore"
	"github.com/go-idem/idem/telemetry"
)

// A record that is resolved is a root span with a link to the run it is about,
// and a count by what came of it.
func TestAResolvedRecordIsARootLinkedToItsRun(t *testing.T) {
	spans, reader := tracetest.NewSpanRecorder(), sdkmetric.NewManualReader()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	tel, err := telemetry.New(telemetry.WithTracerProvider(tracers), telemetry.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))))
	if err != nil {
		t.Fatal(err)
	}
	says := []reconcile.Resolution{reconcile.Later(), reconcile.Released()}
	guard, err := idem.New(idem.Config{
		Store: memstore.New(memstore.Options{}), Observer: tel,
		Policies: []idem.Policy{{Operation: operation}},
		Resolvers: map[string]idem.Resolver{operation: reconcile.Func(func(context.Context, reconcile.Record) (reconcile.Resolution, error) {
			now := says[0]
			says = says[1:]
			return now, nil
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer guard.Close(t.Context())
	ctx, server := tracers.Tracer("server").Start(t.Context(), "server")
	for _, key := range []string{"a", "b"} {
		c, err := guard.Claim(ctx, idem.Intent{Operation: operation, Scope: "alice", Key: key, Trace: telemetry.TraceParent(ctx)})
		if err != nil || !c.Won() {
			t.Fatal(err)
		}
		_ = c.Doubt(ctx)
	}
	r, err := reconcile.New(reconcile.Config{Guard: guard, AtOnce: 1, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Once(ctx); err != nil { // as a request "reconcile now" would
		t.Fatal(err)
	}
	server.End()

	got := map[string]codes.Code{}
	for _, s := range named(spans.Ended(), "idem.reconcile") {
		if s.Parent().IsValid() || len(s.Links()) != 1 || s.Links()[0].SpanContext.SpanID() != server.SpanContext().SpanID() {
			t.Errorf("parent %v, links %v; want a root, linked to the run", s.Parent(), s.Links())
		}
		for _, a := range s.Attributes() {
			if a.Key == "idem.reconcile.result" {
				got[a.Value.AsString()] = s.Status().Code
			}
		}
	}
	if len(got) != 2 || got["gave-up"] != codes.Error || got["released"] != codes.Unset {
		t.Errorf("spans say %v", got)
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	var counted []string
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if data, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "idem.reconciled" {
				for _, p := range data.DataPoints {
					result, _ := p.Attributes.Value("idem.reconcile.result")
					if op, _ := p.Attributes.Value(attribute.Key("idem.operation")); op.AsString() == operation && p.Value == 1 {
						counted = append(counted, result.AsString())
					}
				}
			}
		}
	}
	if slices.Sort(counted); !slices.Equal(counted, []string{"gave-up", "released"}) {
		t.Errorf("idem.reconciled counted %v", counted)
	}
}
