package telemetry_test

import (
	"context"
	"strconv"
	"testing"

	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
	"github.com/go-idem/idem/telemetry"
)

// BenchmarkDo is PERFORMANCE B11: what a first request costs without telemetry,
// with it and no SDK, unsampled, and unsampled with metrics.
func BenchmarkDo(b *testing.B) {
	unsampled := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	for _, row := range []struct {
		name    string
		options []telemetry.Option
		none    bool
	}{
		{name: "not installed", none: true},
		{name: "no SDK"}, // as nobody installed one globally
		{name: "unsampled", options: []telemetry.Option{telemetry.WithTracerProvider(unsampled), telemetry.WithMeterProvider(noop.NewMeterProvider())}},
		{name: "unsampled with metrics", options: []telemetry.Option{telemetry.WithTracerProvider(unsampled),
			telemetry.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())))}},
	} {
		b.Run(row.name, func(b *testing.B) {
			cfg := idem.Config{Store: memstore.New(memstore.Options{}), Policies: []idem.Policy{{Operation: operation, Preset: idem.API}}}
			if !row.none {
				tel, err := telemetry.New(row.options...)
				if err != nil {
					b.Fatal(err)
				}
				cfg.Observer = tel
			}
			guard, err := idem.New(cfg)
			if err != nil {
				b.Fatal(err)
			}
			defer guard.Close(context.Background())
			codec := idem.JSON[int]()
			server, span := unsampled.Tracer("server").Start(context.Background(), "server")
			defer span.End()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				in := idem.Intent{Operation: operation, Scope: "a", Key: strconv.Itoa(i)}
				ctx, end := guard.Observe(server, idem.Step{Kind: idem.StepAnswer, Operation: operation, Source: "header"})
				_, v, _ := idem.Do(ctx, guard, in, codec, func(context.Context) (int, error) { return 1, nil })
				end.End(idem.StepResult{Verdict: v})
			}
		})
	}
}
