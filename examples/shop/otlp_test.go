package main

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	idem "github.com/go-idem/idem/core"
)

// collector is a receiver of OTLP over HTTP, as far as the shop needs one.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	spans    []*tracev1.Span
	metrics  []*metricsv1.Metric
	services map[string]bool
	raw      bytes.Buffer // everything that was sent, readable
}

func openCollector(t *testing.T) *collector {
	c := &collector{services: map[string]bool{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := c.receive(r); err != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) receive(r *http.Request) error {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			return err
		}
		body = unzipped
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/v1/metrics") {
		var sent collectmetrics.ExportMetricsServiceRequest
		if err := proto.Unmarshal(text, &sent); err != nil {
			return err
		}
		c.raw.WriteString(protojson.Format(&sent))
		for _, from := range sent.ResourceMetrics {
			for _, scope := range from.ScopeMetrics {
				c.metrics = append(c.metrics, scope.Metrics...)
			}
		}
		return nil
	}
	var sent collecttraces.ExportTraceServiceRequest
	if err := proto.Unmarshal(text, &sent); err != nil {
		return err
	}
	c.raw.WriteString(protojson.Format(&sent))
	for _, from := range sent.ResourceSpans {
		for _, a := range from.Resource.Attributes {
			if a.Key == "service.name" {
				c.services[a.Value.GetStringValue()] = true
			}
		}
		for _, scope := range from.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	return nil
}

// named returns the spans of a name.
func (c *collector) named(name string) (list []*tracev1.Span) {
	for _, s := range c.spans {
		if s.Name == name {
			list = append(list, s)
		}
	}
	return list
}

// server returns the server span of a trace.
func (c *collector) server(t *testing.T, trace []byte) *tracev1.Span {
	t.Helper()
	for _, s := range c.spans {
		if s.Kind == tracev1.Span_SPAN_KIND_SERVER && bytes.Equal(s.TraceId, trace) {
			return s
		}
	}
	t.Fatalf("trace %x has no server span", trace)
	return nil
}

func TestDuplicateLeadsToItsOriginalInTheTraceThatIsSent(t *testing.T) {
	for _, adapter := range adapters {
		t.Run(adapter, func(t *testing.T) {
			c := openCollector(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
			t.Setenv("OTEL_SERVICE_NAME", "tea-"+adapter)
			var p *person
			var form map[string][]string
			t.Run("order twice", func(t *testing.T) { // and close the shop, which sends what is left
				d, _ := openTestDemo(t, "-store", "memory", "-adapter", adapter)
				p = visit(t, d)
				_, typed := p.load("/")
				form = typed
				if first, again := p.press("/orders", typed), p.press("/orders", typed); first.verdict != "executed" || again.verdict != "replayed" {
					t.Fatalf("%s, then %s", first.verdict, again.verdict)
				}
			})
			c.mu.Lock()
			defer c.mu.Unlock()
			if !c.services["tea-"+adapter] {
				t.Errorf("the spans are of %v, want tea-%s", c.services, adapter)
			}
			runs, replays := c.named("idem.run"), c.named("idem.replay")
			if len(runs) != 1 || len(replays) != 1 || len(replays[0].Links) != 1 {
				t.Fatalf("%d runs and %d replays arrived, want one of each, and one link: %v", len(runs), len(replays), replays)
			}
			original, link := c.server(t, runs[0].TraceId), replays[0].Links[0]
			if !bytes.Equal(link.TraceId, original.TraceId) || !bytes.Equal(link.SpanId, original.SpanId) {
				t.Errorf("the replay is linked to %x/%x, want the original's server span %x/%x", link.TraceId, link.SpanId, original.TraceId, original.SpanId)
			}
			if again := c.server(t, replays[0].TraceId); bytes.Equal(again.TraceId, original.TraceId) {
				t.Errorf("both requests are in trace %s", hex.EncodeToString(original.TraceId))
			}
			if s := replays[0].Status; s != nil && s.Code == tracev1.Status_STATUS_CODE_ERROR {
				t.Error("the replay is shown as an error")
			}
			counted := false
			for _, m := range c.metrics {
				counted = counted || m.Name == "idem.requests"
			}
			if !counted {
				t.Error("idem.requests did not arrive")
			}
			for name, secret := range map[string]string{"the token": form[idem.TokenField][0], "the visitor": p.cookies[visitorCookie], "the name": "Grace Test"} {
				if strings.Contains(c.raw.String(), secret) {
					t.Errorf("%s was sent to the collector", name)
				}
			}
		})
	}
}

func TestNothingIsExportedUnlessAsked(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"nothing set":      {},
		"disabled":         {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		"exporters none":   {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"},
		"name, no address": {"OTEL_SERVICE_NAME": "tea"},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range env {
				t.Setenv(key, value)
			}
			if x, err := openExport(t.Context()); x != nil || err != nil {
				t.Errorf("%v, %v: want nothing", x, err)
			}
		})
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	if _, err := openExport(t.Context()); err == nil || !strings.Contains(err.Error(), "http/protobuf only") {
		t.Errorf("with a protocol it does not speak: %v", err)
	}
}
