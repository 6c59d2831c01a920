package telemetry_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	echoidem "github.com/go-idem/idem/adapters/echo"
	fiberidem "github.com/go-idem/idem/adapters/fiber"
	"github.com/go-idem/idem/adapters/stdhttp"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/stores/memstore"
	"github.com/go-idem/idem/telemetry"
)

const operation = "shop:order:create"

// watched is a guard whose spans and metrics are kept in memory.
type watched struct {
	flow  *httpflow.Flow
	guard *idem.Guard
	spans *tracetest.SpanRecorder
	read  *sdkmetric.ManualReader
	trace trace.Tracer
}

func watch(t *testing.T, p idem.Policy) *watched {
	t.Helper()
	w := &watched{spans: tracetest.NewSpanRecorder(), read: sdkmetric.NewManualReader()}
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(w.spans))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(w.read))
	w.trace = tracers.Tracer("server")
	tel, err := telemetry.New(telemetry.WithTracerProvider(tracers), telemetry.WithMeterProvider(meters))
	if err != nil {
		t.Fatal(err)
	}
	p.Operation = operation
	w.guard, err = idem.New(idem.Config{Store: memstore.New(memstore.Options{}), Policies: []idem.Policy{p}, Observer: tel})
	if err != nil {
		t.Fatal(err)
	}
	w.flow, err = httpflow.New(httpflow.Config{
		Guard: w.guard, TraceParent: telemetry.TraceParent,
		Scope: func(httpflow.Request) (string, error) { return "alice", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.guard.Close(context.Background()) })
	return w
}

// serverSpan starts the span that otelhttp, otelecho or otelfiber would.
func (w *watched) serverSpan(ctx context.Context) (context.Context, trace.Span) {
	return w.trace.Start(ctx, "server", trace.WithSpanKind(trace.SpanKindServer))
}

const orderBody = `{"secret":"4111-1111"}`

// servers are one handler on the three frameworks, each behind a middleware
// that starts the server's span.
func (w *watched) servers(t *testing.T, status int) map[string]func(key string) {
	mux := http.NewServeMux()
	mux.Handle("POST /orders", stdhttp.Guard(w.flow, operation, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(status)
	})))
	std := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ctx, span := w.serverSpan(r.Context())
		defer span.End()
		mux.ServeHTTP(rw, r.WithContext(ctx))
	})
	e := echo.New()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			ctx, span := w.serverSpan(c.Request().Context())
			defer span.End()
			c.SetRequest(c.Request().WithContext(ctx))
			return next(c)
		}
	})
	e.POST("/orders", func(c echo.Context) error { return c.NoContent(status) }, echoidem.Guard(w.flow, operation))
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Use(func(c *fiber.Ctx) error {
		ctx, span := w.serverSpan(c.UserContext())
		defer span.End()
		c.SetUserContext(ctx)
		return c.Next()
	})
	app.Post("/orders", fiberidem.Guard(w.flow, operation), func(c *fiber.Ctx) error { return c.SendStatus(status) })

	request := func(key string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(orderBody))
		r.Header.Set("Idempotency-Key", key)
		r.Header.Set("Content-Type", "application/json")
		return r
	}
	return map[string]func(string){
		"stdhttp": func(key string) { std.ServeHTTP(httptest.NewRecorder(), request(key)) },
		"echo":    func(key string) { e.ServeHTTP(httptest.NewRecorder(), request(key)) },
		"fiber": func(key string) {
			res, err := app.Test(request(key), -1) // without it Fiber waits a second
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		},
	}
}

func named(spans []sdktrace.ReadOnlySpan, name string) (list []sdktrace.ReadOnlySpan) {
	for _, s := range spans {
		if s.Name() == name {
			list = append(list, s)
		}
	}
	return list
}

