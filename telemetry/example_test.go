package telemetry_test

import (
	"context"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
	"github.com/go-idem/idem/telemetry"
)

// A guard's steps as spans. A program that has installed its providers globally
// calls New without options, behind them.
func ExampleNew() {
	spans := tracetest.NewSpanRecorder()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	tel, err := telemetry.New(telemetry.WithTracerProvider(tracers))
	if err != nil {
		fmt.Println(err)
		return
	}
	guard, err := idem.New(idem.Config{
		Store:    memstore.New(memstore.Options{}),
		Policies: []idem.Policy{{Operation: "mail:invoice:send", Preset: idem.API}},
		Observer: tel,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	defer guard.Close(ctx)
	in := idem.Intent{Operation: "mail:invoice:send", Scope: "acme", Key: "m-1"}
	for range 2 {
		_, verdict, _ := idem.Do(ctx, guard, in, idem.JSON[string](), func(context.Context) (string, error) { return "sent", nil })
		fmt.Println(verdict)
		for _, span := range spans.Ended() {
			fmt.Println("  " + span.Name())
		}
		spans.Reset()
	}
	// Output:
	// executed
	//   idem.claim
	//   idem.run
	//   idem.settle
	// replayed
	//   idem.claim
	//   idem.replay
}
