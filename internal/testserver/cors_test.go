package testserver_test

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/cors"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	echoidem "github.com/go-idem/idem/adapters/echo"
	fiberidem "github.com/go-idem/idem/adapters/fiber"
	"github.com/go-idem/idem/adapters/stdhttp"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/stores/memstore"
)

const (
	shopOrder = "shop:order:create"
	page      = "https://pages.example"
)

// The recipe of docs/how-to/cors.md in each framework: a page of another origin
// may send a key and a token, and read what became of its request.
//
// Faults: 66.
func TestCORSRecipe(t *testing.T) {
	guard, err := idem.New(idem.Config{Store: memstore.New(memstore.Options{}), Unscoped: true, Policies: []idem.Policy{
		{Operation: shopOrder, Key: []string{"token", "header:Idempotency-Key", "header:X-Order-Key"}, KeyRequired: idem.Yes},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = guard.Close(t.Context()) })
	flow, err := httpflow.New(httpflow.Config{Guard: guard, Origins: []string{page}})
	if err != nil {
		t.Fatal(err)
	}
	send, read := flow.CORS()

	mux := http.NewServeMux()
	mux.Handle("POST /orders", stdhttp.Guard(flow, shopOrder, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) })))
	std := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", page)
		h.Set("Access-Control-Expose-Headers", strings.Join(read, ", "))
		if r.Method == http.MethodOptions {
			h.Set("Access-Control-Allow-Headers", strings.Join(send, ", "))
			w.WriteHeader(http.StatusNoContent)
			return
		}
		mux.ServeHTTP(w, r)
	})
	e := echo.New()
	e.Use(middleware.CORSWithConfig(middleware.CORSConfig{AllowOrigins: []string{page}, AllowHeaders: send, ExposeHeaders: read}))
	e.POST("/orders", func(c echo.Context) error { return c.NoContent(201) }, echoidem.Guard(flow, shopOrder))
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Use(cors.New(cors.Config{AllowOrigins: page, AllowHeaders: strings.Join(send, ","), ExposeHeaders: strings.Join(read, ",")}))
	app.Post("/orders", fiberidem.Guard(flow, shopOrder), func(c *fiber.Ctx) error { return c.SendStatus(201) })

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
			preflight, _ := http.NewRequest(http.MethodOptions, "http://localhost/orders", nil)
			preflight.Header = http.Header{"Origin": {page}, "Access-Control-Request-Method": {"POST"}, "Access-Control-Request-Headers": {"content-type,idempotency-key,idempotency-token"}}
			allowed := listed(ask(preflight).Header.Get("Access-Control-Allow-Headers"))
			for _, want := range []string{"content-type", "idempotency-key", "idempotency-token", "x-idempotent-token", "x-order-key", "prefer"} {
				if !slices.Contains(allowed, want) {
					t.Errorf("a page may not send %s: %v", want, allowed)
				}
			}
			for i, verdict := range []string{"executed", "replayed"} {
				post, _ := http.NewRequest(http.MethodPost, "http://localhost/orders", strings.NewReader("{}"))
				post.Header = http.Header{"Origin": {page}, "Content-Type": {"application/json"}, "Idempotency-Key": {name}}
				resp := ask(post)
				exposed := listed(resp.Header.Get("Access-Control-Expose-Headers"))
				for _, want := range []string{"idempotency-status", "idempotent-replayed", "retry-after", "location"} {
					if !slices.Contains(exposed, want) {
						t.Errorf("answer %d: a page may not read %s: %v", i+1, want, exposed)
					}
				}
				if got := resp.Header.Get(httpflow.StatusHeader); got != verdict || resp.Header.Get("Access-Control-Allow-Origin") != page {
					t.Errorf("answer %d: %q for origin %q, want %s", i+1, got, resp.Header.Get("Access-Control-Allow-Origin"), verdict)
				}
				if n := len(resp.Header.Values("Access-Control-Allow-Origin")); n != 1 {
					t.Errorf("answer %d names %d origins", i+1, n)
				}
			}
		})
	}
}

// over serves h with a real server and asks it.
func over(t *testing.T, h http.Handler) func(*http.Request) *http.Response {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return func(r *http.Request) *http.Response {
		r.URL.Host = l.Addr().String()
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
}

func listed(names string) (list []string) {
	for name := range strings.SplitSeq(names, ",") {
		list = append(list, strings.ToLower(strings.TrimSpace(name)))
	}
	return list
}
