package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	promexport "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/redisstore"
	"github.com/go-idem/idem/telemetry"
)

// figures are what the shop measures of itself: served at /metrics for a
// Prometheus, and drawn on /health for people. Whether anything is exported to a
// collector as well is no business of theirs.
type figures struct {
	registry *prometheus.Registry
	meters   *sdkmetric.MeterProvider
	tel      *telemetry.Telemetry
	unwatch  func()

	mu   sync.Mutex
	past []reading // the newest last

	quit chan struct{}
	done chan struct{}
}

// The figures are those of the last five minutes, as most alert rules look at them,
// and the charts show ten of such; so readings of fifteen are kept.
const (
	momentEvery = 5 * time.Second
	figuresOf   = 5 * time.Minute
	chartOf     = 10 * time.Minute
	momentsKept = int((figuresOf + chartOf) / momentEvery)
)

// shopCensus is how many records the shop counts at a time: all it ever has.
const shopCensus = 10_000

// openFigures makes the metrics and their registry.
func openFigures() (*figures, error) {
	f := &figures{registry: prometheus.NewRegistry(), unwatch: func() {}, quit: make(chan struct{}), done: make(chan struct{})}
	reader, err := promexport.New(promexport.WithRegisterer(f.registry))
	if err != nil {
		return nil, fmt.Errorf("open the metrics: %w", err)
	}
	f.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	f.tel, err = telemetry.New(telemetry.WithMeterProvider(f.meters), telemetry.WithTracerProvider(nooptrace.NewTracerProvider()))
	return f, err
}

// steps is who is told of the guard's steps, nil for nobody.
func (f *figures) steps() idem.Observer {
	if f == nil {
		return nil
	}
	return f.tel
}

// flushed is told of each pipeline that came back from a Redis.
func (f *figures) flushed(p redisstore.Flush) { f.tel.Flushed("redis", p.LongestWait) }

// watch begins to look at a guard, and at the audit events that were dropped, and
// to keep the charts.
func (f *figures) watch(g *idem.Guard, drops func() int64) (err error) {
	if f == nil {
		return nil
	}
	if f.unwatch, err = f.tel.Watch(g, telemetry.WatchOptions{Census: shopCensus, Every: momentEvery, AuditDrops: drops}); err != nil {
		return err
	}
	go f.keep()
	return nil
}

// keep notes the figures every few seconds.
func (f *figures) keep() {
	defer close(f.done)
	tick := time.NewTicker(momentEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f.note()
		case <-f.quit:
			return
		}
	}
}

// note keeps the figures of now.
func (f *figures) note() {
	families, err := f.registry.Gather()
	if err != nil {
		return // the page shows what there is
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.past = append(f.past, readingOf(families, time.Now())); len(f.past) > momentsKept {
		f.past = f.past[1:]
	}
}

// moments are those that were kept, and the one of now.
func (f *figures) moments() []reading {
	families, err := f.registry.Gather()
	f.mu.Lock()
	defer f.mu.Unlock()
	list := append([]reading(nil), f.past...)
	if err == nil {
		list = append(list, readingOf(families, time.Now()))
	}
	return list
}

// close ends what watch began.
func (f *figures) close(ctx context.Context) error {
	if f == nil {
		return nil
	}
	f.unwatch()
	close(f.quit)
	<-f.done
	return f.meters.Shutdown(ctx)
}

// showMetrics is /metrics: the text format of Prometheus.
func (s *shop) showMetrics(*request) reply {
	families, err := s.figures.registry.Gather()
	if err != nil {
		return plain(http.StatusInternalServerError, "the metrics cannot be read")
	}
	var text bytes.Buffer
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	enc := expfmt.NewEncoder(&text, format)
	for _, family := range families {
		if err := enc.Encode(family); err != nil {
			return plain(http.StatusInternalServerError, "the metrics cannot be written down")
		}
	}
	return reply{status: http.StatusOK, kind: string(format), body: text.Bytes()}
}

// reading is what the golden figures are made of, counted since the shop opened.
type reading struct {
	at                    time.Time
	issued, refusedTokens float64
	requests, refused     float64
	ages, aged            float64
	runs, abnormal        float64
}

// refusals are the verdicts by which a request is turned away.
var refusals = map[string]bool{
	"in-flight": true, "uncertain": true, "used": true, "conflict": true, "dead": true, "forgotten": true,
	"missing": true, "malformed": true, "foreign": true, "unavailable": true,
}

// since is what was counted after an earlier reading.
func (m reading) since(was reading) reading {
	return reading{
		m.at, m.issued - was.issued, m.refusedTokens - was.refusedTokens, m.requests - was.requests, m.refused - was.refused,
		m.ages - was.ages, m.aged - was.aged, m.runs - was.runs, m.abnormal - was.abnormal,
	}
}

func readingOf(families []*dto.MetricFamily, now time.Time) (m reading) {
	m.at = now
	for _, family := range families {
		for _, one := range family.GetMetric() {
			label := map[string]string{}
			for _, l := range one.GetLabel() {
				label[l.GetName()] = l.GetValue()
			}
			n, h := one.GetCounter().GetValue(), one.GetHistogram()
			switch family.GetName() {
			case "idem_tokens_issued_total":
				m.issued += n
				if label["error_type"] != "" {
					m.refusedTokens += n
				}
			case "idem_requests_total":
				m.requests += n
				if refusals[label["idem_verdict"]] {
					m.refused += n
				}
			case "idem_token_age_seconds":
				m.ages += h.GetSampleSum()
				m.aged += float64(h.GetSampleCount())
			case "idem_handler_duration_seconds":
				m.runs += float64(h.GetSampleCount())
			case "idem_releases_total":
				if label["idem_release_reason"] != "validation" {
					m.abnormal += n
				}
			}
		}
	}
	return m
}
