package proof

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/labstack/echo/v4"

	echoidem "github.com/go-idem/idem/adapters/echo"
	fiberidem "github.com/go-idem/idem/adapters/fiber"
	"github.com/go-idem/idem/adapters/stdhttp"
	"github.com/go-idem/idem/core/httpflow"
)

// NetHTTP, Echo and Fiber are what a proof server can be built on.
const (
	NetHTTP = "stdhttp"
	Echo    = "echo"
	Fiber   = "fiber"
)

// Frameworks are all of them: a drill takes them in turn.
var Frameworks = []string{NetHTTP, Echo, Fiber}

// serving serves on a listener until it is stopped; closing closes what it stands on.
type (
	serving func(net.Listener) (stop closing)
	closing func(context.Context) error
)

// operations are the guarded ones, by the path that stands before the key.
var operations = map[string]string{"/retake/": "proof:retake:run", "/hold/": "proof:hold:run"}

var frameworks = map[string]func(*httpflow.Flow, *Ledger) serving{
	NetHTTP: onNetHTTP, Echo: onEcho, Fiber: onFiber,
}

func onNetHTTP(flow *httpflow.Flow, ledger *Ledger) serving {
	mux := http.NewServeMux()
	for path, operation := range operations {
		mux.Handle("POST "+path+"{key}", stdhttp.Guard(flow, operation, netHandler(ledger)))
	}
	return serveNet(carrying(mux))
}

// carrying gives each request's context what it says about itself.
func carrying(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(carried(r.Context(), r.Header.Get)))
	})
}

func netHandler(ledger *Ledger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, body := action(r.Context(), ledger, r.Header.Get)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // to a client that may have gone
	})
}

func serveNet(h http.Handler) serving {
	return func(l net.Listener) closing {
		server := &http.Server{Handler: h}
		go func() { _ = server.Serve(l) }() // Shutdown ends it
		return server.Shutdown
	}
}

func onEcho(flow *httpflow.Flow, ledger *Ledger) serving {
	e := echo.New()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			c.SetRequest(r.WithContext(carried(r.Context(), r.Header.Get)))
			return next(c)
		}
	})
	for path, operation := range operations {
		e.POST(path+":key", func(c echo.Context) error {
			status, body := action(c.Request().Context(), ledger, c.Request().Header.Get)
			return c.String(status, body)
		}, echoidem.Guard(flow, operation))
	}
	return serveNet(e)
}

func onFiber(flow *httpflow.Flow, ledger *Ledger) serving {
	app := fiber.New(fiber.Config{DisableStartupMessage: true, StreamRequestBody: true})
	header := func(c *fiber.Ctx) func(string) string {
		return func(name string) string { return strings.Clone(c.Get(name)) } // the watcher outlives the request
	}
	app.Use(func(c *fiber.Ctx) error {
		c.SetUserContext(carried(c.UserContext(), header(c)))
		return c.Next()
	})
	for path, operation := range operations {
		app.Post(path+":key", fiberidem.Guard(flow, operation), func(c *fiber.Ctx) error {
			status, body := action(c.UserContext(), ledger, header(c))
			return c.Status(status).SendString(body)
		})
	}
	return func(l net.Listener) closing {
		ended := make(chan error, 1)
		go func() { ended <- app.Listener(l) }()
		return func(ctx context.Context) error {
			err := app.ShutdownWithContext(ctx)
			return errors.Join(err, <-ended)
		}
	}
}
