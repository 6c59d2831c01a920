package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// These are what Jaeger's API says of a trace (GET /api/traces, its stable JSON for
// pages): a span's parent is a reference CHILD_OF inside its trace, and a span link is
// one of type FOLLOWS_FROM, to a trace of its own.
type trace struct {
	ID    string `json:"traceID"`
	Spans []span `json:"spans"`
}

type span struct {
	ID         string      `json:"spanID"`
	Name       string      `json:"operationName"`
	Start      int64       `json:"startTime"` // in microseconds
	Duration   int64       `json:"duration"`  // likewise
	References []reference `json:"references"`
	Tags       []tag       `json:"tags"`
}

type reference struct {
	Type  string `json:"refType"`
	Trace string `json:"traceID"`
	Span  string `json:"spanID"`
}

type tag struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

// parent is the id of the span above in the same trace, "" at the top.
func (s *span) parent() string {
	for _, r := range s.References {
		if r.Type == "CHILD_OF" {
			return r.Span
		}
	}
	return ""
}

// pair is a duplicate's trace, the original's, and the link between them.
type pair struct {
	original, duplicate trace
	from, to            span // the link's ends: from in the duplicate, to in the original
}

// pairIn asks Jaeger for the traces of a service until it shows a duplicate whose
// link leads to an original that it shows as well.
func pairIn(ctx context.Context, jaeger, service string, since time.Time) (pair, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		traces, err := tracesOf(ctx, jaeger, service, since)
		if p, found := pairOf(traces); err == nil && found {
			return p, nil
		}
		select {
		case <-ctx.Done():
			if err == nil {
				err = ctx.Err()
			}
			return pair{}, fmt.Errorf("no duplicate of %s with a link to its original among the %d traces that Jaeger at %s shows: %w", service, len(traces), jaeger, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func tracesOf(ctx context.Context, jaeger, service string, since time.Time) ([]trace, error) {
	query := url.Values{"service": {service}, "limit": {"50"}, "start": {strconv.FormatInt(since.UnixMicro(), 10)}, "end": {strconv.FormatInt(time.Now().Add(time.Minute).UnixMicro(), 10)}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, jaeger+"/api/traces?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var said struct {
		Data []trace `json:"data"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil {
		return nil, fmt.Errorf("the answer of Jaeger (%s) cannot be read: %w", resp.Status, err)
	}
	return said.Data, nil
}

// pairOf finds the first press that waited: the link of an idem.wait span.
func pairOf(traces []trace) (pair, bool) {
	for _, d := range traces {
		for _, s := range d.Spans {
			for _, r := range s.References {
				if s.Name != "idem.wait" || r.Trace == d.ID {
					continue
				}
				at := slices.IndexFunc(traces, func(t trace) bool { return t.ID == r.Trace })
				if at < 0 {
					continue
				}
				o := traces[at]
				if end := slices.IndexFunc(o.Spans, func(s span) bool { return s.ID == r.Span }); end >= 0 {
					return pair{original: o, duplicate: d, from: s, to: o.Spans[end]}, true
				}
			}
		}
	}
	return pair{}, false
}
