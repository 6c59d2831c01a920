package echoidem_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	echoidem "github.com/go-idem/idem/adapters/echo"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/suitetest"
)

type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }

func benchApp(guards ...echo.MiddlewareFunc) *echo.Echo {
	e := echo.New()
	e.POST("/orders", func(c echo.Context) error { return c.String(http.StatusCreated, "7") }, guards...)
	return e
}

func benchGuard(keys ...string) echo.MiddlewareFunc {
	return echoidem.Guard(newFlow(idem.Policy{Operation: operation, Preset: idem.API, Key: keys}), operation)
}

func play(b *testing.B, e *echo.Echo, change func(i int, h http.Header)) {
	b.Helper()
	r, w := httptest.NewRequest("POST", "/orders", nil), &discard{header: http.Header{}}
	r.Header.Set("Content-Type", "application/json")
	body := strings.NewReader("")
	r.ContentLength = 10
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		body.Reset(`{"cart":1}`)
		r.Body = io.NopCloser(body)
		clear(w.header)
		change(i, r.Header)
		e.ServeHTTP(w, r)
		i++
	}
}

func BenchmarkB1NoKey(b *testing.B) {
	b.Run("bare", func(b *testing.B) { play(b, benchApp(), func(int, http.Header) {}) })
	b.Run("guarded", func(b *testing.B) { play(b, benchApp(benchGuard()), func(int, http.Header) {}) })
}

func BenchmarkB2Memory(b *testing.B) {
	b.Run("first", func(b *testing.B) {
		play(b, benchApp(benchGuard()), func(i int, h http.Header) { h["Idempotency-Key"] = []string{"order-" + strconv.Itoa(i)} })
	})
	b.Run("replay", func(b *testing.B) {
		play(b, benchApp(benchGuard()), func(_ int, h http.Header) { h["Idempotency-Key"] = []string{"order"} })
	})
}

func BenchmarkB14Forged(b *testing.B) {
	forged := []string{strings.Repeat("A", 32)}
	play(b, benchApp(benchGuard("token")), func(_ int, h http.Header) { h["Idempotency-Token"] = forged })
}

// B1: a request without its optional key costs at most one allocation.
func TestB1_ARequestWithoutAKeyCostsOneAllocation(t *testing.T) {
	suitetest.Counts(t)
	cost := func(e *echo.Echo) float64 {
		r, w := httptest.NewRequest("POST", "/orders", nil), &discard{header: http.Header{}}
		return testing.AllocsPerRun(100, func() { clear(w.header); e.ServeHTTP(w, r) })
	}
	if bare, with := cost(benchApp()), cost(benchApp(benchGuard())); with > bare+1 {
		t.Errorf("%v allocations, %v without a guard", with, bare)
	}
}
