package httpflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
)

// Faults: 57.
func TestTokenEndpoint(t *testing.T) {
	b := newBed(t, created)
	own := "Origin: " + b.server.URL
	a := b.send(fmt.Sprintf(`{"operation":%q}`, operation), "/idempotency/tokens", own)
	b.want(a, 200, "", 0)
	doc := a.json(t)
	token, _ := doc["token"].(string)
	if len(token) != 32 || doc["expiresIn"] != 900.0 || doc["retain"] != 86400.0 || doc["degraded"] != false || len(doc) != 5 {
		t.Errorf("document %s", a.body)
	}
	expires, err := time.Parse("2006-01-02T15:04:05Z", fmt.Sprint(doc["expiresAt"]))
	if left := expires.Sub(b.guard.Now()); err != nil || left < 890*time.Second || left > 900*time.Second {
		t.Errorf("expiresAt %v: %v, %v left", doc["expiresAt"], err, left)
	}
	if a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Content-Type") != "application/json" {
		t.Errorf("header %v", a.Header)
	}
	b.want(b.send("{}", "Idempotency-Token: "+token), 201, "executed", 1)
	b.want(b.send("{}", "Idempotency-Token: "+token, "Authorization: Bearer bob"), 403, "foreign", 1)

	byQuery := b.send("", "GET", "/idempotency/tokens?operation="+operation, own)
	b.want(byQuery, 200, "", 1)
	b.want(b.send("{}", "Idempotency-Token: "+byQuery.json(t)["token"].(string)), 201, "executed", 2)

	list := b.send(fmt.Sprintf(`{"items":[{"operation":%q},{"operation":%[1]q}]}`, operation), "/idempotency/tokens", own)
	var items struct{ Items []struct{ Token string } }
	if err := json.Unmarshal(list.body, &items); err != nil || len(items.Items) != 2 || items.Items[0].Token == items.Items[1].Token {
		t.Errorf("items: %s, %v", list.body, err)
	}
}

func TestTokenEndpointRefuses(t *testing.T) {
	b := newBed(t, created, func(s *setting) {
		s.policy.Context = "path:rest"
		s.guard.IssueCheck = func(_ context.Context, _, scope, cart string) error {
			if cart != scope {
				return errors.New("the cart is somebody else's")
			}
			return nil
		}
	})
	body := func(operation, context string) string {
		return fmt.Sprintf(`{"operation":%q,"context":%q}`, operation, context)
	}
	cases := []struct {
		given   string
		body    string
		changes []string
		status  int
		typ     string
	}{
		{"an unknown operation", body("shop:order:creat", "alice"), nil, 404, "unknown-operation"},
		{"no context", body(operation, ""), nil, 400, "bad-request"},
		{"a context that is too long", body(operation, strings.Repeat("c", 257)), nil, 400, "bad-request"},
		{"what IssueCheck refuses", body(operation, "bob"), nil, 403, "not-issued"},
		{"one refused item among good ones", `{"items":[` + body(operation, "alice") + `,` + body(operation, "bob") + `]}`, nil, 403, "not-issued"},
		{"too many items", `{"items":[` + strings.Repeat(body(operation, "alice")+",", 100) + body(operation, "alice") + `]}`, nil, 400, "bad-request"},
		{"no JSON", "operation=x", nil, 400, "bad-request"},
		{"a body that is too long", `"` + strings.Repeat("x", 65_536) + `"`, nil, 400, "bad-request"},
		{"prefetch", body(operation, "alice"), []string{"Sec-Purpose: prefetch;prerender"}, 403, "prefetch"},
		{"nobody signed in", body(operation, "alice"), []string{"Authorization: ", "Sec-Fetch-Site: same-origin"}, 401, "unauthorized"},
		{"another method", body(operation, "alice"), []string{"PUT"}, 405, "method-not-allowed"},
		{"GET of another endpoint", "", []string{"GET", "/idempotency/status"}, 405, "method-not-allowed"},
		{"another endpoint", body(operation, "alice"), []string{"/idempotency/burn"}, 404, "not-found"},
	}
	for _, c := range cases {
		t.Run(c.given, func(t *testing.T) {
			b.t = t
			a := b.send(c.body, append([]string{"/idempotency/tokens"}, c.changes...)...)
			b.want(a, c.status, "", 0)
			if got := a.json(t)["type"]; got != httpflow.DefaultDocs+c.typ {
				t.Errorf("type %v, want %s", got, c.typ)
			}
			if a.Header.Get("Cache-Control") != "no-store" || strings.Contains(string(a.body), "somebody else") {
				t.Errorf("header %v, body %s", a.Header, a.body)
			}
		})
	}
	b.t = t
	b.want(b.send(body(operation, "alice"), "/idempotency/tokens"), 200, "", 0)
}

