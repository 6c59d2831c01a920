package echoidem_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/labstack/echo/v4"

	echoidem "github.com/go-idem/idem/adapters/echo"
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
	e := echo.New()
	e.POST("/orders", func(c echo.Context) error {
		orders++
		return c.JSON(http.StatusCreated, map[string]int{"order": orders})
	}, echoidem.Guard(flow, "shop:order:create"))

	for range 2 {
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/orders", nil)
		r.Header.Set("Idempotency-Key", "checkout-42")
		e.ServeHTTP(w, r)
		fmt.Print(w.Code, " ", w.Header().Get("Idempotency-Status"), " ", w.Body)
	}
	// Output:
	// 201 executed {"order":1}
	// 201 replayed {"order":1}
}

// A page asks for a token.
func ExampleEndpoints() {
	flow := newFlow(idem.Policy{Operation: "shop:order:create", Preset: idem.Form})
	e := echo.New()
	e.Any("/idempotency/*", echoidem.Endpoints(flow))

	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/idempotency/tokens?operation=shop:order:create", nil)
	r.Header.Set("Sec-Fetch-Site", "same-origin") // as browsers say of a page's own requests
	e.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("Cache-Control"))
	// Output:
	// 200 no-store
}

// A form that the server renders carries its token with it.
func ExampleRequest() {
	flow := newFlow(idem.Policy{Operation: "shop:order:create", Preset: idem.Form})
	e := echo.New()
	e.GET("/cart", func(c echo.Context) error {
		token, err := flow.Issue(echoidem.Request(c), "shop:order:create", "")
		if err != nil {
			return err
		}
		return c.HTML(http.StatusOK, "<form method=post>"+string(httpflow.Input(token))+"</form>")
	})
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest("GET", "/cart", nil))
	fmt.Println(w.Code, w.Body.Len(), "bytes")
	// Output:
	// 200 130 bytes
}

// Three orders in one request, and one of them again in the next.
func ExampleItems() {
	flow := newFlow(idem.Policy{Operation: "shop:order:create", Preset: idem.API})
	items := httpflow.Items(flow, "shop:order:create", "/items", "/key")
	e := echo.New()
	e.POST("/orders/batch", echoidem.Items(items, orders))
	send := func(body string) {
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/orders/batch", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		e.ServeHTTP(w, r)
		fmt.Print(w.Body)
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
