package echoidem

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/go-idem/idem/core/httpflow"
)

// Guard makes a route safe to submit twice. It panics where there is no policy.
func Guard(flow *httpflow.Flow, operation string) echo.MiddlewareFunc {
	route := flow.Route(operation)
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if route.Passes(httpflow.NetRequest{Request: c.Request()}) {
				return next(c)
			}
			x := newExchange(c)
			x.next = next
			return route.Serve(x)
		}
	}
}

// Endpoints serves tokens, status and discard: mount it by e.Any("/idempotency/*", …).
func Endpoints(flow *httpflow.Flow) echo.HandlerFunc { return send(flow.Endpoint) }

// Items serves a route whose requests hold many items: see [httpflow.Items].
func Items(r *httpflow.ItemsRoute, h httpflow.ItemHandler) echo.HandlerFunc { return send(r.By(h)) }

func send(by func(httpflow.Request) *httpflow.Reply) echo.HandlerFunc {
	return func(c echo.Context) error { x := newExchange(c); x.Send(by(x)); return nil }
}

// Request is c as flow.Issue takes it, for a page that is rendered with a token.
func Request(c echo.Context) httpflow.Request { return newExchange(c) }

// exchange is Echo's: its response remembers what was sent, so refusals and kept
// answers go through it, and the handler's own answer under it.
type exchange struct {
	httpflow.NetExchange
	c    echo.Context
	next echo.HandlerFunc
}

func newExchange(c echo.Context) *exchange {
	x := &exchange{c: c}
	x.NetExchange = httpflow.NetExchange{
		NetRequest: httpflow.NetRequest{Request: c.Request()}, Writer: c.Response(), Under: c.Response().Writer, Handler: x,
	}
	return x
}

func (x *exchange) PathValue(name string) string { return x.Unescaped(x.c.Param(name)) }
func (x *exchange) Native() any                  { return x.c }
func (x *exchange) OverLimit(err error) bool     { return err == echo.ErrStatusRequestEntityTooLarge }

// ServeNet runs the handler with w and r where Echo's handlers look for them.
func (x *exchange) ServeNet(w http.ResponseWriter, r *http.Request, held bool) (err error) {
	res, request, writer := x.c.Response(), x.c.Request(), x.c.Response().Writer
	defer func() { res.Writer = writer; x.c.SetRequest(request) }()
	res.Writer = w
	x.c.SetRequest(r)
	if err = x.next(x.c); err != nil && held {
		x.c.Error(httpflow.Cause(err))
	}
	return err
}

// Release also says that an answer was sent where the handler made none.
func (x *exchange) Release() { x.NetExchange.Release(); x.c.Response().Committed = true }

// Drop also takes back that an answer was sent, for whoever makes one now.
func (x *exchange) Drop() {
	x.NetExchange.Drop()
	if res := x.c.Response(); !x.Gone() {
		res.Committed, res.Status, res.Size = false, http.StatusOK, 0
	}
}
