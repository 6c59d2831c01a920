package main

import (
	"io"
	"net/http"

	"github.com/labstack/echo/v4"

	echoidem "github.com/go-idem/idem/adapters/echo"
	"github.com/go-idem/idem/frontend"
)

// echoHandler serves the shop with Echo. The guard is a middleware of the route.
func echoHandler(s *shop) http.Handler {
	e := echo.New()
	s.export.intoEcho(e)
	for _, rt := range s.routes() {
		var chain []echo.MiddlewareFunc
		if rt.operation != "" {
			chain = append(chain, echo.WrapMiddleware(s.watched))
		}
		if rt.operation != "" && s.guarded {
			chain = append(chain, echoidem.Guard(s.flow, rt.operation))
		}
		path := rt.path
		if rt.param != "" {
			path += ":" + rt.param
		}
		e.Add(rt.method, path, echoPage(rt), chain...)
	}
	e.Any("/idempotency/*", echoidem.Endpoints(s.flow))
	e.GET(assetsPath+"*", echo.WrapHandler(frontend.Handler()))
	return e
}

// echoPage serves one route of the shop.
func echoPage(rt route) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		asked := &request{ctx: r.Context(), param: c.Param(rt.param), header: r.Header.Get}
		body, err := io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, maxFormBytes))
		if err == nil {
			err = asked.read(body)
		}
		if err != nil {
			return echo.NewHTTPError(http.StatusBadRequest, "the form cannot be read")
		}
		answer := rt.serve(asked)
		for _, line := range answer.headers() {
			c.Response().Header().Add(line[0], line[1])
		}
		c.Response().WriteHeader(answer.status)
		_, err = c.Response().Write(answer.body)
		return err
	}
}
