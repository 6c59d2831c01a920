package echoidem_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	echoidem "github.com/go-idem/idem/adapters/echo"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/suitetest"
)

// body is a request's body that can be read again.
type body struct{ strings.Reader }

func (*body) Close() error { return nil }

// sender sends the same request over and over, past the network.
func sender(guards ...echo.MiddlewareFunc) func(key string) int {
	e, answer, jsonType := echo.New(), []byte(suitetest.CountedAnswer), []string{"application/json"}
	e.POST("/orders", func(c echo.Context) error {
		w := c.Response()
		w.Header()["Content-Type"] = jsonType
		w.WriteHeader(http.StatusCreated)
		_, err := w.Write(answer)
		return err
	}, guards...)
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
		e.ServeHTTP(w, r)
		return w.status
	}
}

// B1, B2: what a request may allocate. Echo puts a route's middleware together anew
// for each request, which is one. A first request's besides: the exchange; what the
// handler gets in place of request and writer; its body; the answer as it is kept.
// A replay's: the exchange, the body, the kept field lines.
func TestB2_WhatARequestAllocates(t *testing.T) {
	guard := echoidem.Guard(newFlow(idem.Policy{Operation: suitetest.Operation, Preset: idem.API}), suitetest.Operation)
	suitetest.Allocates(t, suitetest.Cost{NoKey: 1, First: 5, Replay: 4}, sender(), sender(guard))
}

// Whatever is used again from one request to the next: each gets its own answer.
func TestNothingOfARequestGetsIntoAnother(t *testing.T) {
	e := echo.New()
	e.POST("/orders", func(c echo.Context) error {
		c.Response().Header().Set("X-Answer", c.Request().Header.Get("X-Who"))
		_, err := io.Copy(c.Response(), c.Request().Body)
		return err
	}, echoidem.Guard(newFlow(suitetest.MixingPolicy()), suitetest.Operation))
	suitetest.NothingMixes(t, func() func(suitetest.Asked) suitetest.Answered {
		return func(a suitetest.Asked) suitetest.Answered {
			w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/orders", strings.NewReader(a.Body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-Who", a.Who)
			if a.Key != "" {
				r.Header.Set("Idempotency-Key", a.Key)
			}
			e.ServeHTTP(w, r)
			return suitetest.Answered{Status: w.Code, Verdict: verdict(w), Who: w.Header().Get("X-Answer"), Body: w.Body.String()}
		}
	})
}
