package httpflow_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/stores/memstore"
)

func TestStatement19_ARepeatIsTheSameAnswer(t *testing.T) {
	b := newBed(t, created)
	first := b.send(`{"cart":1}`, "Idempotency-Key: a")
	b.want(first, 201, "executed", 1)
	again := b.send(`{"cart":1}`, "Idempotency-Key: a")
	b.want(again, 201, "replayed", 1)
	if again.Header.Get("Idempotent-Replayed") != "true" || first.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("Idempotent-Replayed: first %q, again %q", first.Header.Get("Idempotent-Replayed"), again.Header.Get("Idempotent-Replayed"))
	}
	for _, h := range []http.Header{first.Header, again.Header} {
		for _, ours := range []string{"Date", "Idempotent-Replayed", "Idempotency-Status"} {
			h.Del(ours)
		}
	}
	if fmt.Sprint(first.Header) != fmt.Sprint(again.Header) || string(first.body) != string(again.body) {
		t.Errorf("first %v %s\nagain %v %s", first.Header, first.body, again.Header, again.body)
	}
}

func TestStatement11_AnotherBodyIsAConflict(t *testing.T) {
	b := newBed(t, created)
	b.send(`{"cart":1}`, "Idempotency-Key: a")
	b.want(b.send(`{"cart":2}`, "Idempotency-Key: a"), 422, "conflict", 1)
	b.want(b.send(`{"cart":1}`, "Idempotency-Key: a", "/do/it?to=mallory"), 422, "conflict", 1)
	b.want(b.send(`{"cart":1}`, "Idempotency-Key: a", "/do/other"), 422, "conflict", 1)
	b.want(b.send(`{"cart":1}`, "Idempotency-Key: a"), 201, "replayed", 1)
}

// Faults: 41.
func TestStatement13_AMultipartFormWithANewBoundary(t *testing.T) {
	b := newBed(t, created)
	b.want(b.send(multipartWith("x", "one"), "Idempotency-Key: a", "Content-Type: multipart/form-data; boundary=one"), 400, "malformed", 0)
	form := func(boundary, file string) answer {
		body := "--" + boundary + "\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x.txt\"\r\n\r\n" + file + "\r\n--" + boundary + "--\r\n"
		return b.send(body, "Idempotency-Key: a", "Content-Type: multipart/form-data; boundary="+boundary)
	}
	b.want(form("one", "tea"), 201, "executed", 1)
	b.want(form("two", "tea"), 201, "replayed", 1)
	b.want(form("two", "gin"), 422, "conflict", 1)
}

func TestScope(t *testing.T) {
	t.Run("statement 9: another scope runs by itself", func(t *testing.T) {
		b := newBed(t, created)
		b.want(b.send("{}", "Idempotency-Key: a"), 201, "executed", 1)
		b.want(b.send("{}", "Idempotency-Key: a", "Authorization: Bearer bob"), 201, "executed", 2)
	})
	t.Run("nobody is signed in", func(t *testing.T) {
		b := newBed(t, created)
		a := b.send("{}", "Idempotency-Key: a", "Authorization: ")
		b.want(a, 401, "foreign", 0)
		if a.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("no challenge: %v", a.Header)
		}
	})
	t.Run("nobody can tell who it is", func(t *testing.T) {
		b := newBed(t, created, func(s *setting) {
			s.flow.Scope = func(httpflow.Request) (string, error) { return "", errors.New("session store at 10.0.0.7 is down") }
		})
		a := b.send("{}", "Idempotency-Key: a")
		b.want(a, 503, "unavailable", 0)
		if a.Header.Get("Retry-After") != "1" || strings.Contains(string(a.body), "10.0.0.7") {
			t.Errorf("Retry-After %q, body %s", a.Header.Get("Retry-After"), a.body)
		}
	})
	t.Run("an unscoped guard needs none", func(t *testing.T) {
		b := newBed(t, created, func(s *setting) { s.guard.Unscoped, s.flow.Scope = true, nil })
		b.want(b.send("{}", "Idempotency-Key: a"), 201, "executed", 1)
	})
}

