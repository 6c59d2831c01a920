// Command fiberv3 measures Fiber v3 and its idempotency middleware for bench: a
// module and a process of its own, because Fiber v3 asks for a newer
// fasthttp than Fiber v2 was made for, and one workspace has one version of each.
//
// It reads a line for each round, the name of a row and for how long, and answers
// with what was done and used:
//
//	{"Row":"first","Length":60000000}
//	{"Calls":31245,"Took":60002000,"CPU":59800000,"Mallocs":312450}
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/idempotency"
	"github.com/valyala/fasthttp"
)

// order, answer and life are those of bench's other rows.
const (
	order  = `{"cart":42,"items":[{"sku":"tea","count":2}],"note":"ring twice"}`
	answer = `{"order":7}`
	life   = 2 * time.Second
	header = "X-Idempotency-Key"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "fiberv3:", err)
		os.Exit(1)
	}
}

func run() error {
	bare, guarded := orders(), orders(idempotency.New(idempotency.Config{Lifetime: life}))
	rows := map[string]func() error{
		"bare":   play(bare, func(*fasthttp.Request) {}),
		"no key": play(guarded, func(*fasthttp.Request) {}),
		"first":  play(guarded, fresh()),
		"replay": play(guarded, func(r *fasthttp.Request) { r.Header.Set(header, "00000000-0000-4000-8000-00000000000x") }),
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(fiber.Version); err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var round struct {
			Row    string
			Length time.Duration
		}
		if err := json.Unmarshal(lines.Bytes(), &round); err != nil {
			return err
		}
		do := rows[round.Row]
		if do == nil {
			return fmt.Errorf("there is no row %q", round.Row)
		}
		u, err := measure(do, round.Length)
		if err = errors.Join(err, out.Encode(u)); err != nil {
			return err
		}
	}
	return nil
}

// orders is an application with one route that makes an order.
func orders(guards ...any) fasthttp.RequestHandler {
	a := fiber.New()
	make := func(c fiber.Ctx) error { return c.Status(fiber.StatusCreated).SendString(answer) }
	for _, g := range guards {
		a.Use(g)
	}
	a.Post("/orders", make)
	return a.Handler()
}

// play hands requests to a handler as the server would.
func play(h fasthttp.RequestHandler, change func(*fasthttp.Request)) func() error {
	ctx := &fasthttp.RequestCtx{}
	return func() error {
		ctx.Request.Reset()
		ctx.Response.Reset()
		ctx.ResetUserValues()
		ctx.Request.Header.SetMethod("POST")
		ctx.Request.SetRequestURI("/orders")
		ctx.Request.Header.SetContentType("application/json")
		ctx.Request.SetBodyString(order)
		change(&ctx.Request)
		if h(ctx); ctx.Response.StatusCode() != fiber.StatusCreated {
			return fmt.Errorf("answered %d: %s", ctx.Response.StatusCode(), ctx.Response.Body())
		}
		return nil
	}
}

// fresh gives every request a key that none had before.
func fresh() func(*fasthttp.Request) {
	key, used := []byte("00000000-0000-4000-8000-000000000000"), 0
	return func(r *fasthttp.Request) {
		used++
		for at, n := len(key)-1, used; n > 0; at, n = at-1, n/10 {
			key[at] = byte('0' + n%10)
		}
		r.Header.SetBytesV(header, key)
	}
}

// used is what a round did and used.
type used struct {
	Calls, Mallocs uint64
	Took, CPU      time.Duration
}

func measure(do func() error, length time.Duration) (u used, err error) {
	runtime.GC()
	mallocs, cpu, began := allocated(), cpuTime(), time.Now()
	for u.Calls = 0; u.Calls%16 != 0 || time.Since(began) < length; u.Calls++ {
		if err := do(); err != nil {
			return u, err
		}
	}
	u.Took, u.CPU = time.Since(began), cpuTime()-cpu
	u.Mallocs = allocated() - mallocs
	return u, nil
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
