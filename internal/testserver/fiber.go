package testserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/compress"
	"github.com/valyala/fasthttp"

	"github.com/go-idem/idem/adapters/adaptertest"
	fiberidem "github.com/go-idem/idem/adapters/fiber"
	"github.com/go-idem/idem/core/httpflow"
)

// Fiber is Fiber v2 under test, with StreamRequestBody: without it fasthttp
// reads every body before anybody is asked (statements 16 and 49a).
func Fiber() adaptertest.Adapter {
	return adaptertest.Adapter{Name: "fiber", Serve: serveFiber, Cannot: map[string]string{
		"Statement41_InformationalAnswersAreNeitherKeptNorReplayed": "fasthttp sends no informational answers",
	}}
}

func serveFiber(l net.Listener, flow *httpflow.Flow, routes []adaptertest.Route) (func(context.Context) error, error) {
	app := fiber.New(fiber.Config{
		DisableStartupMessage: true, StreamRequestBody: true, BodyLimit: 64 << 20, ReadBufferSize: 16 << 10,
	})
	app.Use(fiberRecovering)
	timed := map[string]fasthttp.RequestHandler{}
	for _, r := range routes {
		path := r.Prefix
		if strings.HasSuffix(path, "/") {
			path += "*"
		}
		if r.Endpoints {
			app.All(path, fiberidem.Endpoints(flow))
			continue
		}
		var handlers []fiber.Handler
		if r.Compress {
			handlers = append(handlers, compress.New())
		}
		if r.Operation != "" {
			handlers = append(handlers, fiberidem.Guard(flow, r.Operation))
		}
		if r.Items != nil {
			handlers = append(handlers, fiberidem.Items(r.Items, r.Each))
		} else {
			handlers = append(handlers, func(c *fiber.Ctx) error { return r.Handler(&fiberExchange{c: c}) })
		}
		if r.Method == "" {
			app.All(path, handlers...)
		} else {
			app.Add(r.Method, path, handlers...)
		}
		if r.Timeout > 0 {
			timed[r.Prefix] = fasthttp.TimeoutWithCodeHandler(app.Handler(), r.Timeout, "timeout", http.StatusServiceUnavailable)
		}
	}
	// Fiber's own timeout waits for the handler; fasthttp's answers without it.
	whole := app.Handler()
	app.Server().Handler = func(c *fasthttp.RequestCtx) {
		for prefix, h := range timed {
			if strings.HasPrefix(string(c.Path()), prefix) {
				h(c)
				return
			}
		}
		whole(c)
	}
	fresh := newFreshListener(l)
	ended := make(chan error, 1)
	go func() { ended <- app.Listener(fresh) }()
	return func(ctx context.Context) error {
		err := app.ShutdownWithContext(ctx)
		_ = fresh.Close() // a server that never came to serve leaves it open
		serving := <-ended
		ended <- nil // for a second stop
		return errors.Join(err, serving)
	}, nil
}

// fiberRecovering is Fiber's recover, but keeps the panic's value to look at.
func fiberRecovering(c *fiber.Ctx) (err error) {
	defer func() {
		if v := recover(); v != nil {
			status, body := adaptertest.Recovered(v)
			err = c.Status(status).SendString(body)
		}
	}()
	return c.Next()
}

// fiberExchange is adaptertest.Exchange for Fiber. Its strings are copies:
// Fiber's point into buffers that the next request overwrites.
type fiberExchange struct {
	c        *fiber.Ctx
	trailing bool // a trailer follows the answer
}

func (x *fiberExchange) Context() context.Context     { return x.c.UserContext() }
func (x *fiberExchange) Method() string               { return strings.Clone(x.c.Method()) }
func (x *fiberExchange) Path() string                 { return strings.Clone(x.c.Path()) }
func (x *fiberExchange) SetHeader(name, value string) { x.c.Set(name, value) }
func (x *fiberExchange) AddHeader(name, value string) { x.c.Response().Header.Add(name, value) }

func (x *fiberExchange) Header(name string) []string {
	var values []string
	for _, v := range x.c.Request().Header.PeekAll(name) {
		values = append(values, string(v))
	}
	return values
}

func (x *fiberExchange) Body() ([]byte, error) {
	return append([]byte(nil), x.c.Body()...), nil
}

func (x *fiberExchange) Form() (url.Values, map[string][]byte, error) {
	fields, files := url.Values{}, map[string][]byte{}
	if strings.HasPrefix(string(x.c.Request().Header.ContentType()), "multipart/form-data") {
		form, err := x.c.MultipartForm()
		if err != nil {
			return nil, nil, err
		}
		for name, values := range form.Value {
			for _, v := range values {
				fields.Add(strings.Clone(name), strings.Clone(v))
			}
		}
		return fields, files, readFiles(form, files)
	}
	x.c.Request().PostArgs().VisitAll(func(name, value []byte) { fields.Add(string(name), string(value)) })
	return fields, files, nil
}

func (x *fiberExchange) Answer(status int, body []byte) error {
	if x.trailing { // fasthttp sends trailers behind a stream only
		return x.Stream(status, func(chunk func([]byte) error) error { return chunk(body) })
	}
	return x.c.Status(status).Send(body)
}

// Stream hands fasthttp a writer that it calls once the handler has returned.
func (x *fiberExchange) Stream(status int, produce func(chunk func([]byte) error) error) error {
	x.c.Status(status).Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		_ = produce(func(b []byte) error { // nobody is left to be told
			if _, err := w.Write(b); err != nil {
				return err
			}
			return w.Flush()
		})
	})
	return nil
}

// AnswerBy has no http.ResponseWriter, but what Fiber has in its place: the
// context is an io.Writer, a stream is flushed, and a connection is handed over once
// the chain of handlers has returned.
func (x *fiberExchange) AnswerBy(how string, status int, body []byte) error {
	switch how {
	case "copy":
		_, err := io.Copy(x.c.Status(status), bytes.NewReader(body))
		return err
	case "controller":
		return x.Stream(status, func(chunk func([]byte) error) error { return chunk(body) })
	case "hijack":
		c := x.c.Status(status).Context()
		c.HijackSetNoResponse(true)
		c.Hijack(func(conn net.Conn) {
			_, _ = fmt.Fprint(conn, rawAnswer(status, string(body))) // to a client that may have gone
		})
		return nil
	}
	return unknownWay(how)
}

func (x *fiberExchange) Trailer(name, value string) error {
	if err := x.c.Response().Header.AddTrailer(name); err != nil {
		return err
	}
	x.c.Set(name, value)
	x.trailing = true
	return nil
}

// EarlyHints: fasthttp sends one head for each request.
func (x *fiberExchange) EarlyHints(string) error { return adaptertest.ErrCannot }

func (x *fiberExchange) Fail(status int, text string) error {
	if status == 0 {
		return errors.New(text)
	}
	return fiber.NewError(status, text)
}
