package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/go-idem/idem/audit"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
	"github.com/go-idem/idem/telemetry"
)

// lines are every series of a scrape: its name, its attributes, and its value or
// the number of its measurements.
func lines(t testing.TB, reader sdkmetric.Reader) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	list := map[string]float64{}
	put := func(m metricdata.Metrics, set attribute.Set, n float64) {
		list[fmt.Sprintf("%s{%s}%s", m.Name, m.Unit, set.Encoded(attribute.DefaultEncoder()))] = n
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					put(m, p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					put(m, p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					put(m, p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					put(m, p.Attributes, float64(p.Count))
				}
			case metricdata.Histogram[int64]:
				for _, p := range data.DataPoints {
					put(m, p.Attributes, float64(p.Count))
				}
			}
		}
	}
	return list
}

// life is a guard that has lived through everything that is measured. It lives in
// a synctest bubble: its lease is short, and a busy machine would lose it.
type life struct {
	guard *idem.Guard
	read  *sdkmetric.ManualReader
	spans *tracetest.SpanRecorder
	log   logText
	tel   *telemetry.Telemetry
	store *faulty
	token idem.Token
	audit journal
}

// logText is what was logged.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// journal keeps what is audited, as text.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(_ context.Context, events []audit.Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range events {
		fmt.Fprintf(&j.text, "%+v\n", e)
	}
	return nil
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

const (
	rawKey   = "raw-key-5d1c"
	rawBody  = "4111-1111-1111"
	rawScope = "alice@example.com"
)

func live(t *testing.T) *life {
	t.Helper()
	l := &life{read: sdkmetric.NewManualReader(), spans: tracetest.NewSpanRecorder(), store: &faulty{Store: memstore.New(memstore.Options{})}}
	var err error
	l.tel, err = telemetry.New(telemetry.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(l.read))),
		telemetry.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(l.spans))))
	if err != nil {
		t.Fatal(err)
	}
	events, err := audit.New(audit.Options{Sink: &l.audit})
	if err != nil {
		t.Fatal(err)
	}
	l.guard, err = idem.New(idem.Config{
		Store: l.store, Observer: l.tel, Auditor: events, Logger: slog.New(slog.NewTextHandler(&l.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		NameKey: idem.NameKey(idem.GenerateKey()), // local, so it could be left out
		Policies: []idem.Policy{
			{Operation: operation, Preset: idem.API, Key: []string{"token", "header:Idempotency-Key"}, OnDuplicate: idem.Wait, Wait: time.Minute, Lease: 100 * time.Millisecond},
			{Operation: "shop:tea:pour", Mode: idem.ModeObserve},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	stop, err := l.tel.Watch(l.guard, telemetry.WatchOptions{Every: time.Nanosecond, AuditDrops: func() int64 { return 3 }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		l.store.fail("")
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := errors.Join(l.guard.Close(ctx), events.Close(ctx)); err != nil {
			t.Error(err)
		}
	})
	return l
}

func (l *life) do(key, op string, run func(context.Context) (string, error)) (verdict idem.Verdict) {
	defer func() { _ = recover() }()
	_, verdict, _ = idem.Do(context.Background(), l.guard, idem.Intent{Operation: op, Scope: rawScope, Key: key, Source: "header"}, idem.JSON[string](), run)
	return verdict
}

// through lives through it.
func (l *life) through(t *testing.T) {
	t.Helper()
	ctx, done := context.Background(), func(context.Context) (string, error) { return rawBody, nil }
	l.do(rawKey, operation, done)
	l.do(rawKey, operation, done)
	l.do("error-"+rawKey, operation, func(context.Context) (string, error) { return "", errors.New(rawBody) })
	l.do("panic-"+rawKey, operation, func(context.Context) (string, error) { panic(rawBody) })
	l.do("observed-"+rawKey, "shop:tea:pour", done)
	l.do("observed-"+rawKey, "shop:tea:pour", done)
	var err error
	if l.token, err = l.guard.Issue(ctx, idem.TokenRequest{Operation: operation, Scope: rawScope}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.guard.Issue(ctx, idem.TokenRequest{Operation: rawBody, Scope: rawScope}); err == nil {
		t.Error("a token of no operation was issued")
	}
	time.Sleep(time.Second) // the bubble's clock: a token has an age
	_, _, _ = idem.Do(ctx, l.guard, idem.Intent{Operation: operation, Scope: rawScope, Token: l.token, Source: "token"}, idem.JSON[string](), done)
	held, err := l.guard.Claim(ctx, idem.Intent{Operation: operation, Scope: rawScope, Key: "slow-" + rawKey})
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan idem.Verdict)
	go func() { waits <- l.do("slow-"+rawKey, operation, done) }()
	until(t, "a lease is renewed", func() bool {
		return has(lines(t, l.read), "idem.lease.renewals{{renewal}}idem.operation="+operation)
	})
	until(t, "the repeat waits", func() bool {
		return slices.ContainsFunc(l.spans.Started(), func(s sdktrace.ReadWriteSpan) bool { return s.Name() == "idem.wait" })
	})
	_ = held.Complete(ctx, idem.Payload{Bytes: []byte(`"` + rawBody + `"`)})
	<-waits
	batch, err := l.guard.ClaimBatch(ctx, []idem.Intent{{Operation: operation, Scope: rawScope, Key: rawKey}, {Operation: operation, Scope: rawScope, Key: "error-" + rawKey}})
	if err != nil {
		t.Fatal(err)
	}
	batch[1].End(ctx)
	l.do("large-"+rawKey, operation, func(context.Context) (string, error) { return strings.Repeat(rawBody, 1<<20), nil })
	l.do("lost-"+rawKey, operation, func(ctx context.Context) (string, error) {
		l.store.fail("renew")
		<-ctx.Done()
		return "", ctx.Err()
	})
	l.store.fail("all")
	l.do("away-"+rawKey, operation, done)
	until(t, "the outage is told", l.guard.InOutage)
	until(t, "the outage is counted", func() bool { return has(lines(t, l.read), "idem.degrade.transitions") })
	l.store.fail("")
	l.tel.Flushed("redis", time.Millisecond)
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	end := time.NewTimer(time.Minute) // of the bubble's
	defer end.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !is() {
		select {
		case <-look.C:
		case <-end.C:
			t.Fatalf("it never came that %s", what)
		}
	}
}

func has(list map[string]float64, begins string) bool {
	for line, n := range list {
		if strings.HasPrefix(line, begins) && n > 0 {
			return true
		}
	}
	return false
}
