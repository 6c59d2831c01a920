package fiberidem_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	fiberidem "github.com/go-idem/idem/adapters/fiber"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/internal/suitetest"
)

const operation = "shop:order:create"

// shop is a real server with h behind the guard at POST /orders/:id.
type shop struct {
	t    *testing.T
	url  string
	runs int
	mu   sync.Mutex
}

func newShop(t *testing.T, cfg fiber.Config, policy idem.Policy, h fiber.Handler, use ...any) *shop {
	t.Helper()
	s := &shop{t: t}
	cfg.DisableStartupMessage = true
	app := fiber.New(cfg)
	if len(use) > 0 {
		app.Use(use...)
	}
	policy.Operation = operation
	app.Post("/orders/:id", fiberidem.Guard(newFlow(policy), operation), func(c *fiber.Ctx) error {
		s.mu.Lock()
		s.runs++
		s.mu.Unlock()
		return h(c)
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- app.Listener(ln) }()
	t.Cleanup(func() {
		if err := app.ShutdownWithTimeout(30 * time.Second); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		<-served
	})
	s.url = "http://" + ln.Addr().String()
	return s
}

type answer struct {
	*http.Response
	body string
}

func (s *shop) send(key, body string, head ...string) answer {
	s.t.Helper()
	req, _ := http.NewRequest(http.MethodPost, s.url+"/orders/7?a=1", strings.NewReader(body))
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	for _, line := range head {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	return s.do(req)
}

func (s *shop) do(req *http.Request) answer {
	s.t.Helper()
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{res, string(body)}
}

func (s *shop) want(a answer, status int, verdict string, runs int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := strings.Join(a.Header.Values("Idempotency-Status"), ","); a.StatusCode != status || got != verdict || s.runs != runs {
		s.t.Errorf("answered %d %q after %d runs, want %d %q after %d; body %s", a.StatusCode, got, s.runs, status, verdict, runs, a.body)
	}
}

// FAULTS 27: an error returned the framework's way is the answer that the
// framework makes of it, for the record too.
//
// Faults: 27.
func TestP10_AReturnedErrorSettlesByItsStatus(t *testing.T) {
	cases := []struct {
		given string
		err   error
		code  int
		first string
		again string
		runs  int
	}{
		{"402 is kept", fiber.NewError(402, "card declined"), 402, "executed", "replayed", 1},
		{"422 is released", fiber.NewError(422, "no such street"), 422, "released", "released", 2},
		{"another error is a 500", errors.New("db is down"), 500, "released", "released", 2},
	}
	for _, c := range cases {
		t.Run(c.given, func(t *testing.T) {
			handled := 0
			s := newShop(t, fiber.Config{ErrorHandler: func(fc *fiber.Ctx, err error) error { handled++; return fiber.DefaultErrorHandler(fc, err) }},
				idem.Policy{Preset: idem.API}, func(*fiber.Ctx) error { return c.err })
			first := s.send("a", "{}")
			s.want(first, c.code, c.first, 1)
			again := s.send("a", "{}")
			s.want(again, c.code, c.again, c.runs)
			if handled != c.runs || again.body != first.body {
				t.Errorf("handled %d times; first %q, again %q", handled, first.body, again.body)
			}
		})
	}
	t.Run("an error handler that fails", func(t *testing.T) {
		s := newShop(t, fiber.Config{ErrorHandler: func(_ *fiber.Ctx, err error) error { return err }}, idem.Policy{Preset: idem.API},
			func(*fiber.Ctx) error { return errors.New("kaput") })
		s.want(s.send("a", "{}"), 500, "released", 1)
	})
}

func TestP10_APanicIsAnsweredByRecover(t *testing.T) {
	s := newShop(t, fiber.Config{}, idem.Policy{Preset: idem.API}, func(c *fiber.Ctx) error {
		_ = c.Status(201).SendString("half an answer")
		panic("kaput")
	}, func(c *fiber.Ctx) (err error) { // as Fiber's own recover does it
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("%v", v)
			}
		}()
		return c.Next()
	})
	a := s.send("a", "{}")
	s.want(a, 500, "released", 1)
	if a.body != "kaput" {
		t.Errorf("body %q", a.body)
	}
}

