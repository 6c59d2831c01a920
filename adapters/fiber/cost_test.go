package fiberidem_test

import (
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	fiberidem "github.com/go-idem/idem/adapters/fiber"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/suitetest"
)

// sender sends requests one after the other through the same buffers, as a
// connection does, past the network.
func sender(guards ...fiber.Handler) func(key string) int {
	app := fiber.New()
	app.Post("/orders", append(guards, func(c *fiber.Ctx) error { return c.Status(fiber.StatusCreated).SendString(suitetest.CountedAnswer) })...)
	h, ctx := app.Handler(), &fasthttp.RequestCtx{}
	return func(key string) int {
		prepare(ctx)
		ctx.Request.SetBodyString(suitetest.CountedBody)
		if key != "" {
			ctx.Request.Header.Set("Idempotency-Key", key)
		}
		h(ctx)
		return ctx.Response.StatusCode()
	}
}

// B1, B2: what a request may allocate: a first one's answer as it is kept; of a
// replay the kept field lines.
func TestB2_WhatARequestAllocates(t *testing.T) {
	guard := fiberidem.Guard(newFlow(idem.Policy{Operation: suitetest.Operation, Preset: idem.API}), suitetest.Operation)
	suitetest.Allocates(t, suitetest.Cost{First: 1, Replay: 1}, sender(), sender(guard))
}

// Whatever is used again from one request to the next, and fasthttp uses
// everything again: each gets its own answer.
func TestNothingOfARequestGetsIntoAnother(t *testing.T) {
	app := fiber.New()
	app.Post("/orders", fiberidem.Guard(newFlow(suitetest.MixingPolicy()), suitetest.Operation), func(c *fiber.Ctx) error {
		c.Set("X-Answer", c.Get("X-Who"))
		return c.Send(c.Body())
	})
	h := app.Handler()
	suitetest.NothingMixes(t, func() func(suitetest.Asked) suitetest.Answered {
		ctx := &fasthttp.RequestCtx{}
		return func(a suitetest.Asked) suitetest.Answered {
			prepare(ctx)
			ctx.Request.SetBodyString(a.Body)
			ctx.Request.Header.Set("X-Who", a.Who)
			if a.Key != "" {
				ctx.Request.Header.Set("Idempotency-Key", a.Key)
			}
			h(ctx)
			res := &ctx.Response
			return suitetest.Answered{Status: res.StatusCode(), Verdict: string(res.Header.Peek("Idempotency-Status")), Who: string(res.Header.Peek("X-Answer")), Body: string(res.Body())}
		}
	})
}
