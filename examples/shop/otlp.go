package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/gofiber/contrib/otelfiber/v2"
	"github.com/gofiber/fiber/v2"
	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/contrib/instrumentation/github.com/labstack/echo/otelecho"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/telemetry"
)

// export sends the shop's traces and metrics to a collector, as the usual
// environment variables of OpenTelemetry say (OTEL_EXPORTER_OTLP_ENDPOINT and its
// kin, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER, …). A nil
// export sends nothing and costs nothing.
//
// Two things make a duplicate lead to its original in a trace: the observer makes
// a span of each step of the guard, and the flow keeps the server span's
// traceparent in the record (httpflow.Config.TraceParent). The server span itself
// is made by the framework's own instrumentation, outside the guard.
type export struct {
	tracers  *sdktrace.TracerProvider
	meters   *sdkmetric.MeterProvider
	observer idem.Observer
	to       string // in words
}

// serviceName is what the shop is called where OTEL_SERVICE_NAME says nothing.
const serviceName = "idem-shop"

// openExport reads the environment. It returns nil where no endpoint is named, or
// OTEL_SDK_DISABLED says true. A collector that cannot be reached is no error: the
// shop sells all the same.
func openExport(ctx context.Context) (*export, error) {
	all := os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
	tracesTo, metricsTo := endpoint("TRACES", all), endpoint("METRICS", all)
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || tracesTo+metricsTo == "" {
		return nil, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"} {
		if p := os.Getenv(name); p != "" && p != "http/protobuf" {
			return nil, fmt.Errorf("%s is %q: this program speaks http/protobuf only", name, p)
		}
	}
	who, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", serviceName)),
		resource.WithTelemetrySDK(), resource.WithFromEnv()) // what comes later wins
	if err != nil {
		return nil, fmt.Errorf("read the OTEL_ variables: %w", err)
	}
	traces, metrics := []sdktrace.TracerProviderOption{sdktrace.WithResource(who)}, []sdkmetric.Option{sdkmetric.WithResource(who)}
	if tracesTo != "" {
		to, err := otlptracehttp.New(ctx)
		if err != nil {
			return nil, fmt.Errorf("open the export of traces to %s: %w", tracesTo, err)
		}
		traces = append(traces, sdktrace.WithBatcher(to))
	}
	if metricsTo != "" {
		to, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return nil, fmt.Errorf("open the export of metrics to %s: %w", metricsTo, err)
		}
		metrics = append(metrics, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(to)))
	}
	x := &export{tracers: sdktrace.NewTracerProvider(traces...), meters: sdkmetric.NewMeterProvider(metrics...)}
	if x.to = "traces and metrics to " + tracesTo; tracesTo != metricsTo {
		x.to = "traces to " + nowhere(tracesTo) + ", metrics to " + nowhere(metricsTo)
	}
	x.observer, err = telemetry.New(telemetry.WithTracerProvider(x.tracers), telemetry.WithMeterProvider(x.meters))
	return x, err
}

// endpoint says where one signal goes, "" if nowhere.
func endpoint(signal, all string) string {
	if os.Getenv("OTEL_"+signal+"_EXPORTER") == "none" {
		return ""
	}
	if own := os.Getenv("OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT"); own != "" {
		return own
	}
	return all
}

func nowhere(to string) string {
	if to == "" {
		return "nowhere"
	}
	return to
}

// close sends what is left, for as long as ctx allows.
func (x *export) close(ctx context.Context) error {
	if x == nil {
		return nil
	}
	return errors.Join(x.tracers.Shutdown(ctx), x.meters.Shutdown(ctx))
}

// steps is who is told of the guard's steps, nil for nobody.
func (x *export) steps() idem.Observer {
	if x == nil {
		return nil
	}
	return x.observer
}

// parent is what the flow keeps of a run's trace, nil for nothing.
func (x *export) parent() func(context.Context) []byte {
	if x == nil {
		return nil
	}
	return telemetry.TraceParent
}

// isTraced leaves out what a page only looks at.
func isTraced(method, path string) bool {
	return method == http.MethodPost && !strings.HasPrefix(path, "/showings/")
}

// aroundHTTP makes the server spans of net/http.
func (x *export) aroundHTTP(h http.Handler) http.Handler {
	if x == nil {
		return h
	}
	return otelhttp.NewHandler(h, "shop",
		otelhttp.WithTracerProvider(x.tracers), otelhttp.WithMeterProvider(x.meters), otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithFilter(func(r *http.Request) bool { return isTraced(r.Method, r.URL.Path) }))
}

// intoEcho makes Echo's.
func (x *export) intoEcho(e *echo.Echo) {
	if x != nil {
		e.Use(otelecho.Middleware(serviceName,
			otelecho.WithTracerProvider(x.tracers), otelecho.WithPropagators(propagation.TraceContext{}),
			otelecho.WithSkipper(func(c echo.Context) bool { return !isTraced(c.Request().Method, c.Request().URL.Path) })))
	}
}

// intoFiber makes Fiber's.
func (x *export) intoFiber(app *fiber.App) {
	if x != nil {
		app.Use(otelfiber.Middleware(
			otelfiber.WithTracerProvider(x.tracers), otelfiber.WithMeterProvider(x.meters), otelfiber.WithPropagators(propagation.TraceContext{}),
			otelfiber.WithNext(func(c *fiber.Ctx) bool { return !isTraced(c.Method(), c.Path()) })))
	}
}
