package stdhttp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-idem/idem/adapters/stdhttp"
	idem "github.com/go-idem/idem/core"
)

// One handler mounted in two places, each with its prefix cut off, is two
// places: the path that counts is that of the request line.
//
// Faults: 49.
func TestAHandlerMountedTwiceIsTwoPlaces(t *testing.T) {
	runs := 0
	flow := newFlow(idem.Policy{Operation: "shop:order:create", Preset: idem.API})
	inner := http.NewServeMux()
	inner.Handle("POST /orders", stdhttp.Guard(flow, "shop:order:create", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		runs++
		w.WriteHeader(http.StatusCreated)
	})))
	outer := http.NewServeMux()
	outer.Handle("/tea/", http.StripPrefix("/tea", inner))
	outer.Handle("/books/", http.StripPrefix("/books", inner))
	for _, step := range []struct {
		path    string
		status  int
		verdict string
		runs    int
	}{
		{"/tea/orders", 201, "executed", 1},
		{"/tea/orders", 201, "replayed", 1},
		{"/books/orders", 422, "conflict", 1}, // and never the other shop's answer
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, step.path, nil)
		r.Header.Set("Idempotency-Key", "a")
		outer.ServeHTTP(w, r)
		if got := w.Header().Get("Idempotency-Status"); w.Code != step.status || got != step.verdict || runs != step.runs {
			t.Errorf("%s: %d %q after %d runs, want %+v", step.path, w.Code, got, runs, step)
		}
	}
}

// A mux inside of a mux tells its own wildcards; those of the outer one a
// program hands on by itself, as it does for its handlers.
func TestAWildcardOfANestedMux(t *testing.T) {
	flow := newFlow(idem.Policy{Operation: "shop:cart:buy", Preset: idem.API, Key: []string{"path:shop+path:cart"}})
	var inner http.ServeMux
	inner.Handle("POST /shops/{shop}/carts/{cart}", stdhttp.Guard(flow, "shop:cart:buy", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
	})))
	var outer http.ServeMux
	outer.Handle("/shops/{any...}", &inner)
	for _, step := range []struct{ path, verdict string }{
		{"/shops/tea/carts/7", "executed"}, {"/shops/tea/carts/7", "replayed"},
		{"/shops/tea/carts/8", "executed"}, {"/shops/books/carts/7", "executed"},
	} {
		w := httptest.NewRecorder()
		outer.ServeHTTP(w, httptest.NewRequest(http.MethodPost, step.path, nil))
		if got := w.Header().Get("Idempotency-Status"); got != step.verdict {
			t.Errorf("%s: %d %q, want %s", step.path, w.Code, got, step.verdict)
		}
	}
}

// The guard around a mux, and by mistake another on the route: one run, one
// verdict. (Middleware that guards a whole mux is a guard of one operation.)
func TestARouteGuardedTwiceRunsOnce(t *testing.T) {
	runs := 0
	flow := newFlow(idem.Policy{Operation: "shop:order:create", Preset: idem.API})
	mux := http.NewServeMux()
	mux.Handle("POST /orders", stdhttp.Guard(flow, "shop:order:create", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		runs++
		w.WriteHeader(http.StatusCreated)
	})))
	outer := stdhttp.Guard(flow, "shop:order:create", mux)
	for _, want := range []string{"executed", "replayed"} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/orders", nil)
		r.Header.Set("Idempotency-Key", "a")
		outer.ServeHTTP(w, r)
		if got := w.Header().Get("Idempotency-Status"); w.Code != http.StatusCreated || got != want || runs != 1 {
			t.Errorf("%d %q after %d runs, want 201 %q after 1", w.Code, got, runs, want)
		}
	}
}
