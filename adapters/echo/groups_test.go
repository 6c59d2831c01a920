package echoidem_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	echoidem "github.com/go-idem/idem/adapters/echo"
	idem "github.com/go-idem/idem/core"
)

// The guard of a group stands before each of its routes; a key in use on one of
// them is a conflict on another, never its answer. The path values of group and
// route are found alike.
func TestAGuardedGroup(t *testing.T) {
	runs := 0
	flow := newFlow(idem.Policy{Operation: operation, Preset: idem.API, Key: []string{"header:Idempotency-Key", "path:shop+path:cart"}})
	e := echo.New()
	shops := e.Group("/shops/:shop", echoidem.Guard(flow, operation))
	run := func(c echo.Context) error { runs++; return c.String(http.StatusCreated, c.Path()) }
	shops.POST("/orders", run)
	shops.POST("/returns", run)
	shops.POST("/carts/:cart", run)
	for _, step := range []struct {
		path, key string
		verdict   string
		runs      int
	}{
		{"/shops/tea/orders", "a", "executed", 1},
		{"/shops/tea/orders", "a", "replayed", 1},
		{"/shops/tea/returns", "a", "conflict", 1},
		{"/shops/books/orders", "a", "conflict", 1},
		{"/shops/tea/carts/7", "", "executed", 2},
		{"/shops/tea/carts/7", "", "replayed", 2},
		{"/shops/books/carts/7", "", "executed", 3},
		{"/shops/tea/carts/%37", "", "replayed", 3}, // another spelling of the same
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, step.path, nil)
		if step.key != "" {
			r.Header.Set("Idempotency-Key", step.key)
		}
		e.ServeHTTP(w, r)
		if verdict(w) != step.verdict || runs != step.runs {
			t.Errorf("%s: %d %q after %d runs, want %q after %d", step.path, w.Code, verdict(w), runs, step.verdict, step.runs)
		}
	}
}

// The guard of a group, and by mistake another on the route: one run, one verdict.
func TestARouteGuardedTwiceRunsOnce(t *testing.T) {
	runs := 0
	flow := newFlow(idem.Policy{Operation: operation, Preset: idem.API})
	e := echo.New()
	e.Group("/shop", echoidem.Guard(flow, operation)).POST("/orders", func(c echo.Context) error {
		runs++
		return c.NoContent(http.StatusCreated)
	}, echoidem.Guard(flow, operation))
	for _, want := range []string{"executed", "replayed"} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/shop/orders", strings.NewReader("{}"))
		r.Header.Set("Idempotency-Key", "a")
		e.ServeHTTP(w, r)
		if w.Code != http.StatusCreated || verdict(w) != want || runs != 1 {
			t.Errorf("%d %q after %d runs, want 201 %q after 1", w.Code, verdict(w), runs, want)
		}
	}
}

// A group inside of a group, each with middleware of its own, and an error
// handler of the application's: what it answers is what is kept.
func TestAnErrorHandlerOfTheApplication(t *testing.T) {
	runs := 0
	flow := newFlow(idem.Policy{Operation: operation, Preset: idem.API})
	e := echo.New()
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		_ = c.JSON(http.StatusPaymentRequired, map[string]string{"sorry": err.Error()})
	}
	pass := func(next echo.HandlerFunc) echo.HandlerFunc { return func(c echo.Context) error { return next(c) } }
	e.Group("/v1", pass).Group("/shop", pass).POST("/orders", func(echo.Context) error { runs++; return echo.ErrTeapot }, echoidem.Guard(flow, operation))
	for _, want := range []string{"executed", "replayed"} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/shop/orders", nil)
		r.Header.Set("Idempotency-Key", "a")
		e.ServeHTTP(w, r)
		if w.Code != http.StatusPaymentRequired || verdict(w) != want || runs != 1 || !strings.Contains(w.Body.String(), "sorry") {
			t.Errorf("%d %q %s after %d runs, want 402 %s", w.Code, verdict(w), w.Body, runs, want)
		}
	}
}
