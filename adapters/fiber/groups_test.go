package fiberidem_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	fiberidem "github.com/go-idem/idem/adapters/fiber"
	idem "github.com/go-idem/idem/core"
)

// ask sends a request to an application, without a server.
func ask(t *testing.T, app *fiber.App, path, key string) (status int, verdict, body string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, nil)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	res, err := app.Test(r, -1)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("Idempotency-Status"), string(text)
}

// The guard of a group stands before each of its routes; a key in use on one of
// them is a conflict on another, never its answer. A group's guard runs before
// the route is known, so it knows only the path values of its own prefix.
func TestAGuardedGroup(t *testing.T) {
	runs := 0
	flow := newFlow(idem.Policy{Operation: operation, Preset: idem.API, Key: []string{"header:Idempotency-Key", "path:shop", "path:cart"}})
	app := fiber.New()
	shops := app.Group("/shops/:shop", fiberidem.Guard(flow, operation))
	run := func(c *fiber.Ctx) error { runs++; return c.Status(201).SendString(c.Path()) }
	shops.Post("/orders", run)
	shops.Post("/returns", run)
	app.Group("/carts", fiberidem.Guard(flow, operation)).Post("/:cart", run)
	for _, step := range []struct {
		path, key string
		verdict   string
		runs      int
	}{
		{"/shops/tea/orders", "a", "executed", 1},
		{"/shops/tea/orders", "a", "replayed", 1},
		{"/shops/tea/returns", "a", "conflict", 1},
		{"/shops/books/orders", "a", "conflict", 1},
		{"/shops/tea/orders", "", "executed", 2},
		{"/shops/tea/orders", "", "replayed", 2},
		{"/shops/books/orders", "", "executed", 3},
		{"/carts/7", "", "", 4}, // no key is found: nothing is guarded
		{"/carts/7", "", "", 5},
	} {
		if status, verdict, _ := ask(t, app, step.path, step.key); verdict != step.verdict || runs != step.runs {
			t.Errorf("%s: %d %q after %d runs, want %q after %d", step.path, status, verdict, runs, step.verdict, step.runs)
		}
	}
}

// The guard of a group, and by mistake another on the route: one run, one verdict.
func TestARouteGuardedTwiceRunsOnce(t *testing.T) {
	runs := 0
	flow := newFlow(idem.Policy{Operation: operation, Preset: idem.API})
	app := fiber.New()
	shop := app.Group("/shop", fiberidem.Guard(flow, operation))
	shop.Post("/orders", fiberidem.Guard(flow, operation), func(c *fiber.Ctx) error { runs++; return c.SendStatus(201) })
	for _, want := range []string{"executed", "replayed"} {
		if status, verdict, _ := ask(t, app, "/shop/orders", "a"); status != 201 || verdict != want || runs != 1 {
			t.Errorf("%d %q after %d runs, want 201 %q after 1", status, verdict, runs, want)
		}
	}
}

// A mounted application has an error handler of its own: what it answers is what
// is kept. Mounted twice, it is two places.
//
// Faults: 27, 49.
func TestAMountedApplication(t *testing.T) {
	runs := 0
	flow := newFlow(idem.Policy{Operation: operation, Preset: idem.API})
	shop := func() *fiber.App {
		sub := fiber.New(fiber.Config{ErrorHandler: func(c *fiber.Ctx, err error) error {
			return c.Status(fiber.StatusPaymentRequired).SendString("sorry: " + err.Error())
		}})
		sub.Post("/orders", fiberidem.Guard(flow, operation), func(*fiber.Ctx) error { runs++; return fiber.ErrTeapot })
		return sub
	}
	app := fiber.New()
	app.Mount("/tea", shop())
	app.Mount("/books", shop())
	for _, step := range []struct {
		path    string
		status  int
		verdict string
		says    string
	}{
		{"/tea/orders", 402, "executed", "sorry"},
		{"/tea/orders", 402, "replayed", "sorry"},
		{"/books/orders", 422, "conflict", "verdict"},
	} {
		if status, verdict, body := ask(t, app, step.path, "a"); status != step.status || verdict != step.verdict || !strings.Contains(body, step.says) || runs != 1 {
			t.Errorf("%s: %d %q %s after %d runs, want %+v", step.path, status, verdict, body, runs, step)
		}
	}
}

// Two paths are two keys and two spellings of one path are one, whoever undoes the
// percent-encoding: with UnescapePath it is Fiber.
func TestPathValuesAreUnescapedOnce(t *testing.T) {
	for _, unescapes := range []bool{false, true} {
		runs := 0
		flow := newFlow(idem.Policy{Operation: operation, Preset: idem.API, Key: []string{"path:id"}, Fingerprint: idem.FingerprintChoice{Mode: "none"}})
		app := fiber.New(fiber.Config{UnescapePath: unescapes})
		app.Post("/orders/:id", fiberidem.Guard(flow, operation), func(c *fiber.Ctx) error { runs++; return c.SendStatus(201) })
		for _, step := range []struct {
			path, verdict string
			runs          int
		}{
			{"/orders/A%2541", "executed", 1}, // A%41
			{"/orders/%41%2541", "replayed", 1},
			{"/orders/A%41", "executed", 2}, // AA
			{"/orders/AA", "replayed", 2},
			{"/orders/100%25", "executed", 3},
			{"/orders/%3100%25", "replayed", 3},
		} {
			if _, verdict, body := ask(t, app, step.path, ""); verdict != step.verdict || runs != step.runs {
				t.Errorf("UnescapePath %v, %s: %q after %d runs, want %q after %d; %s", unescapes, step.path, verdict, runs, step.verdict, step.runs, body)
			}
		}
	}
}