// The order of judgement: key syntax, scope, token, and only then the body.
func TestStatement49a_TheHeadAloneDecides(t *testing.T) {
	other := newBed(t, created) // its tokens are signed by another key
	cases := []struct {
		given  string
		head   []string
		status int
	}{
		{"a malformed key", []string{"Idempotency-Key: a, b"}, 400},
		{"no key where one is required", []string{"Content-Type: application/octet-stream"}, 400},
		{"a forged token", []string{"Idempotency-Token: " + other.token("")}, 403},
		{"nobody signed in", []string{"Idempotency-Key: a", "Authorization: "}, 401},
		{"a body that says it is too long", []string{"Idempotency-Key: a"}, 413},
	}
	for _, c := range cases {
		t.Run(c.given, func(t *testing.T) {
			b := newBed(t, created, policy(func(p *idem.Policy) { p.KeyRequired = idem.Yes }))
			conn, err := net.Dial("tcp", b.server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			head := http.Header{"Authorization": {"Bearer alice"}, "Content-Length": {"10485760"}}
			for _, line := range c.head {
				name, value, _ := strings.Cut(line, ": ")
				head[name] = []string{value}
			}
			fmt.Fprintf(conn, "POST /do/it HTTP/1.1\r\nHost: test\r\n")
			_ = head.Write(conn)
			fmt.Fprintf(conn, "\r\n") // and not a byte of the body
			_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
			res, err := http.ReadResponse(newReader(conn), nil)
			if err != nil {
				t.Fatalf("no answer without the body: %v", err)
			}
			_ = res.Body.Close()
			if res.StatusCode != c.status || b.runs.Load() != 0 {
				t.Errorf("%d and %d runs, want %d and none", res.StatusCode, b.runs.Load(), c.status)
			}
		})
	}
}

func TestStatement16_ABodyOverTheLimit(t *testing.T) {
	b := newBed(t, created, policy(func(p *idem.Policy) { p.MaxBody = 100_000 }))
	chunked := func(size int) answer {
		req, _ := http.NewRequest(http.MethodPost, b.server.URL+"/do/it", io.LimitReader(zeros{}, int64(size)))
		req.Header.Set("Authorization", "Bearer alice")
		req.Header.Set("Idempotency-Key", "a")
		return b.do(req)
	}
	a := chunked(100_001)
	b.want(a, 413, "malformed", 0)
	if detail := a.json(t)["detail"].(string); !strings.Contains(detail, "100000") {
		t.Errorf("detail %q does not name the limit", detail)
	}
	// Statement 17: chunked and sized bodies are one, and are given back whole.
	first := chunked(100_000)
	b.want(first, 201, "executed", 1)
	if string(first.body) != `{"order":7,"bytes":100000}` {
		t.Errorf("the handler read %s", first.body)
	}
	b.want(b.send(strings.Repeat("\x00", 100_000), "Idempotency-Key: a", "Content-Type: "), 201, "replayed", 1)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A protection against forgery outside the guard parses the form first.
func TestAFormParsedOutsideIsStillItsOwn(t *testing.T) {
	b := newBed(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.PostFormValue("amount")) }, func(s *setting) {
		s.outside = func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _ = r.PostFormValue("csrf"); h.ServeHTTP(w, r) })
		}
	})
	token := b.token("")
	form := func(amount string) answer {
		return b.send("amount="+amount+"&idempotent-token="+token, "Content-Type: application/x-www-form-urlencoded")
	}
	first := form("7")
	b.want(first, 200, "executed", 1)
	if string(first.body) != "7" {
		t.Errorf("the handler read %q", first.body)
	}
	b.want(form("7"), 200, "replayed", 1)
	b.want(form("9"), 422, "conflict", 1)
	parts := func(amount, boundary string) answer {
		body := strings.ReplaceAll(multipartWith(token, boundary), "\r\n1\r\n", "\r\n"+amount+"\r\n")
		return b.send(body, "/do/parts", "Content-Type: multipart/form-data; boundary="+boundary)
	}
	token = b.token("")
	b.want(parts("7", "one"), 200, "executed", 2)
	b.want(parts("7", "two"), 200, "replayed", 2)
	b.want(parts("9", "two"), 422, "conflict", 2)
}

