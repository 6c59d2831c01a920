package testserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"

	"github.com/go-idem/idem/adapters/adaptertest"
	echoidem "github.com/go-idem/idem/adapters/echo"
	"github.com/go-idem/idem/core/httpflow"
)

// Echo is Echo v4 under test.
func Echo() adaptertest.Adapter {
	return adaptertest.Adapter{Name: "echo", Serve: serveEcho}
}

func serveEcho(l net.Listener, flow *httpflow.Flow, routes []adaptertest.Route) (func(context.Context) error, error) {
	e := echo.New()
	e.Use(echoRecovering)
	outer := http.Handler(e)
	for _, r := range routes {
		path := r.Prefix
		if strings.HasSuffix(path, "/") {
			path += "*"
		}
		if r.Endpoints {
			e.Any(path, echoidem.Endpoints(flow))
			continue
		}
		handler := func(c echo.Context) error { return r.Handler(&echoExchange{c: c}) }
		if r.Items != nil {
			handler = echoidem.Items(r.Items, r.Each)
		}
		var middleware []echo.MiddlewareFunc
		if r.Compress {
			middleware = append(middleware, echomiddleware.Gzip())
		}
		if r.Operation != "" {
			middleware = append(middleware, echoidem.Guard(flow, r.Operation))
		}
		if r.Method == "" {
			e.Any(path, handler, middleware...)
		} else {
			e.Add(r.Method, path, handler, middleware...)
		}
		if r.Timeout > 0 {
			outer = timedBelow(r.Prefix, http.TimeoutHandler(e, r.Timeout, "timeout"), outer)
		}
	}
	return serveHTTP(l, outer), nil
}

// timedBelow puts the timeout of net/http around the framework, for one part
// of its paths: Echo's own only ends a context, and the guard has cut that loose.
func timedBelow(prefix string, timed, other http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, prefix) {
			timed.ServeHTTP(w, r)
			return
		}
		other.ServeHTTP(w, r)
	})
}

// echoRecovering is Echo's recover, but keeps the panic's value to look at.
func echoRecovering(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			if v := recover(); v != nil {
				status, body := adaptertest.Recovered(v)
				err = c.String(status, body)
			}
		}()
		return next(c)
	}
}

// echoExchange is adaptertest.Exchange for Echo.
type echoExchange struct {
	c        echo.Context
	trailers [][2]string
}

func (x *echoExchange) Context() context.Context     { return x.c.Request().Context() }
func (x *echoExchange) Method() string               { return x.c.Request().Method }
func (x *echoExchange) Path() string                 { return x.c.Request().URL.Path }
func (x *echoExchange) Header(name string) []string  { return x.c.Request().Header.Values(name) }
func (x *echoExchange) Body() ([]byte, error)        { return wholeBody(x.c.Request()) }
func (x *echoExchange) SetHeader(name, value string) { x.c.Response().Header().Set(name, value) }
func (x *echoExchange) AddHeader(name, value string) { x.c.Response().Header().Add(name, value) }

func (x *echoExchange) Form() (url.Values, map[string][]byte, error) { return wholeForm(x.c.Request()) }

func (x *echoExchange) Trailer(name, value string) error {
	x.c.Response().Header().Add("Trailer", name)
	x.trailers = append(x.trailers, [2]string{name, value})
	return nil
}

func (x *echoExchange) Answer(status int, body []byte) error {
	x.c.Response().WriteHeader(status)
	if len(body) > 0 {
		if _, err := x.c.Response().Write(body); err != nil {
			return err
		}
	}
	for _, t := range x.trailers {
		x.c.Response().Header().Set(t[0], t[1])
	}
	return nil
}

func (x *echoExchange) Stream(status int, produce func(chunk func([]byte) error) error) error {
	x.c.Response().WriteHeader(status)
	return produce(func(b []byte) error {
		if _, err := x.c.Response().Write(b); err != nil {
			return err
		}
		x.c.Response().Flush()
		return nil
	})
}

func (x *echoExchange) AnswerBy(how string, status int, body []byte) error {
	return answerBy(x.c.Response(), how, status, body)
}

// EarlyHints goes past Echo's own writer, which takes any head for the final one.
func (x *echoExchange) EarlyHints(link string) error {
	w := x.c.Response().Writer
	w.Header().Set("Link", link)
	w.WriteHeader(http.StatusEarlyHints)
	w.Header().Del("Link")
	return nil
}

func (x *echoExchange) Fail(status int, text string) error {
	if status == 0 {
		return errors.New(text)
	}
	return echo.NewHTTPError(status, text)
}
