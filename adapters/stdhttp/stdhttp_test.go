package stdhttp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-idem/idem/adapters/stdhttp"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/internal/suitetest"
)

// The mux tells method, path and wildcards; the guard sits behind it.
func TestThroughAServeMux(t *testing.T) {
	runs := 0
	flow, err := httpflow.New(httpflow.Config{
		Guard: suitetest.Aged(t, idem.Policy{Operation: "shop:cart:buy", Preset: idem.Form, Context: "path:cart"}),
		Scope: func(httpflow.Request) (string, error) { return "alice", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /carts/{cart}/buy", stdhttp.Guard(flow, "shop:cart:buy", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		runs++
		_, _ = io.Copy(w, r.Body) // the body is given back
	})))
	page := httptest.NewRequest("GET", "/", nil)
	token, err := flow.Issue(stdhttp.Request(page), "shop:cart:buy", "7")
	if err != nil {
		t.Fatal(err)
	}
	post := func(path string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", path, strings.NewReader("a=1&idempotent-token="+token.Reveal()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		mux.ServeHTTP(w, r)
		return w
	}
	for _, want := range []struct {
		path    string
		status  int
		verdict string
		runs    int
	}{
		{"/carts/8/buy", 403, "foreign", 0},
		{"/carts/7/buy", 200, "executed", 1},
		{"/carts/7/buy", 200, "replayed", 1},
	} {
		w := post(want.path)
		if w.Code != want.status || w.Header().Get("Idempotency-Status") != want.verdict || runs != want.runs {
			t.Errorf("%s: %d %q, %d runs; want %+v", want.path, w.Code, w.Header().Get("Idempotency-Status"), runs, want)
		}
		if want.status == 200 && w.Body.String() != "a=1&idempotent-token="+token.Reveal() {
			t.Errorf("%s: body %q", want.path, w.Body)
		}
	}
}

// A route that is not guarded, and a request without an optional key, cost
// nothing but one look.
func TestB1_ARequestWithoutAKeyCostsOneAllocation(t *testing.T) {
	suitetest.Counts(t)
	flow := newFlow(idem.Policy{Operation: "shop:order:create", Preset: idem.API})
	h := stdhttp.Guard(flow, "shop:order:create", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	r, w := httptest.NewRequest("POST", "/orders", nil), &discard{header: http.Header{}}
	allocs := testing.AllocsPerRun(100, func() { h.ServeHTTP(w, r) })
	if allocs > 1 || len(w.header) > 0 {
		t.Errorf("%v allocations and header %v; want at most one and none", allocs, w.header)
	}
}

type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
