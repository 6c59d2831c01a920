// Command fiber is a small shop on Fiber (v2), guarded by idem: a form, a JSON
// API, and the call-back of a payment provider that calls more than once.
//
//	go run ./examples/fiber              # open the address that it prints
//	go run ./examples/fiber -selfcheck   # plays every trouble, and prints a table
//	go run ./examples/fiber -selfcheck -without=guard
//
// What it shows of Fiber, in this file from top to bottom:
//
//   - One policy each for what differs: the form needs a token, the API a key of
//     the client's, the call-back is known by its event's id and nothing else.
//   - The order of a chain: recover, then who it is (a cookie, an API key, a
//     signature), then the guard, then the handler. A stranger is told 401 by the
//     middleware outside, and leaves no record.
//   - Guard is a handler before the route's own, also in a group.
//   - The scope is what the middleware left in Fiber's locals, cloned: Fiber uses
//     the bytes of a request again.
//   - StreamRequestBody lets the guard refuse a request before its body was read.
//   - The handler's context is UserContext, and MarkEffects needs that one.
//   - A returned error is settled by the status that Fiber's error handler
//     answers with: the 422 of a form releases, so the same token is good again.
//
// The business, the provider and the page are in examples/internal/bookshop.
package main

import (
	"context"
	"errors"
	"net"
	"os"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/gofiber/fiber/v2/middleware/recover"

	fiberidem "github.com/go-idem/idem/adapters/fiber"
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
	protect := func(operation string) fiber.Handler { return fiberidem.Guard(flow, operation) }
	if !shop.Guarded { // to see what happens then
		protect = func(string) fiber.Handler { return func(c *fiber.Ctx) error { return c.Next() } }
	}
	h := handlers{shop, flow}

	app := fiber.New(fiber.Config{DisableStartupMessage: true, StreamRequestBody: true})
	app.Use(recover.New()) // outside of the guard, like everything that asks who it is
	app.Get(bookshop.Assets+"*", adaptor.HTTPHandler(frontend.Handler()))
	api := app.Group("/api", h.tenants)
	api.Get("/orders/:number", h.order)
	api.Post("/orders", protect("shop:api:order"), h.buyByAPI)
	app.Post("/provider/events", h.providers, protect("shop:payment:settle"), h.settle)
	app.Get("/", h.customers, h.page)
	app.Post("/orders", h.customers, protect("shop:order:create"), h.buyByForm)
	app.All("/idempotency/*", h.customers, fiberidem.Endpoints(flow)) // where idem.js gets tokens, and asks

	return &bookshop.Server{
		Serve:    func(l net.Listener) error { return app.Listener(l) },
		Shutdown: func(ctx context.Context) error { return errors.Join(app.ShutdownWithContext(ctx), guard.Close(ctx)) },
	}, nil
}
