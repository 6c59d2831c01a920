// Command echo is a small shop on Echo, guarded by idem: a form, a JSON API, and
// the call-back of a payment provider that calls more than once.
//
//	go run ./examples/echo              # open the address that it prints
//	go run ./examples/echo -selfcheck   # plays every trouble, and prints a table
//	go run ./examples/echo -selfcheck -without=guard
//
// What it shows of Echo, in this file from top to bottom:
//
//   - One policy each for what differs: the form needs a token, the API a key of
//     the client's, the call-back is known by its event's id and nothing else.
//   - The order of a chain: recover, then who it is (a cookie, an API key, a
//     signature), then the guard, then the handler. A stranger is told 401 by the
//     middleware outside, and leaves no record.
//   - Guard is a middleware of the route, also in a group.
//   - The scope is what the middleware left in Echo's context.
//   - A returned error is settled by the status that Echo's error handler
//     answers with: the 422 of a form releases, so the same token is good again.
//
// The business, the provider and the page are in examples/internal/bookshop.
package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	echoidem "github.com/go-idem/idem/adapters/echo"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/examples/internal/bookshop"
	"github.com/go-idem/idem/frontend"
	"github.com/go-idem/idem/stores/memstore"
)

func main() { os.Exit(bookshop.Main(os.Args[1:], os.Stdout, os.Stderr, build)) }

// policies say how each operation is guarded.
var policies = []idem.Policy{
	{Operation: "shop:order:create", Preset: idem.Form},
	{Operation: "shop:api:order", Preset: idem.API, KeyRequired: idem.Yes},
	{Operation: "shop:payment:settle", Preset: idem.API, KeyRequired: idem.Yes, Key: []string{"json:/event/id"}},
}

func build(shop *bookshop.Shop) (*bookshop.Server, error) {
	guard, err := idem.New(idem.Config{Store: memstore.New(memstore.Options{}), Policies: policies})
	if err != nil {
		return nil, err
	}
	flow, err := httpflow.New(httpflow.Config{Guard: guard, Scope: who})
	if err != nil {
		return nil, err
	}
	protect := func(operation string) echo.MiddlewareFunc { return echoidem.Guard(flow, operation) }
	if !shop.Guarded { // to see what happens then
		protect = func(string) echo.MiddlewareFunc { return func(next echo.HandlerFunc) echo.HandlerFunc { return next } }
	}
	h := handlers{shop, flow}

	e := echo.New()
	e.Use(middleware.Recover()) // outside of the guard, like everything that asks who it is
	pages := e.Group("", h.customers)
	pages.GET("/", h.page)
	pages.POST("/orders", h.buyByForm, protect("shop:order:create"))
	pages.Any("/idempotency/*", echoidem.Endpoints(flow)) // where idem.js gets tokens, and asks
	api := e.Group("/api", h.tenants)
	api.GET("/orders/:number", h.order)
	api.POST("/orders", h.buyByAPI, protect("shop:api:order"))
	e.POST("/provider/events", h.settle, h.providers, protect("shop:payment:settle"))
	e.GET(bookshop.Assets+"*", echo.WrapHandler(frontend.Handler()))

	server := &http.Server{Handler: e}
	return &bookshop.Server{
		Serve: func(l net.Listener) error {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		},
		Shutdown: func(ctx context.Context) error { return errors.Join(server.Shutdown(ctx), guard.Close(ctx)) },
	}, nil
}

// who says whose key or token it is: whom the middleware found out.
func who(r httpflow.Request) (string, error) {
	name, _ := r.Native().(echo.Context).Get("who").(string)
	return name, nil
}
