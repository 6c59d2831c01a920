package echoidem_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	echoidem "github.com/go-idem/idem/adapters/echo"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/internal/suitetest"
)

const operation = "shop:order:create"

// shop serves h behind the guard at POST /orders/:id.
func shop(t *testing.T, h echo.HandlerFunc, use ...echo.MiddlewareFunc) (e *echo.Echo, send func(key string) *httptest.ResponseRecorder) {
	t.Helper()
	flow := newFlow(idem.Policy{Operation: operation, Preset: idem.API})
	e = echo.New()
	e.Use(use...)
	e.POST("/orders/:id", h, echoidem.Guard(flow, operation))
	return e, func(key string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/orders/7", strings.NewReader("{}"))
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		e.ServeHTTP(w, r)
		return w
	}
}

func verdict(w *httptest.ResponseRecorder) string {
	return strings.Join(w.Header().Values("Idempotency-Status"), ",")
}

// FAULTS 27: an error returned the framework's way is the answer that the
// framework makes of it, for the record too.
//
// Faults: 27.
func TestP10_AReturnedErrorSettlesByItsStatus(t *testing.T) {
	cases := []struct {
		given string
		err   error
		code  int
		first string
		again string
		runs  int
	}{
		{"402 is kept", echo.NewHTTPError(402, "card declined"), 402, "executed", "replayed", 1},
		{"422 is released", echo.NewHTTPError(422, "no such street"), 422, "released", "released", 2},
		{"another error is a 500", errors.New("db is down"), 500, "released", "released", 2},
	}
	for _, c := range cases {
		t.Run(c.given, func(t *testing.T) {
			runs, handled, seen := 0, 0, 0
			e, send := shop(t, func(echo.Context) error { runs++; return c.err }, func(next echo.HandlerFunc) echo.HandlerFunc {
				return func(ec echo.Context) error {
					err := next(ec)
					seen = ec.Response().Status // as a logger outside reads it
					return err
				}
			})
			handle := e.HTTPErrorHandler
			e.HTTPErrorHandler = func(err error, c echo.Context) { handled++; handle(err, c) }
			first := send("a")
			if first.Code != c.code || verdict(first) != c.first || handled != 1 || seen != c.code {
				t.Errorf("first: %d %q, handled %d times, seen outside as %d", first.Code, verdict(first), handled, seen)
			}
			again := send("a")
			if again.Code != c.code || verdict(again) != c.again || runs != c.runs || seen != c.code || again.Body.String() != first.Body.String() {
				t.Errorf("again: %d %q %s, %d runs, seen outside as %d", again.Code, verdict(again), again.Body, runs, seen)
			}
		})
	}
}

// recovering answers panics the way Echo's own middleware does.
func recovering(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		defer func() {
			if v := recover(); v != nil {
				c.Error(fmt.Errorf("%v", v))
			}
		}()
		return next(c)
	}
}

// The framework's recover stands outside the guard, and can still answer.
func TestP10_APanicIsAnsweredByRecover(t *testing.T) {
	_, send := shop(t, func(c echo.Context) error {
		_ = c.String(http.StatusCreated, "half an answer")
		panic("kaput")
	}, recovering)
	w := send("a")
	if w.Code != 500 || verdict(w) != "released" || strings.Contains(w.Body.String(), "half") {
		t.Errorf("answered %d %q %s", w.Code, verdict(w), w.Body)
	}
}

func TestTheHandlersContext(t *testing.T) {
	type key struct{}
	var inside *http.Request
	_, send := shop(t, func(c echo.Context) error {
		inside = c.Request()
		if c.Request().Context().Value(key{}) != "kept" {
			t.Error("a value of the request's context was lost")
		}
		if err := idem.MarkEffects(c.Request().Context()); err != nil {
			t.Errorf("the context does not lead to the claim: %v", err)
		}
		return c.NoContent(http.StatusNoContent)
	}, func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			ctx, cancel := context.WithCancel(context.WithValue(c.Request().Context(), key{}, "kept"))
			cancel() // P7: the client has left
			c.SetRequest(c.Request().WithContext(ctx))
			writer, request := c.Response().Writer, c.Request()
			err := next(c)
			if c.Response().Writer != writer || c.Request() != request {
				t.Error("writer and request were not put back")
			}
			return err
		}
	})
	if w := send("a"); w.Code != 204 || verdict(w) != "executed" {
		t.Errorf("answered %d %q", w.Code, verdict(w))
	}
	if inside == nil {
		t.Error("the handler did not run")
	}
}

