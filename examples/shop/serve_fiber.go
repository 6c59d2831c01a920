package main

import (
	"bytes"
	"net"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"

	fiberidem "github.com/go-idem/idem/adapters/fiber"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/frontend"
)

// fiberApp serves the shop with Fiber. The guard is a handler of the route.
func fiberApp(s *shop) *fiber.App {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	s.export.intoFiber(app)
	for _, rt := range s.routes() {
		var chain []fiber.Handler
		if rt.operation != "" {
			chain = append(chain, fiberWatched(s))
		}
		if rt.operation != "" && s.guarded {
			chain = append(chain, fiberidem.Guard(s.flow, rt.operation))
		}
		path := rt.path
		if rt.param != "" {
			path += ":" + rt.param
		}
		app.Add(rt.method, path, append(chain, fiberPage(rt))...)
	}
	app.All("/idempotency/*", fiberidem.Endpoints(s.flow))
	app.Get(assetsPath+"*", adaptor.HTTPHandler(frontend.Handler()))
	return app
}

// fiberPage serves one route of the shop. Fiber's strings live only as long as
// the request's buffers, so what the shop keeps is cloned.
func fiberPage(rt route) fiber.Handler {
	return func(c *fiber.Ctx) error {
		asked := &request{ctx: c.UserContext(), header: cloned(c)}
		if rt.param != "" {
			asked.param = strings.Clone(c.Params(rt.param))
		}
		if len(c.Body()) > maxFormBytes {
			return fiber.ErrRequestEntityTooLarge
		} else if err := asked.read(bytes.Clone(c.Body())); err != nil {
			return fiber.NewError(http.StatusBadRequest, "the form cannot be read")
		}
		answer := rt.serve(asked)
		fiberAnswer(c, answer)
		return nil
	}
}

// fiberWatched puts the log around a Fiber route. An error that comes back to
// it is answered by the framework later, so its status is not known here.
func fiberWatched(s *shop) fiber.Handler {
	return func(c *fiber.Ctx) error {
		body := bytes.Clone(c.Body())
		watching := s.watch(cloned(c), body)
		var err error
		if early := watching.instead(c.UserContext(), cloned(c), body); early != nil {
			fiberAnswer(c, *early)
		} else {
			err = c.Next()
		}
		status := c.Response().StatusCode()
		if err != nil {
			status = 0
		}
		if watching.answered(status, string(c.Response().Header.Peek(httpflow.StatusHeader))) {
			c.Context().HijackSetNoResponse(true)
			c.Context().Hijack(func(net.Conn) {}) // which ends the connection
		}
		return err
	}
}

// fiberAnswer writes a reply of the shop.
func fiberAnswer(c *fiber.Ctx, answer reply) {
	for _, line := range answer.headers() {
		c.Response().Header.Add(line[0], line[1])
	}
	c.Response().SetStatusCode(answer.status)
	c.Response().SetBody(answer.body)
}

// cloned reads headers that outlive the request.
func cloned(c *fiber.Ctx) func(name string) string {
	return func(name string) string { return strings.Clone(c.Get(name)) }
}