// The first answer is the handler's own, byte for byte, and so is the repeat; one
// over the limit, or streamed, leaves whole and is not replayed.
//
// Faults: 34, 35.
func TestTheFirstAnswerIsNotAlteredAndTheRepeatIsTheSame(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	cases := []struct {
		does  string
		again string
		h     fiber.Handler
	}{
		{"nothing", "replayed", func(*fiber.Ctx) error { return nil }},
		{"204", "replayed", func(c *fiber.Ctx) error { return c.SendStatus(204) }},
		{"a type without a body", "replayed", func(c *fiber.Ctx) error { c.Set("Content-Type", "text/csv"); return nil }},
		{"a body", "replayed", func(c *fiber.Ctx) error { return c.SendString("0") }},
		{"a redirect", "replayed", func(c *fiber.Ctx) error { return c.Redirect("/orders/7", 303) }},
		{"bytes and repeated fields", "replayed", func(c *fiber.Ctx) error {
			for _, v := range []string{"one", "two", "one"} {
				c.Response().Header.Add("X-Step", v)
			}
			return c.Type("bin").Send(every)
		}},
		{"a stream", "used", func(c *fiber.Ctx) error {
			c.Context().SetBodyStreamWriter(func(w *bufio.Writer) { fmt.Fprint(w, "streamed") })
			return nil
		}},
		{"over the limit", "used", func(c *fiber.Ctx) error { return c.Send(bytes.Repeat([]byte("x"), 1001)) }},
		{"at the limit", "replayed", func(c *fiber.Ctx) error { return c.Send(bytes.Repeat([]byte("x"), 1000)) }},
	}
	for _, c := range cases {
		t.Run(c.does, func(t *testing.T) {
			s := newShop(t, fiber.Config{}, idem.Policy{Preset: idem.API, MaxKeptBody: 1000}, c.h)
			bare := s.send("", "{}")
			s.want(bare, bare.StatusCode, "", 1)
			first := s.send("a", "{}")
			s.want(first, bare.StatusCode, "executed", 2)
			same(t, "first", first, bare)
			again := s.send("a", "{}")
			if c.again == "used" {
				s.want(again, 409, "used", 2)
				return
			}
			s.want(again, bare.StatusCode, "replayed", 2)
			same(t, "again", again, bare)
		})
	}
}

func same(t *testing.T, which string, got, want answer) {
	t.Helper()
	a, b := got.Header.Clone(), want.Header.Clone()
	for _, h := range []http.Header{a, b} {
		for _, name := range []string{"Date", "Idempotency-Status", "Idempotent-Replayed"} {
			h.Del(name)
		}
	}
	if fmt.Sprint(a) != fmt.Sprint(b) || got.body != want.body {
		t.Errorf("%s: %v %q\nwant %v %q", which, a, got.body, b, want.body)
	}
}

func TestWhatStandsOutsideIsNotKept(t *testing.T) {
	n := 0
	s := newShop(t, fiber.Config{}, idem.Policy{Preset: idem.API}, func(c *fiber.Ctx) error {
		c.Cookie(&fiber.Cookie{Name: "session", Value: "first"})
		c.Set("X-Inside", "kept")
		return c.SendString("ok")
	}, func(c *fiber.Ctx) error { n++; c.Set("X-Outside", fmt.Sprint(n)); return c.Next() })
	first := s.send("a", "{}")
	s.want(first, 200, "executed", 1)
	again := s.send("a", "{}")
	s.want(again, 200, "replayed", 1)
	if first.Header.Get("Set-Cookie") == "" || again.Header.Get("Set-Cookie") != "" || again.Header.Get("X-Inside") != "kept" || again.Header.Get("X-Outside") != "2" {
		t.Errorf("first %v\nagain %v", first.Header, again.Header)
	}
}