func TestStreamsAndLengths(t *testing.T) {
	var size int64
	outside := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error { err := next(c); size = c.Response().Size; return err }
	}
	_, send := shop(t, func(c echo.Context) error {
		_ = c.String(http.StatusOK, "one ")
		c.Response().Flush()
		_, err := c.Response().Write([]byte("two"))
		return err
	}, outside)
	w := send("a")
	if w.Code != 200 || verdict(w) != "executed" || w.Body.String() != "one two" || !w.Flushed || size != 7 {
		t.Errorf("answered %d %q %q, %d bytes", w.Code, verdict(w), w.Body, size)
	}
	if w = send("a"); w.Code != 409 || verdict(w) != "used" || size != int64(w.Body.Len()) {
		t.Errorf("again: %d %q, %d bytes seen outside", w.Code, verdict(w), size)
	}
}

// A handler that answers nothing has answered 200, for middleware outside too.
func TestAHandlerThatAnswersNothing(t *testing.T) {
	committed := false
	_, send := shop(t, func(echo.Context) error { return nil }, func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error { err := next(c); committed = c.Response().Committed; return err }
	})
	for _, want := range []string{"executed", "replayed"} {
		if w := send("a"); w.Code != 200 || verdict(w) != want || !committed {
			t.Errorf("answered %d %q, committed %v", w.Code, verdict(w), committed)
		}
	}
}

// An error that says that everything was undone releases, over a mark.
func TestNoEffectsReleases(t *testing.T) {
	runs := 0
	_, send := shop(t, func(c echo.Context) error {
		runs++
		if err := idem.MarkEffects(c.Request().Context()); err != nil {
			return err
		}
		return idem.NoEffects(echo.NewHTTPError(418, "rolled back"))
	})
	for want := 1; want <= 2; want++ {
		if w := send("a"); w.Code != 418 || verdict(w) != "released" || runs != want {
			t.Errorf("answered %d %q after %d runs", w.Code, verdict(w), runs)
		}
	}
}

// Path values, and what middleware left, are found.
func TestPathValuesAndNative(t *testing.T) {
	guard := suitetest.Aged(t, idem.Policy{Operation: operation, Preset: idem.API, Key: []string{"token"}, Context: "path:id"})
	flow, err := httpflow.New(httpflow.Config{Guard: guard, Scope: func(r httpflow.Request) (string, error) {
		user, _ := r.Native().(echo.Context).Get("user").(string)
		return user, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	e := echo.New()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error { c.Set("user", "alice"); return next(c) }
	})
	e.POST("/orders/:id", func(c echo.Context) error { return c.NoContent(204) }, echoidem.Guard(flow, operation))
	token, err := guard.Issue(t.Context(), idem.TokenRequest{Operation: operation, Scope: "alice", Context: "7"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		want int
	}{{"/orders/8", 403}, {"/orders/7", 204}} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", c.path, nil)
		r.Header.Set("Idempotency-Token", token.Reveal())
		if e.ServeHTTP(w, r); w.Code != c.want {
			t.Errorf("%s: %d %q, want %d", c.path, w.Code, verdict(w), c.want)
		}
	}
}

func TestNothingIsAddedWithoutAKey(t *testing.T) {
	_, send := shop(t, func(c echo.Context) error { return echo.NewHTTPError(402) })
	if w := send(""); w.Code != 402 || verdict(w) != "" {
		t.Errorf("answered %d %q", w.Code, verdict(w))
	}
}

// A body over Echo's own limit is 413, announced or found out: 400 would say that it
// broke off.
func TestABodyOverEchosLimitIsTooLarge(t *testing.T) {
	for _, announced := range []bool{true, false} {
		runs := 0
		flow := newFlow(idem.Policy{Operation: operation, Preset: idem.API})
		e := echo.New()
		e.Use(middleware.BodyLimit("1K"))
		e.POST("/orders", func(c echo.Context) error { runs++; return c.NoContent(http.StatusCreated) }, echoidem.Guard(flow, operation))
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/orders", strings.NewReader(strings.Repeat("x", 2<<10)))
		r.Header.Set("Idempotency-Key", "k")
		if !announced {
			r.ContentLength = -1
		}
		e.ServeHTTP(w, r)
		if w.Code != http.StatusRequestEntityTooLarge || runs != 0 {
			t.Errorf("announced %v: %d, %d runs: %s", announced, w.Code, runs, w.Body)
		}
	}
}