func TestStatement28_AReleasedKeyRunsAgainWithAnotherBody(t *testing.T) {
	b := newBed(t, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) == "bad" {
			http.Error(w, "no such card", http.StatusUnprocessableEntity)
			return
		}
		created(w, r)
	})
	b.want(b.send("bad", "Idempotency-Key: a"), 422, "released", 1)
	b.want(b.send("good", "Idempotency-Key: a"), 201, "executed", 2)
	b.want(b.send("good", "Idempotency-Key: a"), 201, "replayed", 2)
}

// A context in the body is part of what a token is bound to, and is looked for
// only after the token itself was found to be ours.
func TestContextSources(t *testing.T) {
	cases := []struct {
		source string
		send   func(b *bed, token, context string) answer
	}{
		{"path:rest", func(b *bed, token, context string) answer {
			return b.send("{}", "Idempotency-Token: "+token, "/do/"+context)
		}},
		{"query:cart", func(b *bed, token, context string) answer {
			return b.send("{}", "Idempotency-Token: "+token, "/do/it?cart="+context)
		}},
		{"header:X-Cart", func(b *bed, token, context string) answer {
			return b.send("{}", "Idempotency-Token: "+token, "X-Cart: "+context)
		}},
		{"json:/order/cart", func(b *bed, token, context string) answer {
			return b.send(`{"order":{"cart":"`+context+`"}}`, "Idempotency-Token: "+token)
		}},
		{"form:cart", func(b *bed, token, context string) answer {
			return b.send("cart="+context+"&idempotent-token="+token, "Content-Type: application/x-www-form-urlencoded")
		}},
	}
	for _, c := range cases {
		t.Run(c.source, func(t *testing.T) {
			b := newBed(t, created, policy(func(p *idem.Policy) { p.Context = c.source }))
			token := b.token("42")
			b.want(c.send(b, token, "43"), 403, "foreign", 0)
			b.want(c.send(b, token, ""), 403, "foreign", 0)
			b.want(c.send(b, token, "42"), 201, "executed", 1)
			b.want(c.send(b, token, "42"), 201, "replayed", 1)
		})
	}
}

func TestTraits(t *testing.T) {
	b := newBed(t, created, func(s *setting) {
		s.policy.Traits = []string{"ip", "user-agent"}
		s.flow.Address = func(r httpflow.Request) string { return strings.Join(r.Header("X-Client"), "") }
	})
	issue := func(address, agent string) string {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer alice")
		r.Header.Set("X-Client", address)
		r.Header.Set("User-Agent", agent)
		token, err := b.flow.Issue(httpflow.NetRequest{Request: r}, operation, "")
		if err != nil {
			t.Fatal(err)
		}
		return "Idempotency-Token: " + token.Reveal()
	}
	token := issue("198.51.100.7", "Browser/1")
	b.want(b.send("{}", token, "X-Client: 203.0.113.7", "User-Agent: Browser/1"), 403, "foreign", 0)
	b.want(b.send("{}", token, "X-Client: 198.51.100.7", "User-Agent: Browser/2"), 403, "foreign", 0)
	b.want(b.send("{}", token, "X-Client: 198.51.100.99:443", "User-Agent: Browser/1"), 201, "executed", 1) // same network
}

func TestStatement31_StoreDownAtTheClaim(t *testing.T) {
	store := &downStore{Store: memstore.New(memstore.Options{})}
	b := newBed(t, created, func(s *setting) { s.guard.Store = store })
	store.down.Store(true)
	a := b.send("{}", "Idempotency-Key: a")
	b.want(a, 503, "unavailable", 0)
	if a.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	store.down.Store(false)
	b.want(b.send("{}", "Idempotency-Key: b"), 201, "executed", 1)
}
