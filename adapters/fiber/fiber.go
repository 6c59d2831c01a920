package fiberidem

import (
	"context"
	"io"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"github.com/go-idem/idem/core/httpflow"
)

// Guard makes a route safe to submit twice. It panics where there is no policy.
func Guard(flow *httpflow.Flow, operation string) fiber.Handler {
	route := flow.Route(operation)
	return func(c *fiber.Ctx) error { return route.Serve(exchange{c}) }
}

// Endpoints serves tokens, status and discard: mount it by app.All("/idempotency/*", …).
func Endpoints(flow *httpflow.Flow) fiber.Handler { return send(flow.Endpoint) }

// Items serves a route whose requests hold many items: see [httpflow.Items].
func Items(r *httpflow.ItemsRoute, h httpflow.ItemHandler) fiber.Handler { return send(r.By(h)) }

func send(by func(httpflow.Request) *httpflow.Reply) fiber.Handler {
	return func(c *fiber.Ctx) error { exchange{c}.Send(by(exchange{c})); return nil }
}

// Request is c as flow.Issue takes it, for a page that is rendered with a token.
func Request(c *fiber.Ctx) httpflow.Request { return exchange{c} }

// exchange is Fiber's. Its strings point into buffers of the connection.
type exchange struct{ *fiber.Ctx }

func (x exchange) Context() context.Context      { return x.UserContext() }
func (x exchange) Method() string                { return x.Ctx.Method() }
func (x exchange) Path() string                  { return utils.UnsafeString(x.Request().URI().PathOriginal()) }
func (x exchange) RawQuery() string              { return utils.UnsafeString(x.Request().URI().QueryString()) }
func (x exchange) Header(n string) []string      { return httpflow.Lines(x.Request().Header.PeekAll(n)) }
func (x exchange) RemoteAddr() string            { return x.IP() }
func (x exchange) Native() any                   { return x.Ctx }
func (x exchange) SetBody(b *httpflow.Body)      { x.Request().SetBodyStream(b.Whole(), int(b.Size())) }
func (x exchange) SetContext(c context.Context)  { x.SetUserContext(c) }
func (x exchange) Pass() error                   { return x.Next() }
func (x exchange) Mark(v httpflow.Verdict)       { x.set(httpflow.StatusHeader, v.String()) }
func (x exchange) Release()                      {} // the server sends it once the chain has returned
func (x exchange) Drop()                         { x.Response().ResetBody() }
func (x exchange) Fields(f httpflow.FieldReader) { x.Response().Header.VisitAll(httpflow.Lent(f)) }
func (x exchange) LentLines(n string) [][]byte   { return x.Request().Header.PeekAll(n) }
func (x exchange) LentBody() httpflow.HeldBody   { return x.Request() }
func (x exchange) set(n, v string)               { httpflow.SetField(&x.Response().Header, n, v) }
func (x exchange) PathValue(n string) string     { return httpflow.UnescapedOnce(x.Params(n), x.plain()) }
func (x exchange) plain() bool                   { return x.App().Config().UnescapePath }
func (x exchange) Body() (io.Reader, int64) {
	return httpflow.Unread(x.Request(), x.Ctx.Context().RequestBodyStream(), x.Request().Header.ContentLength())
}
func (x exchange) Run(ctx context.Context, _ int64, r *httpflow.Reply) error {
	defer x.SetUserContext(x.UserContext())
	x.SetUserContext(ctx)
	err, res := x.Next(), x.Response()
	if err != nil && x.App().ErrorHandler(x.Ctx, err) != nil {
		_ = x.SendStatus(fiber.StatusInternalServerError) // as Fiber does
	}
	if r.Status = res.StatusCode(); res.IsBodyStream() || x.Ctx.Context().Hijacked() {
		r.Partial = true
		return err
	}
	if r.Body = res.Body(); r.Status == fiber.StatusNoContent || r.Status == fiber.StatusNotModified || len(r.Body) == 0 {
		res.Header.SetNoDefaultContentType(true) // so that Fields tells a type only if one was chosen
	}
	return err
}
func (x exchange) Send(r *httpflow.Reply) {
	if size := x.Request().Header.ContentLength(); x.Request().IsBodyStream() && !r.Read && (size < 0 || size > 8<<10) {
		x.Ctx.Context().SetConnectionClose() // or what is left unread would be taken for the next request
	}
	x.Response().Header.SetNoDefaultContentType(true)
	r.Each(x.set, x.Response().Header.Add)
	x.Status(r.Status).Response().SetBodyRaw(r.Body)
}