func TestADuplicateIsLinkedToTheRunThatDidTheWork(t *testing.T) {
	for _, adapter := range []string{"stdhttp", "echo", "fiber"} {
		t.Run(adapter, func(t *testing.T) {
			w := watch(t, idem.Policy{Preset: idem.API})
			send := w.servers(t, http.StatusCreated)[adapter]
			send("k")
			first := named(w.spans.Ended(), "server")
			send("k")
			servers, replays := named(w.spans.Ended(), "server"), named(w.spans.Ended(), "idem.replay")
			if len(first) != 1 || len(servers) != 2 || len(replays) != 1 {
				t.Fatalf("%d, %d server spans and %d replays; want 1, 2 and 1", len(first), len(servers), len(replays))
			}
			replay, links := replays[0], replays[0].Links()
			if len(links) != 1 || links[0].SpanContext.SpanID() != first[0].SpanContext().SpanID() || links[0].SpanContext.TraceID() != first[0].SpanContext().TraceID() {
				t.Fatalf("the replay is linked to %v, want the first server span %v", links, first[0].SpanContext())
			}
			if !slices.Contains(links[0].Attributes, attribute.String("idem.link.type", "original_request")) {
				t.Errorf("the link says %v", links[0].Attributes)
			}
			if replay.Parent().SpanID() != servers[1].SpanContext().SpanID() {
				t.Error("the replay is not a child of its own server span")
			}
			if replay.SpanContext().TraceID() == first[0].SpanContext().TraceID() {
				t.Error("the duplicate's trace is the original's")
			}
			for _, name := range []string{"idem.claim", "idem.run", "idem.settle"} {
				want := 1
				if name == "idem.claim" {
					want = 2
				}
				if got := len(named(w.spans.Ended(), name)); got != want {
					t.Errorf("%d spans %s, want %d", got, name, want)
				}
			}
		})
	}
}

func TestARefusedDuplicateIsNoError(t *testing.T) {
	for _, adapter := range []string{"stdhttp", "echo", "fiber"} {
		t.Run(adapter, func(t *testing.T) {
			w := watch(t, idem.Policy{Preset: idem.API})
			send := w.servers(t, http.StatusCreated)[adapter]
			c, err := w.guard.Claim(context.Background(), idem.Intent{Operation: operation, Scope: "alice", Key: "k"})
			if err != nil || !c.Won() {
				t.Fatal(err)
			}
			send("k") // other request: conflict
			_ = c.Release(context.Background())
			send("k")
			send("k")
			for _, s := range w.spans.Ended() {
				if s.Status().Code != codes.Unset {
					t.Errorf("span %s has status %v", s.Name(), s.Status())
				}
				for _, a := range s.Attributes() {
					if a.Key == "error.type" {
						t.Errorf("span %s has error.type %s", s.Name(), a.Value.String())
					}
				}
				if len(s.Events()) != 0 {
					t.Errorf("span %s has events", s.Name())
				}
			}
		})
	}
}

func TestWhatObserveLetsRunIsCounted(t *testing.T) {
	w := watch(t, idem.Policy{Preset: idem.API, Mode: idem.ModeObserve})
	send := w.servers(t, http.StatusCreated)["stdhttp"]
	for range 3 {
		send("k")
	}
	var all metricdata.ResourceMetrics
	if err := w.read.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
			for _, p := range sum.DataPoints {
				verdict, judged := p.Attributes.Value("idem.verdict")
				if !judged {
					continue
				}
				seen[m.Name+" "+verdict.AsString()] += p.Value
			}
		}
	}
	want := map[string]int64{"idem.requests executed": 1, "idem.requests unprotected": 2, "idem.observed replayed": 2}
	if !maps.Equal(seen, want) {
		t.Errorf("counted %v, want %v", seen, want)
	}
}

