package httpflow_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
)

// Given a route with two guards of its operation, on a group and on the route
// say, when a request comes, then it runs once under the outer one and has one
// verdict. Without that its own claim would stand in its way for ever.
func TestI6_ARouteGuardedTwiceRunsOnce(t *testing.T) {
	var log lines
	var inner http.Handler
	ran := 0
	b := newBed(t, func(w http.ResponseWriter, r *http.Request) { inner.ServeHTTP(w, r) }, func(s *setting) {
		s.policy.OnDuplicate, s.policy.Wait = idem.Wait, 50*time.Millisecond
		s.policy.Key = append(s.policy.Key, "json:/id")
		s.guard.Logger = log.logger()
	})
	inner = guarded(b.flow, operation, func(w http.ResponseWriter, r *http.Request) {
		ran++
		if !idem.Recorded(r.Context()) {
			t.Error("the handler does not know of its record")
		}
		created(w, r)
	})
	send := []func() answer{
		func() answer { return b.send("{}", "Idempotency-Key: a") },
		func() answer { return b.send(`{"id":"b"}`) },
		func() func() answer {
			token := b.token("")
			return func() answer {
				return b.send("idempotent-token="+token, "Content-Type: application/x-www-form-urlencoded")
			}
		}(),
	}
	for i, once := range send {
		first := once()
		b.want(first, 201, "executed", int64(i+1))
		if strings.Contains(string(first.body), `"bytes":0`) {
			t.Errorf("the body did not come through both: %s", first.body)
		}
		b.want(once(), 201, "replayed", int64(i+1))
	}
	if ran != len(send) {
		t.Errorf("the handler ran %d times, want %d", ran, len(send))
	}
	if begun := b.seen.begun.Load(); begun != int64(2*len(send)) {
		t.Errorf("%d requests were judged, want %d", begun, 2*len(send))
	}
	if told := strings.Count(log.text(), "route is guarded twice"); told != 1 {
		t.Errorf("it was said %d times, want once", told)
	}
}

// Given a handler that asks its own server for another thing, by a key of its
// own, then that is a request like any other.
func TestARequestInsideOfAnotherIsItsOwn(t *testing.T) {
	var inner http.Handler
	b := newBed(t, func(w http.ResponseWriter, r *http.Request) {
		other := r.Clone(r.Context())
		other.Header.Set("Idempotency-Key", "other")
		inner.ServeHTTP(w, other)
	})
	ran := 0
	inner = guarded(b.flow, operation, func(w http.ResponseWriter, r *http.Request) { ran++; created(w, r) })
	b.want(b.send("{}", "Idempotency-Key: a"), 201, "executed", 1)
	b.want(b.send("{}", "Idempotency-Key: b"), 201, "executed", 2)
	if ran != 1 {
		t.Errorf("the other thing was done %d times, want once", ran)
	}
}

// Given a middleware outside that reads the body and does not put it back, then
// nothing runs, the client is not blamed, and the log says what is wrong.
func TestABodyReadOutsideIsTheServersFault(t *testing.T) {
	var log lines
	b := newBed(t, created, func(s *setting) {
		s.guard.Logger = log.logger()
		s.outside = func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				h.ServeHTTP(w, r)
			})
		}
	})
	b.want(b.send(`{"amount":7}`, "Idempotency-Key: a"), 503, "unavailable", 0)
	if !strings.Contains(log.text(), "request body was read before the guard") {
		t.Errorf("the log does not say so: %s", log.text())
	}
	b.want(b.send("", "Idempotency-Key: b"), 201, "executed", 1)
}
