// Tracing shows in Jaeger how a duplicate leads to the run that did the work.
//
//	make jaeger          # a real Jaeger on loopback; leave it running
//	make trace-demo      # two shops, a double press each, and a picture
//
// There are two small shops, one on Echo (with otelecho) and one on Fiber (with
// otelfiber), their records in Redis (with redisotel, statements off). A customer
// presses twice: the second request comes while the first still runs, waits, and is
// given the first one's answer. A third comes when all is over. In Jaeger each of
// the two has a trace of its own, and its idem.wait or idem.replay span has a link to
// the server span of the original.
//
//	-otlp http://127.0.0.1:4318      where spans go (OTLP over HTTP)
//	-jaeger http://127.0.0.1:16686   whose API is asked for what arrived
//	-svg FILE                        draws the two traces and the link, from the API's answer
//	-redis host:port                 a Redis; without it an embedded miniredis
//	-serve                           keeps the shops open after the demonstration
//
// Where to read: shop.go has everything that an application needs (five lines
// beside the guard), demo.go presses, jaeger.go asks Jaeger, draw.go draws.
// jaeger.yaml and compose.yaml start Jaeger without and with Docker.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/alicebob/miniredis/v2"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "tracing:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	otlp := flag.String("otlp", "http://127.0.0.1:4318", "where spans go")
	jaeger := flag.String("jaeger", "http://127.0.0.1:16686", "whose API is asked")
	svg := flag.String("svg", "", "file to draw into")
	redis := flag.String("redis", "", "a Redis; an embedded miniredis if empty")
	serve := flag.Bool("serve", false, "keep the shops open")
	flag.Parse()

	if *redis == "" {
		m, err := miniredis.Run()
		if err != nil {
			return fmt.Errorf("start the embedded miniredis: %w", err)
		}
		defer m.Close()
		*redis = m.Addr()
	}
	began := time.Now()
	exporter := func(ctx context.Context) (sdktrace.SpanExporter, error) {
		return otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(*otlp+"/v1/traces"))
	}
	for _, framework := range frameworks {
		s, err := open(ctx, framework, *redis, exporter)
		if err != nil {
			return err
		}
		defer s.close()
		if err := press(ctx, s); err != nil {
			return err
		}
		if err := s.flush(ctx); err != nil {
			return fmt.Errorf("no spans could be sent to %s (start Jaeger with make jaeger): %w", *otlp, err)
		}
		p, err := pairIn(ctx, *jaeger, s.service, began)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s is linked to %s\n  original:  %s/trace/%s\n  duplicate: %s/trace/%s\n", s.service,
			p.from.Name, p.to.Name, *jaeger, p.original.ID, *jaeger, p.duplicate.ID)
		if *svg != "" && framework == frameworks[0] {
			if err := os.WriteFile(*svg, draw(p), 0o644); err != nil {
				return err
			}
			fmt.Println("drawn into", *svg)
		}
		if *serve {
			fmt.Println("listening on", s.url)
		}
	}
	if *serve {
		<-ctx.Done()
	}
	return nil
}