// counts reads idem.requests by verdict, and how often our own time was taken.
func (w *watched) counts(t *testing.T) (requests map[string]int64, timed uint64, text string) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := w.read.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	requests = map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					if v, _ := p.Attributes.Value("idem.verdict"); m.Name == "idem.requests" {
						requests[v.AsString()] += p.Value
					}
					text += p.Attributes.Encoded(attribute.DefaultEncoder())
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					if m.Name == "idem.overhead.duration" {
						timed += p.Count
					}
					text += p.Attributes.Encoded(attribute.DefaultEncoder())
				}
			}
		}
	}
	return requests, timed, text
}

func TestEachVerdictCountsOnce(t *testing.T) {
	for _, adapter := range []string{"stdhttp", "echo", "fiber"} {
		t.Run(adapter, func(t *testing.T) {
			w := watch(t, idem.Policy{Preset: idem.API})
			send := w.servers(t, http.StatusCreated)[adapter]
			for _, key := range []string{"a", "a", "a", "b", `"`} {
				send(key)
			}
			got, timed, _ := w.counts(t)
			if got["executed"] != 2 || got["replayed"] != 2 || got["malformed"] != 1 || len(got) != 3 || timed != 5 {
				t.Errorf("counted %v, timed %d", got, timed)
			}
		})
	}
}

func TestStatement46_NothingRawIsInSpansOrMetrics(t *testing.T) {
	const key, seldom = "raw-key-7f3a", "4111-1111"
	for _, adapter := range []string{"stdhttp", "echo", "fiber"} {
		w := watch(t, idem.Policy{Preset: idem.API, Key: []string{"token", "header:Idempotency-Key"}})
		token, err := w.guard.Issue(context.Background(), idem.TokenRequest{Operation: operation, Scope: "alice"})
		if err != nil {
			t.Fatal(err)
		}
		send := w.servers(t, http.StatusCreated)[adapter]
		send(key)
		send(key)
		_, _, text := w.counts(t)
		for _, s := range w.spans.Ended() {
			text += s.Name()
			for _, a := range s.Attributes() {
				text += " " + a.Value.String()
			}
			for _, l := range s.Links() {
				for _, a := range l.Attributes {
					text += " " + a.Value.String()
				}
			}
		}
		for _, raw := range []string{key, seldom, token.Reveal(), "alice"} {
			if strings.Contains(text, raw) {
				t.Errorf("%s: %q stands in spans or metrics", adapter, raw)
			}
		}
		if !strings.Contains(text, operation) {
			t.Errorf("%s: the operation is not told: this test looks at nothing", adapter)
		}
	}
}

func TestTraceParentIsThatOfTheSampledSpan(t *testing.T) {
	if got := telemetry.TraceParent(context.Background()); got != nil {
		t.Errorf("without a span: %s", got)
	}
	w := watch(t, idem.Policy{})
	ctx, span := w.serverSpan(context.Background())
	defer span.End()
	back := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": string(telemetry.TraceParent(ctx))})
	if !trace.SpanContextFromContext(back).Equal(span.SpanContext().WithRemote(true)) {
		t.Errorf("%s is not the span's", telemetry.TraceParent(ctx))
	}
}

func TestAWorkersFailureIsTold(t *testing.T) {
	w := watch(t, idem.Policy{Preset: idem.API})
	in := idem.Intent{Operation: operation, Scope: "alice", Key: "k"}
	_, _, err := idem.Do(context.Background(), w.guard, in, idem.JSON[int](), func(context.Context) (int, error) { return 0, errors.New("boom") })
	if err == nil {
		t.Fatal("no error")
	}
	if got := named(w.spans.Ended(), "idem.settle"); len(got) != 1 || !slices.Contains(got[0].Attributes(), attribute.String("idem.verdict", "released")) {
		t.Errorf("settle spans %v", got)
	}
}

