package fiberidem_test

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"

	"github.com/gofiber/fiber/v2"

	fiberidem "github.com/go-idem/idem/adapters/fiber"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/stores/memstore"
)

func newFlow(policy idem.Policy) *httpflow.Flow {
	guard, err := idem.New(idem.Config{Store: memstore.New(memstore.Options{}), Policies: []idem.Policy{policy}})
	if err != nil {
		panic(err)
	}
	flow, err := httpflow.New(httpflow.Config{
		Guard: guard,
		Scope: func(r httpflow.Request) (string, error) { return "alice", nil }, // whoever is signed in
	})
	if err != nil {
		panic(err)
	}
	return flow
}

// The same request twice: one order, and the second answer is the first's.
func ExampleGuard() {
	orders := 0
	flow := newFlow(idem.Policy{Operation: "shop:order:create", Preset: idem.API})
	app := fiber.New()
	app.Post("/orders", fiberidem.Guard(flow, "shop:order:create"), func(c *fiber.Ctx) error {
		orders++
		return c.Status(fiber.StatusCreated).JSON(fiber.Map{"order": orders})
	})

	for range 2 {
		r := httptest.NewRequest("POST", "/orders", nil)
		r.Header.Set("Idempotency-Key", "checkout-42")
		res, err := app.Test(r, -1)
		if err != nil {
			panic(err)
		}
		body, _ := io.ReadAll(res.Body)
		fmt.Println(res.StatusCode, res.Header.Get("Idempotency-Status"), string(body))
	}
	// Output:
	// 201 executed {"order":1}
	// 201 replayed {"order":1}
}

// A page asks for a token.
func ExampleEndpoints() {
	flow := newFlow(idem.Policy{Operation: "shop:order:create", Preset: idem.Form})
	app := fiber.New()
	app.All("/idempotency/*", fiberidem.Endpoints(flow))

	r := httptest.NewRequest("GET", "/idempotency/tokens?operation=shop:order:create", nil)
	r.Header.Set("Sec-Fetch-Site", "same-origin") // as browsers say of a page's own requests
	res, err := app.Test(r, -1)
	if err != nil {
		panic(err)
	}
	fmt.Println(res.StatusCode, res.Header.Get("Cache-Control"))
	// Output:
	// 200 no-store
}

// A form that the server renders carries its token with it.
func ExampleRequest() {
	flow := newFlow(idem.Policy{Operation: "shop:order:create", Preset: idem.Form})
	app := fiber.New()
	app.Get("/cart", func(c *fiber.Ctx) error {
		token, err := flow.Issue(fiberidem.Request(c), "shop:order:create", "")
		if err != nil {
			return err
		}
		return c.Type("html").SendString("<form method=post>" + string(httpflow.Input(token)) + "</form>")
	})
	res, err := app.Test(httptest.NewRequest("GET", "/cart", nil), -1)
	if err != nil {
		panic(err)
	}
	fmt.Println(res.StatusCode, res.ContentLength, "bytes")
	// Output:
	// 200 130 bytes
}

// Three orders in one request, and one of them again in the next.
func ExampleItems() {
	flow := newFlow(idem.Policy{Operation: "shop:order:create", Preset: idem.API})
	items := httpflow.Items(flow, "shop:order:create", "/items", "/key")
	app := fiber.New()
	app.Post("/orders/batch", fiberidem.Items(items, orders))
	send := func(body string) {
		r := httptest.NewRequest("POST", "/orders/batch", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		res, err := app.Test(r, -1)
		if err != nil {
			panic(err)
		}
		text, _ := io.ReadAll(res.Body)
		fmt.Print(string(text))
	}
	send(`{"items":[{"key":"a"},{"key":"b"}]}`)
	send(`{"items":[{"key":"b"},{"key":"c"}]}`)
	// Output:
	// {"items":[{"verdict":"executed","status":201,"body":{"order":0}},{"verdict":"executed","status":201,"body":{"order":1}}]}
	// {"items":[{"verdict":"replayed","status":201,"body":{"order":1}},{"verdict":"executed","status":201,"body":{"order":1}}]}
}

// orders places those orders that are to be placed now.
func orders(_ context.Context, _ httpflow.Request, items []httpflow.Item) []httpflow.ItemAnswer {
	answers := make([]httpflow.ItemAnswer, len(items))
	for i, at := range items {
		answers[i] = httpflow.ItemAnswer{Status: 201, Body: fmt.Appendf(nil, `{"order":%d}`, at.Index)}
	}
	return answers
}
