package stdhttp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-idem/idem/adapters/stdhttp"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/suitetest"
)

// order answers without an allocation.
func order(w http.ResponseWriter, _ *http.Request) {
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(answer)
}

var jsonType, answer = []string{"application/json"}, []byte(suitetest.CountedAnswer)

// body is a request's body that can be read again.
type body struct{ strings.Reader }

func (*body) Close() error { return nil }

// sender sends the same request over and over, past the network.
func sender(h http.Handler) func(key string) int {
	r, w, b := httptest.NewRequest("POST", "/orders", nil), &discard{header: http.Header{}}, &body{}
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = int64(len(suitetest.CountedBody))
	key := make([]string, 1)
	return func(k string) int {
		b.Reset(suitetest.CountedBody)
		r.Body = b
		clear(w.header)
		if key[0] = k; k == "" {
			delete(r.Header, "Idempotency-Key")
		} else {
			r.Header["Idempotency-Key"] = key
		}
		h.ServeHTTP(w, r)
		return w.status
	}
}

func guardedOrder() http.Handler {
	return stdhttp.Guard(newFlow(idem.Policy{Operation: suitetest.Operation, Preset: idem.API}), suitetest.Operation, http.HandlerFunc(order))
}

// B1, B2: what a request may allocate. A first request's: the exchange; what the
// handler gets in place of request and writer; its body; the answer as it is kept.
// A replay's: the exchange, the body, the kept field lines.
func TestB2_WhatARequestAllocates(t *testing.T) {
	suitetest.Allocates(t, suitetest.Cost{First: 4, Replay: 3}, sender(http.HandlerFunc(order)), sender(guardedOrder()))
}

func BenchmarkB1NoKey(b *testing.B) {
	for name, h := range map[string]http.Handler{"bare": http.HandlerFunc(order), "guarded": guardedOrder()} {
		b.Run(name, func(b *testing.B) { repeat(b, sender(h), func(int) string { return "" }) })
	}
}

func BenchmarkB2Memory(b *testing.B) {
	keys := suitetest.Keys(1 << 16)
	b.Run("first", func(b *testing.B) { repeat(b, sender(guardedOrder()), func(i int) string { return keys[i%len(keys)] }) })
	b.Run("replay", func(b *testing.B) { repeat(b, sender(guardedOrder()), func(int) string { return keys[0] }) })
}

func repeat(b *testing.B, send func(key string) int, key func(i int) string) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		send(key(i))
	}
}

// Whatever is used again from one request to the next: each gets its own answer.
func TestNothingOfARequestGetsIntoAnother(t *testing.T) {
	h := stdhttp.Guard(newFlow(suitetest.MixingPolicy()), suitetest.Operation, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Answer", r.Header.Get("X-Who"))
		_, _ = io.Copy(w, r.Body)
	}))
	suitetest.NothingMixes(t, func() func(suitetest.Asked) suitetest.Answered {
		return func(a suitetest.Asked) suitetest.Answered {
			w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/orders", strings.NewReader(a.Body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-Who", a.Who)
			if a.Key != "" {
				r.Header.Set("Idempotency-Key", a.Key)
			}
			h.ServeHTTP(w, r)
			return suitetest.Answered{Status: w.Code, Verdict: w.Header().Get("Idempotency-Status"), Who: w.Header().Get("X-Answer"), Body: w.Body.String()}
		}
	})
}
