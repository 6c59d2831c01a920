package httpflow_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// An answer that breaks off in front of its client must not come out whole, and
// shorter, in front of the next one.
//
// Faults: 31.
func TestStatement42_AnAnswerThatBrokeOffIsNotReplayed(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"less than announced": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/orders/7")
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "half of it")
		},
		"less than announced, by ReadFrom": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/orders/7")
			w.Header().Set("Content-Length", "100")
			_, _ = io.Copy(w, strings.NewReader("half of it"))
		},
		"nothing of what was announced": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/orders/7")
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(201)
		},
	} {
		b := newBed(t, h)
		req, _ := http.NewRequest(http.MethodPost, b.server.URL+"/do/it", nil)
		req.Header.Set("Authorization", "Bearer alice")
		req.Header.Set("Idempotency-Key", "a")
		res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(res.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: read %q, %v, want an answer that breaks off, as it does without a guard", name, body, err)
		}
		_ = res.Body.Close()
		a := b.send("", "Idempotency-Key: a", "Content-Type: ")
		b.want(a, 409, "used", 1)
		if a.Header.Get("Location") != "/orders/7" {
			t.Errorf("%s: Location %q", name, a.Header.Get("Location"))
		}
	}
	whole := newBed(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		fmt.Fprint(w, "all of it.")
	})
	whole.want(whole.send("", "Idempotency-Key: a"), 200, "executed", 1)
	whole.want(whole.send("", "Idempotency-Key: a"), 200, "replayed", 1)
}

// http.TimeoutHandler's writer cannot flush: nothing leaves, so all of it is kept.
//
// Faults: 35.
func TestStatement43_AFlushThatCannotBeDoneLetsNothingGo(t *testing.T) {
	b := newBed(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "one ")
		if err := http.NewResponseController(w).Flush(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("flush: %v", err)
		}
		fmt.Fprint(w, "two")
	}, func(s *setting) {
		s.outside = func(h http.Handler) http.Handler { return http.TimeoutHandler(h, time.Minute, "late") }
	})
	b.want(b.send("{}", "Idempotency-Key: a"), 200, "executed", 1)
	again := b.send("{}", "Idempotency-Key: a")
	b.want(again, 200, "replayed", 1)
	if string(again.body) != "one two" {
		t.Errorf("replayed %q", again.body)
	}
}

// A head that was written before a connection is taken over leaves before that, as it
// does without a guard.
//
// Faults: 36.
func TestStatement43_AHeadBeforeAHijackLeavesFirst(t *testing.T) {
	h := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "3")
		w.WriteHeader(202)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func(c net.Conn) { _ = c.Close() }(conn)
		fmt.Fprint(conn, "two")
	}
	b := newBed(t, h)
	a := post(t, b, b.server.URL+"/do/it")
	if a.StatusCode != 202 || a.verdict() != "executed" || string(a.body) != "two" {
		t.Errorf("answered %d %q %q, want the head that was written and what was sent by hand", a.StatusCode, a.verdict(), a.body)
	}
	b.want(b.settled("Content-Type: "), 409, "used", 1)
}
