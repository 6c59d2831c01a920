package fiberidem_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	fiberidem "github.com/go-idem/idem/adapters/fiber"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/suitetest"
)

func benchApp(guards ...fiber.Handler) fasthttp.RequestHandler {
	app := fiber.New()
	app.Post("/orders", append(guards, func(c *fiber.Ctx) error { return c.Status(fiber.StatusCreated).SendString("7") })...)
	return app.Handler()
}

func benchGuard(keys ...string) fiber.Handler {
	return fiberidem.Guard(newFlow(idem.Policy{Operation: operation, Preset: idem.API, Key: keys}), operation)
}

func prepare(ctx *fasthttp.RequestCtx) {
	ctx.Request.Reset()
	ctx.Response.Reset()
	ctx.ResetUserValues()
	ctx.Request.Header.SetMethod("POST")
	ctx.Request.SetRequestURI("/orders")
	ctx.Request.Header.SetContentType("application/json")
	ctx.Request.SetBodyString(`{"cart":1}`)
}

func play(b *testing.B, h fasthttp.RequestHandler, change func(i int, r *fasthttp.Request)) {
	b.Helper()
	ctx := &fasthttp.RequestCtx{}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		prepare(ctx)
		change(i, &ctx.Request)
		h(ctx)
		i++
	}
}

func BenchmarkB1NoKey(b *testing.B) {
	b.Run("bare", func(b *testing.B) { play(b, benchApp(), func(int, *fasthttp.Request) {}) })
	b.Run("guarded", func(b *testing.B) { play(b, benchApp(benchGuard()), func(int, *fasthttp.Request) {}) })
}

func BenchmarkB2Memory(b *testing.B) {
	b.Run("first", func(b *testing.B) {
		play(b, benchApp(benchGuard()), func(i int, r *fasthttp.Request) { r.Header.Set("Idempotency-Key", "order-"+strconv.Itoa(i)) })
	})
	b.Run("replay", func(b *testing.B) {
		play(b, benchApp(benchGuard()), func(_ int, r *fasthttp.Request) { r.Header.Set("Idempotency-Key", "order") })
	})
}

func BenchmarkB14Forged(b *testing.B) {
	forged := strings.Repeat("A", 32)
	play(b, benchApp(benchGuard("token")), func(_ int, r *fasthttp.Request) { r.Header.Set("Idempotency-Token", forged) })
}

// B1: a request without its optional key costs at most one allocation.
func TestB1_ARequestWithoutAKeyCostsOneAllocation(t *testing.T) {
	suitetest.Counts(t)
	cost := func(h fasthttp.RequestHandler) float64 {
		ctx := &fasthttp.RequestCtx{}
		return testing.AllocsPerRun(100, func() { prepare(ctx); h(ctx) })
	}
	if bare, with := cost(benchApp()), cost(benchApp(benchGuard())); with > bare+1 {
		t.Errorf("%v allocations, %v without a guard", with, bare)
	}
}