func TestStatement48_WhoMayAsk(t *testing.T) {
	b := newBed(t, created, func(s *setting) {
		s.flow.Origins = []string{"https://app.example"}
		s.flow.Scope = func(httpflow.Request) (string, error) { return "alice", nil } // by a cookie, say
	})
	cases := []struct {
		given string
		head  []string
		may   bool
	}{
		{"nothing said", nil, false},
		{"same origin by Sec-Fetch-Site", []string{"Sec-Fetch-Site: same-origin"}, true},
		{"typed by a person", []string{"Sec-Fetch-Site: none"}, true},
		{"same site only", []string{"Sec-Fetch-Site: same-site"}, false},
		{"cross site", []string{"Sec-Fetch-Site: cross-site"}, false},
		{"cross site, whatever its Origin", []string{"Sec-Fetch-Site: cross-site", "Origin: " + b.server.URL}, false},
		{"same origin by Origin", []string{"Origin: " + b.server.URL}, true},
		{"another origin", []string{"Origin: https://evil.example"}, false},
		{"an origin without a name", []string{"Origin: null"}, false},
		{"a configured origin", []string{"Origin: https://app.example", "Sec-Fetch-Site: cross-site"}, true},
		{"a program that authenticates", []string{"Authorization: Bearer x"}, true},
		{"a program with a password", []string{"Authorization: Basic eDp5"}, true},
		{"a page of another origin with a bearer token", []string{"Authorization: Bearer x", "Sec-Fetch-Site: cross-site"}, true},
		{"a page of another origin with a remembered password", []string{"Authorization: Basic eDp5", "Sec-Fetch-Site: cross-site"}, false},
		{"a scheme without credentials", []string{"Authorization: Bearer"}, false},
	}
	for _, c := range cases {
		t.Run(c.given, func(t *testing.T) {
			a := b.send(fmt.Sprintf(`{"operation":%q}`, operation), append([]string{"/idempotency/tokens", "Authorization: "}, c.head...)...)
			if may := a.StatusCode == 200; may != c.may {
				t.Errorf("answered %d %s", a.StatusCode, a.body)
			}
			if !c.may && a.json(t)["type"] != httpflow.DefaultDocs+"cross-origin" {
				t.Errorf("refused by another reason: %s", a.body)
			}
		})
	}
}

func TestRateLimitHook(t *testing.T) {
	left := 1
	b := newBed(t, created, func(s *setting) {
		s.flow.AllowIssue = func(httpflow.Request) error {
			if left--; left < 0 {
				return &idem.RefusedError{Verdict: idem.Unavailable, RetryAfter: 1500 * time.Millisecond}
			}
			return nil
		}
	})
	ask := func() answer { return b.send(fmt.Sprintf(`{"operation":%q}`, operation), "/idempotency/tokens") }
	b.want(ask(), 200, "", 0)
	a := ask()
	b.want(a, 429, "", 0)
	if a.Header.Get("Retry-After") != "2" {
		t.Errorf("Retry-After %q, want 2: rounded up", a.Header.Get("Retry-After"))
	}
}

