package main

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
	"github.com/go-idem/idem/telemetry"
)

// The rows of budget B11: a first request in memory, and who looks on.
const (
	noSteps      = "a step, nobody looks on"
	noTelemetry  = "idem, first, no telemetry"
	noSDK        = "idem, first, telemetry without an SDK"
	unsampledRow = "idem, first, spans that are not sampled"
	metricsRow   = "idem, first, the same and metrics"
)

var telemetryBudgets = []budget{
	atMost("B11", "nobody looks on: µs of CPU a step", one(noSteps, cpu), 0.02),
	atMost("B11", "nobody looks on: allocations a step", one(noSteps, allocs), 0.05).count(),
	atMost("B11", "spans, unsampled: µs of CPU more than without telemetry", more(unsampledRow, noTelemetry, cpu), 1),
	atMost("B11", "spans, unsampled, and metrics: µs of CPU more than without telemetry", more(metricsRow, noTelemetry, cpu), 2),
}

// watched is a first request seen by an observer, which may be nil.
type watched struct {
	observer idem.Observer
	guard    *idem.Guard
	keys     []string
}

// fresh begins with an empty store.
func (w *watched) fresh() (err error) {
	if err := w.end(); err != nil {
		return err
	}
	w.guard, err = idem.New(idem.Config{
		Store: memstore.New(memstore.Options{MaxBytes: 1 << 30}), Observer: w.observer, Policies: []idem.Policy{{Operation: operation, Preset: idem.API}},
	})
	return err
}

func (w *watched) end() error {
	if w.guard == nil {
		return nil
	}
	return w.guard.Close(context.Background())
}

// do is a request as an adapter makes it of the steps: the whole of it, and what
// idem.Do tells.
func (w *watched) do(ctx context.Context, i int) error {
	ctx, end := w.guard.Observe(ctx, idem.Step{Kind: idem.StepAnswer, Operation: operation, Source: "header"})
	in := idem.Intent{Operation: operation, Scope: "alice", Key: w.keys[i%turn], Judged: true} // as httpflow asks
	_, v, err := idem.Do(ctx, w.guard, in, idem.Codec[[]byte](bytesCodec{}), func(context.Context) ([]byte, error) { return kept, nil })
	end.End(idem.StepResult{Verdict: v})
	if v != idem.Executed {
		return errors.Join(err, errors.New("it did not run"))
	}
	return err
}

func telemetryRows() (*group, error) {
	names := keys(turn)
	spans := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	metrics := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	all := map[string]*watched{noTelemetry: {keys: names}}
	for name, options := range map[string][]telemetry.Option{
		noSDK:        nil, // as nobody installed one globally
		unsampledRow: {telemetry.WithTracerProvider(spans), telemetry.WithMeterProvider(noop.NewMeterProvider())},
		metricsRow:   {telemetry.WithTracerProvider(spans), telemetry.WithMeterProvider(metrics)},
	} {
		t, err := telemetry.New(options...)
		if err != nil {
			return nil, err
		}
		all[name] = &watched{observer: t, keys: names}
	}
	// The span of the server, around each request.
	server, span := spans.Tracer("server").Start(context.Background(), "server")
	g := &group{
		reset: func() error {
			var errs []error
			for _, w := range all {
				errs = append(errs, w.fresh())
			}
			return errors.Join(errs...)
		},
		end: func() {
			span.End()
			for _, w := range all {
				_ = w.end()
			}
		},
	}
	bare := all[noTelemetry]
	g.rows = append(g.rows, row{name: noSteps, callers: 1, do: func(int) error {
		_, end := bare.guard.Observe(server, idem.Step{Kind: idem.StepAnswer, Operation: operation})
		end.End(idem.StepResult{Verdict: idem.Executed})
		return nil
	}})
	for _, name := range []string{noTelemetry, noSDK, unsampledRow, metricsRow} {
		g.rows = append(g.rows, row{name: name, callers: 1, most: turn, do: func(i int) error { return all[name].do(server, i) }})
	}
	return g, nil
}
