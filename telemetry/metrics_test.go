package telemetry_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
	"github.com/go-idem/idem/telemetry"
)

// faulty is a store that can be told to fail the calls of one step.
type faulty struct {
	*memstore.Store
	mu   sync.Mutex
	step string
}

func (f *faulty) UsesStoreStep() bool { return true }

func (f *faulty) fail(step string) { f.mu.Lock(); f.step = step; f.mu.Unlock() }

func (f *faulty) fault(ctx context.Context, asked ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.step != "" && (f.step == "all" || idem.StoreStep(ctx) == f.step) {
		return fmt.Errorf("the store is away, asked about %s", asked) // as some drivers say it
	}
	return nil
}

func (f *faulty) Create(ctx context.Context, name string, value []byte, ttl time.Duration) (idem.Result, error) {
	if err := f.fault(ctx, name, string(value)); err != nil {
		return idem.Result{}, err
	}
	return f.Store.Create(ctx, name, value, ttl)
}

func (f *faulty) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (idem.Result, error) {
	if err := f.fault(ctx, name, string(old), string(value)); err != nil {
		return idem.Result{}, err
	}
	return f.Store.Swap(ctx, name, old, value, ttl)
}

func (f *faulty) Load(ctx context.Context, name string) (idem.Result, error) {
	if err := f.fault(ctx); err != nil {
		return idem.Result{}, err
	}
	return f.Store.Load(ctx, name)
}

func (f *faulty) Apply(ctx context.Context, ops []idem.Op) []idem.OpResult {
	list := make([]idem.OpResult, len(ops))
	for i, op := range ops {
		ctx := idem.WithStoreStep(ctx, op.Step)
		switch op.Kind {
		case idem.OpCreate:
			list[i].Result, list[i].Err = f.Create(ctx, op.Name, op.Value, op.TTL)
		case idem.OpSwap:
			list[i].Result, list[i].Err = f.Swap(ctx, op.Name, op.Old, op.Value, op.TTL)
		default:
			list[i].Result, list[i].Err = f.Load(ctx, op.Name)
		}
	}
	return list
}

// metricRow finds a row of the table in docs/reference/metrics.md.
var metricRow = regexp.MustCompile("(?m)^\\| `(idem\\.[a-z_.]+)` \\| ([a-z -]+) \\| `([^`]+)` \\| (.*?) \\|")

// TestTheMetricsArePageAndPracticeAlike has a guard live through everything and
// holds docs/reference/metrics.md to what was measured: each metric, its unit and
// its attributes, and none else.
func TestTheMetricsArePageAndPracticeAlike(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	type told struct{ kind, unit, attributes string }
	want, got := map[string]told{}, map[string]map[string]bool{}
	for _, row := range metricRow.FindAllStringSubmatch(string(page), -1) {
		words := regexp.MustCompile("`([a-z._]+)`").FindAllStringSubmatch(row[4], -1)
		var list []string
		for _, w := range words {
			list = append(list, w[1])
		}
		slices.Sort(list)
		want[row[1]] = told{row[2], row[3], strings.Join(list, ",")}
	}
	units, kinds := map[string]string{}, map[string]string{}
	synctest.Test(t, func(t *testing.T) {
		l := live(t)
		l.through(t)
		// One request through HTTP, for the metrics that only a request has, and a
		// reconciler's look: both are told to the observer as they would be.
		_, end := l.guard.Observe(t.Context(), idem.Step{Kind: idem.StepAnswer, Operation: operation, Source: "header"})
		end.End(idem.StepResult{Verdict: idem.Executed})
		_, end = l.guard.Observe(t.Context(), idem.Step{Kind: idem.StepReconcile, Operation: operation})
		end.End(idem.StepResult{Result: "later"})
		kinds = kindsOf(t, l.read)
		for line := range lines(t, l.read) {
			name, rest, _ := strings.Cut(line, "{")
			cut := strings.LastIndex(rest, "}")
			units[name] = rest[:cut]
			if got[name] == nil {
				got[name] = map[string]bool{}
			}
			for _, pair := range strings.Split(rest[cut+1:], ",") {
				if key, _, is := strings.Cut(pair, "="); is {
					got[name][key] = true
				}
			}
		}
	})
	for name, attributes := range got {
		is := told{kinds[name], units[name], strings.Join(slices.Sorted(maps.Keys(attributes)), ",")}
		if want[name] != is {
			t.Errorf("%s: measured with %v, docs/reference/metrics.md says %v", name, is, want[name])
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("docs/reference/metrics.md has %s, which was never measured", name)
	}
}

// kindsOf says of each metric which kind it is.
func kindsOf(t *testing.T, reader sdkmetric.Reader) map[string]string {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			if kinds[m.Name] = "counter"; !data.IsMonotonic {
				kinds[m.Name] = "up-down counter"
			}
		case metricdata.Gauge[int64], metricdata.Gauge[float64]:
			kinds[m.Name] = "gauge"
		case metricdata.Histogram[int64], metricdata.Histogram[float64]:
			kinds[m.Name] = "histogram"
		}
	}
	return kinds
}

