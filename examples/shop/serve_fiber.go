package main

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	fiberidem "github.com/go-idem/idem/adapters/fiber"
)

// fiberApp serves the shop with Fiber. The guard is a handler of the route.
func fiberApp(s *shop) *fiber.App {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
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
	return app
}

// fiberPage serves one route of the shop. Fiber's strings live only as long as
// the request's buffers, so what the shop keeps is cloned.
func fiberPage(rt route) fiber.Handler {
	return func(c *fiber.Ctx) error {
		var form url.Values
		if c.Method() == http.MethodPost {
			var err error
			if len(c.Body()) > maxFormBytes {
				return fiber.ErrRequestEntityTooLarge
			} else if form, err = url.ParseQuery(string(c.Body())); err != nil {
				return fiber.NewError(http.StatusBadRequest, "the form cannot be read")
			}
		}
		param := ""
		if rt.param != "" {
			param = strings.Clone(c.Params(rt.param))
		}
		answer := rt.serve(&request{
			ctx: c.UserContext(), param: param, form: form,
			header: func(name string) string { return strings.Clone(c.Get(name)) },
		})
		for _, line := range answer.headers() {
			c.Response().Header.Add(line[0], line[1])
		}
		return c.Status(answer.status).Send(answer.body)
	}
}

// fiberWatched puts the log around a Fiber route. An error that comes back to
// it is answered by the framework later, so its status is not known here.
func fiberWatched(s *shop) fiber.Handler {
	return func(c *fiber.Ctx) error {
		answered := s.watch(strings.Clone(c.Get("Cookie")), strings.Clone(c.Get(stageHeader)), []byte(string(c.Body())))
		err := c.Next()
		status := c.Response().StatusCode()
		if err != nil {
			status = 0
		}
		answered(status, string(c.Response().Header.Peek("Idempotency-Status")))
		return err
	}
}
