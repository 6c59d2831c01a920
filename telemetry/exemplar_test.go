package telemetry_test

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	idem "github.com/go-idem/idem/core"
)

// Given a sampled request, then the histograms of its steps lead to it: each has an
// exemplar with the trace's id.
func TestHistogramsLeadToTheTraceOfASampledRequest(t *testing.T) {
	w := watch(t, idem.Policy{Preset: idem.API})
	ctx, server := w.serverSpan(t.Context())
	_, _, err := idem.Do(ctx, w.guard, idem.Intent{Operation: operation, Scope: "alice", Key: "k"}, idem.JSON[int](), func(context.Context) (int, error) { return 1, nil })
	if err != nil {
		t.Fatal(err)
	}
	server.End()
	var all metricdata.ResourceMetrics
	if err := w.read.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	led := map[string]bool{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if h, ok := m.Data.(metricdata.Histogram[float64]); ok {
			for _, p := range h.DataPoints {
				for _, e := range p.Exemplars {
					led[m.Name] = led[m.Name] || trace.TraceID(e.TraceID) == server.SpanContext().TraceID()
				}
			}
		}
	}
	for _, name := range []string{"idem.overhead.duration", "idem.claim.duration", "idem.handler.duration", "idem.store.operation.duration", "idem.lease.utilization"} {
		if !led[name] {
			t.Errorf("%s does not lead to the trace", name)
		}
	}
}