func TestTheHandlersContextAndBody(t *testing.T) {
	type key struct{}
	for _, streamed := range []bool{false, true} {
		for _, size := range []int{0, 100, 200_000} {
			t.Run(fmt.Sprintf("streamed %v, %d bytes", streamed, size), func(t *testing.T) {
				s := newShop(t, fiber.Config{StreamRequestBody: streamed}, idem.Policy{Preset: idem.API}, func(c *fiber.Ctx) error {
					if c.UserContext().Value(key{}) != "kept" {
						t.Error("a value of the user's context was lost")
					}
					if err := c.UserContext().Err(); err != nil {
						t.Errorf("the context had ended: %v", err) // P7
					}
					if err := idem.MarkEffects(c.UserContext()); err != nil {
						t.Errorf("the context does not lead to the claim: %v", err)
					}
					return c.SendString(fmt.Sprint(len(c.Body())))
				}, func(c *fiber.Ctx) error {
					ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, "kept"))
					cancel()
					c.SetUserContext(ctx)
					err := c.Next()
					if c.UserContext() != ctx {
						t.Error("the user's context was not put back")
					}
					return err
				})
				body := strings.Repeat("x", size)
				a := s.send("a", body)
				s.want(a, 200, "executed", 1)
				if a.body != fmt.Sprint(size) {
					t.Errorf("the handler read %s bytes", a.body)
				}
				s.want(s.send("a", body), 200, "replayed", 1)
				s.want(s.send("a", body+"y"), 422, "conflict", 1)
				// Statement 17: chunked and sized bodies are one.
				req, _ := http.NewRequest(http.MethodPost, s.url+"/orders/7?a=1", io.MultiReader(strings.NewReader(body)))
				req.Header.Set("Idempotency-Key", "a")
				if req.ContentLength = -1; size > 0 {
					s.want(s.do(req), 200, "replayed", 1)
				}
			})
		}
	}
}

// Statement 49a, and the danger behind it: fasthttp takes what is left of an
// unread body for the next request, so the connection has to end.
func TestStatement49a_ARefusalDoesNotReadTheBody(t *testing.T) {
	s := newShop(t, fiber.Config{StreamRequestBody: true, BodyLimit: 64 << 20}, idem.Policy{Preset: idem.API, Key: []string{"token"}, KeyRequired: idem.Yes},
		func(c *fiber.Ctx) error { return nil })
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	const smuggled = "POST /orders/7 HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n"
	fmt.Fprintf(conn, "POST /orders/7 HTTP/1.1\r\nHost: test\r\nContent-Type: text/plain\r\nIdempotency-Token: %s\r\nContent-Length: 10485760\r\n\r\n%s%s",
		strings.Repeat("A", 32), strings.Repeat("x", 8<<10), smuggled)
	r := bufio.NewReader(conn)
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatalf("no answer before the body was there: %v", err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	s.want(answer{Response: res}, 403, "foreign", 0)
	if res, err := http.ReadResponse(r, nil); err == nil {
		t.Errorf("the body was answered as a request: %d", res.StatusCode)
	}
}

// Statement 6 in Fiber: fasthttp lets bytes through that net/http refuses.
func TestStatement06_NULInAKey(t *testing.T) {
	s := newShop(t, fiber.Config{}, idem.Policy{Preset: idem.API}, func(c *fiber.Ctx) error { return nil })
	for _, key := range []string{"a\x00b", "a\x7fb", "\x00"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
		fmt.Fprintf(conn, "POST /orders/7 HTTP/1.1\r\nHost: test\r\nIdempotency-Key: %s\r\nContent-Length: 0\r\n\r\n", key)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		s.want(answer{Response: res}, 400, "malformed", 0)
		_ = conn.Close()
	}
}

func TestMultipartFormsAreComparedByTheirParts(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		s := newShop(t, fiber.Config{StreamRequestBody: streamed}, idem.Policy{Preset: idem.API}, func(c *fiber.Ctx) error {
			file, err := c.FormFile("f")
			if err != nil {
				return err
			}
			return c.SendString(c.FormValue("a") + " " + fmt.Sprint(file.Size))
		})
		form := func(boundary, a string) answer {
			var body string
			for _, part := range []string{`name="a"` + "\r\n\r\n" + a, `name="b"` + "\r\n\r\n2", `name="c"` + "\r\n\r\n3", `name="f"; filename="x"` + "\r\n\r\ntea"} {
				body += "--" + boundary + "\r\nContent-Disposition: form-data; " + part + "\r\n"
			}
			return s.send("a", body+"--"+boundary+"--\r\n", "Content-Type: multipart/form-data; boundary="+boundary)
		}
		first := form("one", "1")
		s.want(first, 200, "executed", 1)
		if first.body != "1 3" {
			t.Errorf("streamed %v: the handler read %q", streamed, first.body)
		}
		for range 5 { // Fiber takes forms apart and puts them together in any order
			s.want(form("two", "1"), 200, "replayed", 1)
		}
		s.want(form("two", "9"), 422, "conflict", 1)
	}
}

