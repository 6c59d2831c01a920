package testserver_test

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/labstack/echo/v4"

	echoidem "github.com/go-idem/idem/adapters/echo"
	fiberidem "github.com/go-idem/idem/adapters/fiber"
	"github.com/go-idem/idem/adapters/stdhttp"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/stores/memstore"
)

// Whoever has lost access between two attempts is told so, and not the answer
// that was kept when he had it: authorisation stands outside of the guard. Once
// he has it again, the answer is there.
//
// Faults: 24.
func TestARevokedPermissionIsNotAnsweredFromTheRecord(t *testing.T) {
	guard, err := idem.New(idem.Config{Store: memstore.New(memstore.Options{}), Unscoped: true, Policies: []idem.Policy{{Operation: shopOrder, Preset: idem.API}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = guard.Close(t.Context()) })
	flow, err := httpflow.New(httpflow.Config{Guard: guard})
	if err != nil {
		t.Fatal(err)
	}
	var revoked atomic.Bool
	var runs atomic.Int64

	guarded := stdhttp.Guard(flow, shopOrder, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { runs.Add(1); w.WriteHeader(201) }))
	std := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if revoked.Load() {
			http.Error(w, "no access", http.StatusForbidden)
			return
		}
		guarded.ServeHTTP(w, r)
	})
	e := echo.New()
	e.POST("/orders", func(c echo.Context) error { runs.Add(1); return c.NoContent(201) }, func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if revoked.Load() {
				return echo.ErrForbidden
			}
			return next(c)
		}
	}, echoidem.Guard(flow, shopOrder))
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Post("/orders", func(c *fiber.Ctx) error {
		if revoked.Load() {
			return fiber.ErrForbidden
		}
		return c.Next()
	}, fiberidem.Guard(flow, shopOrder), func(c *fiber.Ctx) error { runs.Add(1); return c.SendStatus(201) })

	for name, ask := range map[string]func(*http.Request) *http.Response{
		"net/http": over(t, std), "echo": over(t, e), "fiber": func(r *http.Request) *http.Response {
			resp, err := app.Test(r, -1)
			if err != nil {
				t.Fatal(err)
			}
			return resp
		},
	} {
		t.Run(name, func(t *testing.T) {
			runs.Store(0)
			for _, step := range []struct {
				revoked bool
				status  int
				verdict string
			}{{false, 201, "executed"}, {false, 201, "replayed"}, {true, 403, ""}, {false, 201, "replayed"}} {
				revoked.Store(step.revoked)
				r, _ := http.NewRequest(http.MethodPost, "http://localhost/orders", nil)
				r.Header.Set("Idempotency-Key", name)
				resp := ask(r)
				_, _ = io.Copy(io.Discard, resp.Body)
				if got := resp.Header.Get(httpflow.StatusHeader); resp.StatusCode != step.status || got != step.verdict {
					t.Errorf("access revoked %v: %d %q, want %d %q", step.revoked, resp.StatusCode, got, step.status, step.verdict)
				}
			}
			if n := runs.Load(); n != 1 {
				t.Errorf("the handler ran %d times, want once", n)
			}
		})
	}
}
