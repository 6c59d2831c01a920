package stdhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/go-idem/idem/adapters/stdhttp"
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
	order := stdhttp.Guard(flow, "shop:order:create", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		orders++
		w.Header().Set("Location", "/orders/1")
		w.WriteHeader(http.StatusCreated)
	}))

	for range 2 {
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/orders", nil)
		r.Header.Set("Idempotency-Key", "checkout-42")
		order.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("Location"), w.Header().Get("Idempotency-Status"))
	}
	fmt.Println(orders, "order")
	// Output:
	// 201 /orders/1 executed
	// 201 /orders/1 replayed
	// 1 order
}

// A page asks for a token, and for what became of it.
func ExampleEndpoints() {
	flow := newFlow(idem.Policy{Operation: "shop:order:create", Preset: idem.Form})
	mux := http.NewServeMux()
	mux.Handle("/idempotency/", stdhttp.Endpoints(flow))

	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/idempotency/tokens?operation=shop:order:create", nil)
	r.Header.Set("Sec-Fetch-Site", "same-origin") // as browsers say of a page's own requests
	mux.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("Cache-Control"))

	w, r = httptest.NewRecorder(), httptest.NewRequest("GET", "/idempotency/tokens?operation=shop:order:create", nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	mux.ServeHTTP(w, r)
	fmt.Println(w.Code)
	// Output:
	// 200 no-store
	// 403
}

// A form that the server renders carries its token with it.
func ExampleRequest() {
	flow := newFlow(idem.Policy{Operation: "shop:order:create", Preset: idem.Form})
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, err := flow.Issue(stdhttp.Request(r), "shop:order:create", "")
		if err != nil {
			http.Error(w, "no form now", http.StatusServiceUnavailable)
			return
		}
		fmt.Println(len(httpflow.Input(token)), "bytes of hidden field")
	})
	page.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/cart", nil))
	// Output:
	// 105 bytes of hidden field
}

// Three orders in one request, and one of them again in the next.
func ExampleItems() {
	flow := newFlow(idem.Policy{Operation: "shop:order:create", Preset: idem.API})
	items := httpflow.Items(flow, "shop:order:create", "/items", "/key")
	handler := stdhttp.Items(items, orders)
	send := func(body string) {
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/orders/batch", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		handler.ServeHTTP(w, r)
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