// The store is timed from a tenth of a millisecond on, and what an alert rule asks
// about a quantile is a bound of its own: where it lay inside a bucket, a rule would
// go by a guess.
func TestBucketsBeginAndDivideWhereTheRulesAsk(t *testing.T) {
	var all metricdata.ResourceMetrics
	synctest.Test(t, func(t *testing.T) {
		l := live(t)
		l.through(t)
		if err := l.read.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
	})
	bounds := map[string][]float64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if h, ok := m.Data.(metricdata.Histogram[float64]); ok {
			bounds[m.Name] = h.DataPoints[0].Bounds
		}
	}
	for name, asked := range map[string][]float64{
		"idem.store.operation.duration": {1e-4, 0.005, 0.05}, "idem.lease.utilization": {0.8}, "idem.handler.duration": {5, 60, 300}, "idem.token.age": {180},
	} {
		for _, bound := range asked {
			if !slices.Contains(bounds[name], bound) {
				t.Errorf("%s has the bounds %v, not %v", name, bounds[name], bound)
			}
		}
	}
	if least := bounds["idem.store.operation.duration"]; least == nil || least[0] != 1e-4 {
		t.Errorf("the store is timed by %v", least)
	}
}

// A call that the store did not answer in time is told from one that it refused,
// whatever clock was running.
func TestAStoresTimeoutIsToldFromItsRefusal(t *testing.T) {
	for _, row := range []struct {
		err  error
		want string
	}{{context.DeadlineExceeded, "timeout"}, {fmt.Errorf("read: %w", os.ErrDeadlineExceeded), "timeout"}, {errors.New("READONLY"), "store"}} {
		read := sdkmetric.NewManualReader()
		tel, err := telemetry.New(telemetry.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(read))))
		if err != nil {
			t.Fatal(err)
		}
		_, end := tel.Start(t.Context(), idem.Step{Kind: idem.StepStore, Store: "redis", Call: "claim"})
		end(idem.StepResult{Err: row.err})
		if !has(lines(t, read), "idem.store.operation.duration{s}error.type="+row.want) {
			t.Errorf("%v is told as %v, want %s", row.err, lines(t, read), row.want)
		}
	}
}

// error.type is the same word on the span and on the metric.
func TestErrorTypeAgreesOnSpanAndMetric(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := live(t)
		if _, err := l.guard.Issue(t.Context(), idem.TokenRequest{Operation: operation}); err == nil {
			t.Fatal("a token without a scope")
		}
		onSpan := ""
		for _, s := range named(l.spans.Ended(), "idem.issue") {
			for _, a := range s.Attributes() {
				if a.Key == "error.type" {
					onSpan = a.Value.AsString()
				}
			}
		}
		if list := lines(t, l.read); onSpan == "" || list["idem.tokens.issued{{token}}error.type="+onSpan+",idem.operation="+operation] != 1 {
			t.Errorf("the span says %q, the metrics %v", onSpan, list)
		}
	})
}

// error.type is one of a closed list, and where a step has both a span and a metric
// that says it, they say the same.
func TestErrorTypeIsOneOfAList(t *testing.T) {
	page, err := os.ReadFile("../docs/how-to/jaeger.md")
	if err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom " + rawBody)
	for _, row := range []struct {
		step   idem.StepKind
		result idem.StepResult
		want   string
	}{
		{idem.StepClaim, idem.StepResult{Verdict: idem.Unavailable}, "unavailable"},
		{idem.StepSettle, idem.StepResult{Result: "stale", Err: boom}, "claim_lost"},
		{idem.StepSettle, idem.StepResult{Result: "retry", Err: boom}, "settle_pending"},
		{idem.StepReplay, idem.StepResult{Err: boom}, "unreadable"},
		{idem.StepReconcile, idem.StepResult{Result: "gave-up"}, "gave_up"},
		{idem.StepReconcile, idem.StepResult{Result: "error", Err: boom}, "resolver"},
		{idem.StepIssue, idem.StepResult{Err: boom}, "issue_refused"},
		{idem.StepIssue, idem.StepResult{Err: idem.ErrUnavailable}, "unavailable"},
		{idem.StepRun, idem.StepResult{Err: boom}, ""}, // it belongs to the server's span
		{idem.StepClaim, idem.StepResult{Verdict: idem.Conflict}, ""},
		{idem.StepReplay, idem.StepResult{Verdict: idem.Replayed}, ""},
	} {
		rec, read := tracetest.NewSpanRecorder(), sdkmetric.NewManualReader()
		tel, err := telemetry.New(telemetry.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(rec))),
			telemetry.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(read))))
		if err != nil {
			t.Fatal(err)
		}
		_, end := tel.Start(t.Context(), idem.Step{Kind: row.step, Operation: operation})
		end(row.result)
		got := ""
		for _, a := range rec.Ended()[0].Attributes() {
			if a.Key == "error.type" {
				got = a.Value.AsString()
			}
		}
		if got != row.want || (rec.Ended()[0].Status().Code == codes.Error) != (got != "") {
			t.Errorf("%s, %+v: error.type %q, status %v; want %q", row.step, row.result, got, rec.Ended()[0].Status(), row.want)
		}
		for line := range lines(t, read) {
			if strings.HasPrefix(line, "idem.tokens.issued") && !strings.Contains(line, "error.type="+got+",") {
				t.Errorf("the span says %q, the metric %s", got, line)
			}
		}
		if got != "" && !strings.Contains(string(page), "`"+got+"`") {
			t.Errorf("docs/how-to/jaeger.md does not list %s", got)
		}
	}
}

