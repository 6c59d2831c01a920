package telemetry_test

import (
	"context"
	"strconv"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
	"github.com/go-idem/idem/telemetry"
)

// costs are the rows of PERFORMANCE B11: what a first request costs without
// telemetry, which is the baseline, with it and no SDK, unsampled, and unsampled
// with metrics.
func costs() []cost {
	unsampled := telemetry.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())))
	metrics := telemetry.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())))
	return []cost{
		{name: "not installed", none: true},
		{name: "no SDK"}, // as nobody installed one globally
		{name: "unsampled", options: []telemetry.Option{unsampled, telemetry.WithMeterProvider(noop.NewMeterProvider())}},
		{name: "unsampled with metrics", options: []telemetry.Option{unsampled, metrics}},
	}
}

type cost struct {
	name    string
	options []telemetry.Option
	none    bool
}

// first returns a first request inside a server span that is not sampled: each
// call is one with a key of its own.
func (c cost) first(t testing.TB) func() {
	cfg := idem.Config{Store: memstore.New(memstore.Options{}), Policies: []idem.Policy{{Operation: operation, Preset: idem.API}}}
	if !c.none {
		tel, err := telemetry.New(c.options...)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Observer = tel
	}
	guard, err := idem.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server, span := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())).Tracer("server").Start(context.Background(), "server")
	t.Cleanup(func() { span.End(); _ = guard.Close(context.Background()) })
	codec, n := idem.JSON[int](), 0
	return func() {
		n++
		in := idem.Intent{Operation: operation, Scope: "a", Key: strconv.Itoa(n), Source: "header", Judged: true} // as httpflow asks
		ctx, end := guard.Observe(server, idem.Step{Kind: idem.StepAnswer, Operation: operation, Source: "header"})
		_, v, _ := idem.Do(ctx, guard, in, codec, func(context.Context) (int, error) { return 1, nil })
		end.End(idem.StepResult{Verdict: v})
	}
}

// BenchmarkDo is PERFORMANCE B11. The first row is the baseline of the others.
func BenchmarkDo(b *testing.B) {
	for _, row := range costs() {
		b.Run(row.name, func(b *testing.B) {
			first := row.first(b)
			b.ReportAllocs()
			for b.Loop() {
				first()
			}
		})
	}
}

// BenchmarkStepsNobodyLooksAt is the first line of B11: the six steps of a first
// request where no telemetry is installed.
func BenchmarkStepsNobodyLooksAt(b *testing.B) {
	guard, err := idem.New(idem.Config{Store: memstore.New(memstore.Options{}), Policies: []idem.Policy{{Operation: operation, Preset: idem.API}}})
	if err != nil {
		b.Fatal(err)
	}
	defer guard.Close(context.Background())
	ctx := context.Background()
	step := func(kind idem.StepKind) {
		_, end := guard.Observe(ctx, idem.Step{Kind: kind, Operation: operation})
		end.End(idem.StepResult{})
	}
	b.ReportAllocs()
	for b.Loop() {
		step(idem.StepAnswer)
		step(idem.StepClaim)
		step(idem.StepStore)
		step(idem.StepRun)
		step(idem.StepStore)
		step(idem.StepSettle)
	}
}

// BenchmarkSDK is the floor of B11: the seven measurements of a first request that
// are histograms, with nothing of ours around them.
func BenchmarkSDK(b *testing.B) {
	m := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())).Meter("floor")
	h, err := m.Float64Histogram("h", metric.WithExplicitBucketBoundaries(1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1))
	if err != nil {
		b.Fatal(err)
	}
	server, span := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())).Tracer("server").Start(context.Background(), "server")
	defer span.End()
	set := []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attribute.String("idem.operation", operation), attribute.String("idem.verdict", "executed")))}
	b.ReportAllocs()
	for b.Loop() {
		for range 7 {
			h.Record(server, 3e-5, set...)
		}
	}
}

// Measuring a first request allocates nothing, whatever is installed: a span that
// is not sampled, and metrics, cost no memory (PERFORMANCE B11).
func TestBudgetB11MeasuringAllocatesNothing(t *testing.T) {
	if poolsLeak {
		t.Skip("under the race detector pools drop at random, so allocations cannot be counted")
	}
	rows := costs()
	count := func(c cost) float64 {
		first := c.first(t)
		for range 100 { // every set of attributes is made
			first()
		}
		return testing.AllocsPerRun(2000, first)
	}
	bare := count(rows[0])
	for _, row := range rows[1:] {
		if n := count(row); n > bare+0.5 {
			t.Errorf("%s: %.1f allocations, %.1f without telemetry", row.name, n, bare)
		}
	}
}