func TestAFilterKeepsSpansOut(t *testing.T) {
	rec := tracetest.NewSpanRecorder()
	tel, err := telemetry.New(
		telemetry.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(rec))),
		telemetry.WithSpanFilter(func(s idem.Step) bool { return s.Kind == idem.StepRun }))
	if err != nil {
		t.Fatal(err)
	}
	guard, err := idem.New(idem.Config{Store: memstore.New(memstore.Options{}), Observer: tel, Policies: []idem.Policy{{Operation: operation}}})
	if err != nil {
		t.Fatal(err)
	}
	defer guard.Close(context.Background())
	_, _, _ = idem.Do(context.Background(), guard, idem.Intent{Operation: operation, Scope: "a", Key: "k"}, idem.JSON[int](),
		func(context.Context) (int, error) { return 1, nil })
	if got := rec.Ended(); len(got) != 1 || got[0].Name() != "idem.run" {
		t.Errorf("%d spans, want only idem.run", len(got))
	}
}

func TestExtraAttributesStandOnEveryMeasurement(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	var meters metric.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	tel, err := telemetry.New(telemetry.WithMeterProvider(meters), telemetry.WithMetricAttributes(attribute.String("region", "north")))
	if err != nil {
		t.Fatal(err)
	}
	_, end := tel.Start(context.Background(), idem.Step{Kind: idem.StepAnswer, Operation: operation, Source: "header"})
	end(idem.StepResult{Verdict: idem.Executed})
	guard, err := idem.New(idem.Config{Store: memstore.New(memstore.Options{}), Observer: tel, Policies: []idem.Policy{{Operation: operation, Preset: idem.API}}})
	if err != nil {
		t.Fatal(err)
	}
	defer guard.Close(context.Background())
	stop, err := tel.Watch(guard, telemetry.WatchOptions{AuditDrops: func() int64 { return 3 }})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	_, _, _ = idem.Do(context.Background(), guard, idem.Intent{Operation: operation, Scope: "a", Key: "k"}, idem.JSON[int](),
		func(context.Context) (int, error) { return 1, nil })
	list := lines(t, reader)
	for line := range list {
		if !strings.Contains(line, "region=north") {
			t.Errorf("%s has none", line)
		}
	}
	if len(list) < 15 {
		t.Errorf("only %d series: this test looks at too little", len(list))
	}
}

func TestStepsOfAnUnsampledRequestAreLeftOutUnlessAskedFor(t *testing.T) {
	silent := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	ctx, server := silent.Tracer("server").Start(context.Background(), "server")
	defer server.End()
	for name, row := range map[string]struct {
		options []telemetry.Option
		want    int
	}{"by default": {nil, 0}, "orphans": {[]telemetry.Option{telemetry.WithOrphans()}, 1}} {
		rec := tracetest.NewSpanRecorder()
		all := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithSpanProcessor(rec))
		tel, err := telemetry.New(append(row.options, telemetry.WithTracerProvider(all))...)
		if err != nil {
			t.Fatal(err)
		}
		if _, end := tel.Start(ctx, idem.Step{Kind: idem.StepRun, Operation: operation}); end != nil {
			end(idem.StepResult{})
		}
		if got := len(rec.Ended()); got != row.want {
			t.Errorf("%s: %d spans, want %d", name, got, row.want)
		}
	}
}

// A claim or an outcome that a failover may lose says so on its span.
func TestAWeakClaimSaysSoOnItsSpan(t *testing.T) {
	rec := tracetest.NewSpanRecorder()
	tel, err := telemetry.New(telemetry.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(rec))))
	if err != nil {
		t.Fatal(err)
	}
	for _, weak := range []bool{true, false} {
		_, end := tel.Start(context.Background(), idem.Step{Kind: idem.StepClaim, Operation: operation})
		end(idem.StepResult{Weak: weak})
	}
	is := attribute.Bool("idem.weak", true)
	if got := rec.Ended(); len(got) != 2 || !slices.Contains(got[0].Attributes(), is) || slices.Contains(got[1].Attributes(), is) {
		t.Errorf("spans %v", got)
	}
}