func TestStatusEndpoint(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	b := newBed(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/do/slow" {
			close(entered)
			<-leave
		}
	})
	status := func(head ...string) map[string]any {
		t.Helper()
		a := b.send(fmt.Sprintf(`{"operation":%q}`, operation), append(head, "/idempotency/status")...)
		if a.StatusCode != 200 || a.Header.Get("Cache-Control") != "no-store" {
			t.Fatalf("answered %d %s", a.StatusCode, a.body)
		}
		return a.json(t)
	}
	if s := status("Idempotency-Key: a"); s["state"] != "absent" || s["operation"] != operation || s["since"] != "" || s["leaseLeft"] != 0.0 {
		t.Errorf("before: %v", s)
	}
	first := make(chan answer)
	go func() { first <- b.send("{}", "Idempotency-Key: a", "/do/slow") }()
	<-entered
	// The rest of a lease of half a minute, in seconds.
	if s := status("Idempotency-Key: a"); s["state"] != "processing" || s["leaseLeft"].(float64) > 30 || s["leaseLeft"].(float64) < 20 || s["since"] == "" {
		t.Errorf("while it runs: %v", s)
	}
	close(leave)
	b.want(<-first, 200, "executed", 1)
	if s := status(`Idempotency-Key: "a"`); s["state"] != "succeeded" {
		t.Errorf("after: %v", s)
	}
	if s := status("Idempotency-Key: a", "Authorization: Bearer bob"); s["state"] != "absent" {
		t.Errorf("in another scope: %v", s)
	}
	for head, verdict := range map[string]string{"Idempotency-Key: a,b": "malformed", "X-Nothing: 1": "missing", "Idempotency-Token: " + strings.Repeat("A", 32): "foreign"} {
		a := b.send(fmt.Sprintf(`{"operation":%q}`, operation), head, "/idempotency/status")
		if a.verdict() != verdict || a.json(t)["verdict"] != verdict {
			t.Errorf("%s: %d %q %s", head, a.StatusCode, a.verdict(), a.body)
		}
	}
	if b.runs.Load() != 1 {
		t.Errorf("%d runs", b.runs.Load())
	}
}

func TestDiscardEndpoint(t *testing.T) {
	b := newBed(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/do/refuse" {
			w.WriteHeader(422)
		}
	})
	discard := func(token string, head ...string) answer {
		return b.send(fmt.Sprintf(`{"operation":%q}`, operation), append(head, "/idempotency/discard", "Idempotency-Token: "+token)...)
	}
	fresh, refused, done := b.token(""), b.token(""), b.token("")
	b.send("{}", "Idempotency-Token: "+refused, "/do/refuse")
	b.send("{}", "Idempotency-Token: "+done)
	for _, token := range []string{fresh, fresh, refused} { // the second finds its own burial
		a := discard(token)
		b.want(a, 200, "", 2)
		if doc := a.json(t); doc["verdict"] != "dead" || doc["state"] != "buried" || len(doc) != 2 {
			t.Errorf("document %s", a.body)
		}
	}
	b.want(b.send("{}", "Idempotency-Token: "+fresh), 403, "foreign", 2)
	a := discard(done)
	b.want(a, 200, "", 2)
	if doc := a.json(t); doc["state"] != "succeeded" || doc["verdict"] != nil {
		t.Errorf("document %s", a.body)
	}
	b.want(b.send("{}", "Idempotency-Token: "+done), 200, "replayed", 2)
	if a := discard(b.token(""), "Authorization: Bearer bob"); a.StatusCode != 403 || a.verdict() != "foreign" {
		t.Errorf("somebody else's: %d %s", a.StatusCode, a.body)
	}
}

func TestIssueForTemplates(t *testing.T) {
	b := newBed(t, created)
	r := httptest.NewRequest(http.MethodGet, "/cart", nil)
	r.Header.Set("Authorization", "Bearer alice")
	token, err := b.flow.Issue(httpflow.NetRequest{Request: r}, operation, "")
	if err != nil {
		t.Fatal(err)
	}
	field := string(httpflow.Input(token))
	if want := `<input type="hidden" name="idempotent-token" value="` + token.Reveal() + `" autocomplete="off">`; field != want {
		t.Errorf("field %s, want %s", field, want)
	}
	b.want(b.send("idempotent-token="+token.Reveal(), "Content-Type: application/x-www-form-urlencoded"), 201, "executed", 1)
	r.Header.Del("Authorization")
	if _, err := b.flow.Issue(httpflow.NetRequest{Request: r}, operation, ""); !errors.Is(err, idem.ErrNoScope) {
		t.Errorf("for nobody: %v", err)
	}
}