// Whatever clients send, the series stay the same.
func TestTenThousandKeysMakeNoSeries(t *testing.T) {
	read := sdkmetric.NewManualReader()
	tel, err := telemetry.New(telemetry.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(read))))
	if err != nil {
		t.Fatal(err)
	}
	guard, err := idem.New(idem.Config{Store: memstore.New(memstore.Options{}), Observer: tel, Policies: []idem.Policy{{Operation: operation, Preset: idem.API}}})
	if err != nil {
		t.Fatal(err)
	}
	defer guard.Close(context.Background())
	some := func(n int) {
		for range n {
			in := idem.Intent{Operation: operation, Scope: rand.Text(), Key: rand.Text()}
			_, _, _ = idem.Do(context.Background(), guard, in, idem.JSON[int](), func(context.Context) (int, error) { return 1, nil })
			_, _ = guard.Issue(context.Background(), idem.TokenRequest{Operation: "no:such:" + rand.Text(), Scope: rawScope})
			in.Operation = "no:such:" + in.Key
			_, _, _ = idem.Do(context.Background(), guard, in, idem.JSON[int](), func(context.Context) (int, error) { return 1, nil })
		}
	}
	some(10)
	before := lines(t, read)
	some(10_000)
	after := lines(t, read)
	if len(after) != len(before) || len(before) < 8 {
		t.Errorf("%d series before, %d after: %v", len(before), len(after), after)
	}
	if n := after["idem.requests{{request}}idem.operation="+operation+",idem.source=func,idem.verdict=executed"]; n != 10_010 {
		t.Errorf("%v requests were counted", n)
	}
}

// Nothing of a whole life (logs, spans, metrics, audit events) holds a key, a token, a body or who asked.
func TestNothingRawIsInLogsSpansOrMetricsOfALife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := live(t)
		l.through(t)
		until(t, "the end of a run is audited", func() bool { return strings.Contains(l.audit.String(), operation) })
		text := l.log.String() + l.audit.String() + fmt.Sprint(lines(t, l.read))
		for _, s := range l.spans.Ended() {
			text += fmt.Sprintln(s.Name(), s.Attributes(), s.Links(), s.Events(), s.Status())
		}
		for _, raw := range []string{rawKey, rawBody, rawScope, l.token.Reveal()} {
			if strings.Contains(text, raw) {
				t.Errorf("%q stands in logs, spans or metrics", raw)
			}
		}
		if !strings.Contains(text, "claim lost while it ran") || !strings.Contains(text, "idem.claim_batch") || !strings.Contains(text, "idem.degrade.transitions") {
			t.Error("the life was too short: this test looks at nothing")
		}
	})
}

// Each request has one verdict and adds one, on each framework.
func TestEachRequestAddsOne(t *testing.T) {
	w := watch(t, idem.Policy{Preset: idem.API})
	sent := 0
	for _, send := range w.servers(t, http.StatusCreated) {
		for _, key := range []string{"a", "b", "a", `"`} {
			send(key)
			sent++
			sum := int64(0)
			got, _, _ := w.counts(t)
			for _, n := range got {
				sum += n
			}
			if sum != int64(sent) {
				t.Fatalf("after %d requests idem.requests says %d", sent, sum)
			}
		}
	}
}

// A worker's request counts once as well, whoever brought its key, and a batch's
// once an item.
func TestEachRequestOutsideHTTPAddsOne(t *testing.T) {
	w := watch(t, idem.Policy{Preset: idem.API})
	in := func(key string) idem.Intent {
		return idem.Intent{Operation: operation, Scope: rawScope, Key: key}
	}
	one := func(context.Context) (int, error) { return 1, nil }
	for _, key := range []string{"a", "b", "a"} {
		if _, _, err := idem.Do(t.Context(), w.guard, in(key), idem.JSON[int](), one); err != nil {
			t.Fatal(err)
		}
	}
	_, err := idem.DoBatch(t.Context(), w.guard, []idem.Intent{in("a"), in("c"), in("d")}, idem.JSON[int](),
		func(_ context.Context, won []idem.Item) []idem.Answer[int] { return make([]idem.Answer[int], len(won)) })
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := idem.Do(t.Context(), w.guard, idem.Intent{Operation: "shop:" + rawKey + ":made-up", Scope: rawScope, Key: "k"}, idem.JSON[int](), one); err == nil {
		t.Fatal("an operation that there is not")
	}
	got, timed, text := w.counts(t)
	if want := map[string]int64{"executed": 4, "replayed": 2}; !maps.Equal(got, want) || timed != 6 {
		t.Errorf("counted %v, timed %d; want %v", got, timed, want)
	}
	if strings.Contains(text, rawKey) {
		t.Error("the name of an operation that there is not became a series")
	}
}