// Strings of Fiber point into buffers that other requests overwrite: many at
// once on few connections must not mix (run with -race).
func TestBuffersAreNotShared(t *testing.T) {
	s := newShop(t, fiber.Config{}, idem.Policy{Preset: idem.API}, func(c *fiber.Ctx) error {
		c.Set("X-Key", c.Get("Idempotency-Key"))
		return c.Send(c.Body())
	})
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			client := &http.Client{}
			defer client.CloseIdleConnections()
			for i := range 40 {
				key := fmt.Sprintf("%d-%d", worker, i/2)
				req, _ := http.NewRequest(http.MethodPost, s.url+"/orders/7", strings.NewReader("body of "+key))
				req.Header.Set("Idempotency-Key", key)
				res, err := client.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				body, _ := io.ReadAll(res.Body)
				_ = res.Body.Close()
				want := []string{"executed", "replayed"}[i%2]
				if string(body) != "body of "+key || res.Header.Get("X-Key") != key || res.Header.Get("Idempotency-Status") != want {
					t.Errorf("%s: %d %s %s", key, res.StatusCode, res.Header.Get("Idempotency-Status"), body)
				}
			}
		})
	}
	all.Wait()
}

// Path values, and what middleware left, are found.
func TestPathValuesAndNative(t *testing.T) {
	guard := suitetest.Aged(t, idem.Policy{Operation: operation, Preset: idem.API, Key: []string{"token"}, Context: "path:id"})
	flow, err := httpflow.New(httpflow.Config{Guard: guard, Scope: func(r httpflow.Request) (string, error) {
		user, _ := r.Native().(*fiber.Ctx).Locals("user").(string)
		return user, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	app := fiber.New()
	app.Use(func(c *fiber.Ctx) error { c.Locals("user", "alice"); return c.Next() })
	app.Post("/orders/:id", fiberidem.Guard(flow, operation), func(c *fiber.Ctx) error { return c.SendStatus(204) })
	token, err := guard.Issue(t.Context(), idem.TokenRequest{Operation: operation, Scope: "alice", Context: "7"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		want int
	}{{"/orders/8", 403}, {"/orders/7", 204}} {
		req, _ := http.NewRequest(http.MethodPost, c.path, nil)
		req.Header.Set("Idempotency-Token", token.Reveal())
		res, err := app.Test(req, -1)
		if err != nil || res.StatusCode != c.want {
			t.Errorf("%s: %v, %v, want %d", c.path, res.StatusCode, err, c.want)
		}
	}
}

func TestNothingIsAddedWithoutAKey(t *testing.T) {
	s := newShop(t, fiber.Config{}, idem.Policy{Preset: idem.API}, func(*fiber.Ctx) error { return fiber.NewError(402) })
	s.want(s.send("", "{}"), 402, "", 1)
}
