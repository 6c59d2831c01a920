package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// On both frameworks: the wait and the replay of the duplicates are linked to the
// original's server span, and are no children of it; the run is; Redis's spans stand
// under the guard's; and no span holds the key, the body, the answer or a statement.
func TestDuplicatesAreLinkedToTheOriginal(t *testing.T) {
	for _, framework := range frameworks {
		t.Run(framework, func(t *testing.T) {
			kept := tracetest.NewInMemoryExporter()
			spans := played(t, framework, func(context.Context) (sdktrace.SpanExporter, error) { return kept, nil }, kept.GetSpans)
			var server tracetest.SpanStub
			for _, s := range spans {
				if s.Name == "idem.run" {
					server = named(t, spans, s.Parent.SpanID().String())
				}
			}
			if !server.SpanContext.IsValid() || server.Parent.IsValid() {
				t.Fatalf("the run does not stand under a server span: %+v", server)
			}
			for _, name := range []string{"idem.wait", "idem.replay"} {
				linked := 0
				for _, s := range spans {
					if s.Name != name || len(s.Links) == 0 {
						continue
					}
					linked++
					if s.Links[0].SpanContext.SpanID() != server.SpanContext.SpanID() {
						t.Errorf("%s is linked to %v", name, s.Links[0].SpanContext.SpanID())
					}
					if s.SpanContext.TraceID() == server.SpanContext.TraceID() {
						t.Errorf("%s is in the original's trace", name)
					}
				}
				if linked == 0 {
					t.Errorf("no %s has a link", name)
				}
			}
			if !holds(spans, "set") || !holds(spans, "charge card") {
				t.Error("Redis's spans or the application's are missing")
			}
			for _, s := range spans {
				for _, a := range s.Attributes {
					if v := a.Value.String(); strings.Contains(v, "tea") || strings.Contains(v, "ordered at") || strings.Contains(string(a.Key), "db.statement") {
						t.Errorf("span %s holds %s = %s", s.Name, a.Key, v)
					}
				}
			}
		})
	}
}

// played has a shop pressed and returns its spans.
func played[T any](t *testing.T, framework string, to func(context.Context) (sdktrace.SpanExporter, error), read func() T) T {
	t.Helper()
	m := miniredis.RunT(t)
	s, err := open(t.Context(), framework, m.Addr(), to)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	s.handling = 3 * time.Second // in which a second press comes on a busy machine, too
	if err := press(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := s.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return read()
}

func named(t *testing.T, spans tracetest.SpanStubs, id string) tracetest.SpanStub {
	t.Helper()
	for _, s := range spans {
		if s.SpanContext.SpanID().String() == id {
			return s
		}
	}
	t.Fatalf("no span %s", id)
	return tracetest.SpanStub{}
}

func holds(spans tracetest.SpanStubs, name string) bool {
	for _, s := range spans {
		if s.Name == name {
			return true
		}
	}
	return false
}

// A real Jaeger receives the demonstration's spans, its API returns for the
// duplicate's trace a reference to the original's, and the picture is drawn from
// that.
func TestJaegerShowsTheLink(t *testing.T) {
	otlp, api := startJaeger(t)
	began := time.Now()
	for _, framework := range frameworks {
		played(t, framework, func(ctx context.Context) (sdktrace.SpanExporter, error) {
			return otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(otlp+"/v1/traces"))
		}, func() any { return nil })
		p, err := pairIn(t.Context(), api, "shop-"+framework, began)
		if err != nil {
			t.Fatal(err)
		}
		if p.original.ID == p.duplicate.ID || p.to.parent() != "" || !strings.HasSuffix(p.to.Name, "/orders") {
			t.Errorf("%s: the link leads from %s to %s", framework, p.from.Name, p.to.Name)
		}
		picture := draw(p)
		if err := wellFormed(picture); err != nil || !bytes.Contains(picture, []byte("span link")) || !bytes.Contains(picture, []byte("charge card")) {
			t.Errorf("the picture: %v\n%s", err, picture)
		}
	}
}

func wellFormed(text []byte) error {
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// startJaeger starts the Jaeger of the cache on free ports, or skips.
func startJaeger(t *testing.T) (otlp, api string) {
	t.Helper()
	folder, err := os.UserCacheDir()
	found, _ := filepath.Glob(filepath.Join(folder, "idem", "jaeger-v*"))
	if err != nil || len(found) == 0 {
		t.Skip("Jaeger is not in the cache: make jaeger builds it")
	}
	http4318, query, grpc := free(t), free(t), free(t)
	cmd := exec.CommandContext(t.Context(), found[len(found)-1], "--config", "jaeger.yaml")
	cmd.Env = append(os.Environ(), "JAEGER_OTLP_HTTP="+http4318, "JAEGER_QUERY_HTTP="+query, "JAEGER_QUERY_GRPC="+grpc)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the test's context has ended it by now
	api = "http://" + query
	eventually(t, func() bool {
		resp, err := http.Get(api + "/api/services")
		if err == nil {
			_ = resp.Body.Close()
		}
		conn, dialed := net.Dial("tcp", http4318)
		if dialed == nil {
			_ = conn.Close()
		}
		return err == nil && dialed == nil && resp.StatusCode == http.StatusOK
	})
	return "http://" + http4318, api
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("Jaeger did not start")
		}
	}
}

func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Traces of other services, and links to what Jaeger does not have, are no pair.
func TestPairNeedsBothEnds(t *testing.T) {
	wait := span{ID: "b", Name: "idem.wait", References: []reference{{"CHILD_OF", "2", "a"}, {"FOLLOWS_FROM", "1", "x"}}}
	duplicate := trace{ID: "2", Spans: []span{{ID: "a"}, wait}}
	if _, found := pairOf([]trace{duplicate}); found {
		t.Error("a link to a trace that is not there made a pair")
	}
	if _, found := pairOf([]trace{duplicate, {ID: "1", Spans: []span{{ID: "y"}}}}); found {
		t.Error("a link to a span that is not there made a pair")
	}
	p, found := pairOf([]trace{duplicate, {ID: "1", Spans: []span{{ID: "x", Name: "POST /orders"}}}})
	if !found || p.to.Name != "POST /orders" || p.from.parent() != "a" {
		t.Errorf("%v, %+v", found, p)
	}
}
