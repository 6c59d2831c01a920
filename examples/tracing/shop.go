package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/gofiber/contrib/otelfiber/v2"
	"github.com/gofiber/fiber/v2"
	"github.com/labstack/echo/v4"
	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/contrib/instrumentation/github.com/labstack/echo/otelecho"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	echoidem "github.com/go-idem/idem/adapters/echo"
	fiberidem "github.com/go-idem/idem/adapters/fiber"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/stores/redisstore"
	"github.com/go-idem/idem/telemetry"
)

var frameworks = []string{"echo", "fiber"}

// operation is what the customer does once.
const operation = "shop:order:create"

// handling is how long an order takes: long enough for a second press.
const handling = 500 * time.Millisecond

// shop is one of the two, listening.
type shop struct {
	service string
	url     string
	spans   *sdktrace.TracerProvider
	closers []func(context.Context) error // in the order in which they are called

	handling time.Duration // how long an order takes
	began    chan struct{} // one in it for each order that has begun
}

// open starts a shop on a free port of loopback.
func open(ctx context.Context, framework, redisAddr string, to func(context.Context) (sdktrace.SpanExporter, error)) (*shop, error) {
	exporter, err := to(ctx)
	if err != nil {
		return nil, err
	}
	s := &shop{service: "shop-" + framework, handling: handling, began: make(chan struct{}, 1)}
	s.spans = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", s.service))))
	flow, err := s.guard(ctx, redisAddr)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.url = "http://" + l.Addr().String()
	if framework == "fiber" {
		s.onFiber(l, flow)
	} else {
		s.onEcho(l, flow)
	}
	return s, nil
}

// guard is all that tracing asks of an application: an observer, where the record
// gets its traceparent from, and, to see Redis as well, the driver's own
// instrumentation. Statements stay out of spans: they hold kept answers.
func (s *shop) guard(ctx context.Context, redisAddr string) (*httpflow.Flow, error) {
	tel, err := telemetry.New(telemetry.WithTracerProvider(s.spans))
	if err != nil {
		return nil, err
	}
	store, err := redisstore.Open(ctx, redisstore.Options{
		Universal:       &redis.UniversalOptions{Addrs: []string{redisAddr}},
		EvictionChecked: "nobody: this is a demonstration",
		CallTimeout:     time.Second, // a quarter of it does, where no Jaeger is being built beside
		Instrument: func(c redis.UniversalClient) error {
			return redisotel.InstrumentTracing(c, redisotel.WithTracerProvider(s.spans), redisotel.WithDBStatement(false))
		},
	})
	if err != nil {
		return nil, err
	}
	guard, err := idem.New(idem.Config{
		Store: store, NameKey: idem.NameKey(idem.GenerateKey()), Prefix: "tracing:" + s.service + ":", Observer: tel,
		Policies: []idem.Policy{{Operation: operation, Preset: idem.API, KeyRequired: idem.Yes, OnDuplicate: idem.Wait}},
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	s.closers = append(s.closers, guard.Close, func(context.Context) error { return store.Close() })
	return httpflow.New(httpflow.Config{
		Guard: guard, TraceParent: telemetry.TraceParent,
		Scope: func(httpflow.Request) (string, error) { return "alice", nil }, // who is signed in
	})
}

// order is the guarded action. Its span stands under idem.run.
func (s *shop) order(ctx context.Context) string {
	_, span := s.spans.Tracer("shop").Start(ctx, "charge card")
	defer span.End()
	s.began <- struct{}{}
	time.Sleep(s.handling)
	return fmt.Sprintf(`{"order":"ordered at %s"}`, time.Now().Format("15:04:05.000"))
}

// onEcho serves with Echo: the server's span first, then the guard.
func (s *shop) onEcho(l net.Listener, flow *httpflow.Flow) {
	e := echo.New()
	e.Use(otelecho.Middleware(s.service, otelecho.WithTracerProvider(s.spans), otelecho.WithPropagators(propagation.TraceContext{})))
	e.POST("/orders", func(c echo.Context) error {
		return c.JSONBlob(http.StatusCreated, []byte(s.order(c.Request().Context())))
	}, echoidem.Guard(flow, operation))
	server := &http.Server{Handler: e, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(l) }()
	s.closers = append([]func(context.Context) error{server.Shutdown}, s.closers...)
}

// onFiber serves with Fiber.
func (s *shop) onFiber(l net.Listener, flow *httpflow.Flow) {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Use(otelfiber.Middleware(otelfiber.WithTracerProvider(s.spans), otelfiber.WithPropagators(propagation.TraceContext{})))
	app.Post("/orders", fiberidem.Guard(flow, operation), func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
		return c.Status(http.StatusCreated).SendString(s.order(c.UserContext()))
	})
	go func() { _ = app.Listener(l) }()
	s.closers = append([]func(context.Context) error{app.ShutdownWithContext}, s.closers...)
}

// flush sends what spans there are.
func (s *shop) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return s.spans.ForceFlush(ctx)
}

// close ends the shop; the spans of its end are not waited for long.
func (s *shop) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, end := range s.closers {
		_ = end(ctx)
	}
	_ = s.spans.Shutdown(ctx)
}
