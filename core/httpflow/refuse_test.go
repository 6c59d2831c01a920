package httpflow_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
)

// Every verdict that refuses, said once: the numbers of the profile standard,
// and what a client may do (design: PROTOCOL section 4).
func TestProblemDocuments(t *testing.T) {
	b := newBed(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/do/large" {
			_ = http.NewResponseController(w).Flush()
		}
		if r.URL.Path == "/do/doubt" {
			_ = idem.MarkEffects(r.Context())
			w.WriteHeader(500)
		}
	}, policy(func(p *idem.Policy) { p.KeyRequired = idem.Yes }))
	b.send("{}", "Idempotency-Key: used", "/do/large")
	b.send("{}", "Idempotency-Key: doubt", "/do/doubt")
	cases := []struct {
		verdict   string
		status    int
		retryable bool
		a         answer
	}{
		{"missing", 400, false, b.send("{}")},
		{"malformed", 400, false, b.send("{}", "Idempotency-Key: a,b")},
		{"foreign", 403, false, b.send("{}", "Idempotency-Token: "+strings.Repeat("A", 32))},
		{"conflict", 422, false, b.send("{}", "Idempotency-Key: used", "/do/other")},
		{"used", 409, false, b.send("{}", "Idempotency-Key: used", "/do/large")},
		{"uncertain", 409, true, b.send("{}", "Idempotency-Key: doubt", "/do/doubt")},
	}
	for _, c := range cases {
		t.Run(c.verdict, func(t *testing.T) {
			doc := c.a.json(t)
			typ := httpflow.DefaultDocs + c.verdict
			for member, want := range map[string]any{
				"type": typ, "status": float64(c.status), "verdict": c.verdict, "retryable": c.retryable, "newToken": false, "operation": operation,
			} {
				if doc[member] != want {
					t.Errorf("%s: %v, want %v", member, doc[member], want)
				}
			}
			if len(doc) != 8 || doc["title"] == "" || len(doc["detail"].(string)) < 40 {
				t.Errorf("document %s", c.a.body)
			}
			if c.a.StatusCode != c.status || c.a.verdict() != c.verdict {
				t.Errorf("answered %d %q, want %d %q", c.a.StatusCode, c.a.verdict(), c.status, c.verdict)
			}
			for name, want := range map[string]string{
				"Content-Type": "application/problem+json", "Cache-Control": "no-store", "Link": "<" + typ + `>; rel="describedby"`,
			} {
				if got := c.a.Header.Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
		})
	}
}

// dead is the only verdict after which a client may take a new token by itself.
func TestDeadAndForgotten(t *testing.T) {
	b := newBed(t, created)
	token := "Idempotency-Token: " + b.token("")
	b.ahead.Add(int64(16 * time.Minute))
	a := b.send("{}", token)
	b.want(a, 425, "dead", 0)
	if doc := a.json(t); doc["newToken"] != true || doc["retryable"] != false {
		t.Errorf("document %s", a.body)
	}
	b.want(b.send("{}", token), 425, "dead", 0)
	b.ahead.Add(int64(24 * time.Hour))
	a = b.send("{}", token)
	b.want(a, 410, "forgotten", 0)
	if doc := a.json(t); doc["newToken"] != false {
		t.Errorf("document %s", a.body)
	}
}

func TestInFlightSaysWhenToComeAgain(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	b := newBed(t, func(http.ResponseWriter, *http.Request) { close(entered); <-leave })
	first := make(chan answer)
	go func() { first <- b.send("{}", "Idempotency-Key: a") }()
	<-entered
	a := b.send("{}", "Idempotency-Key: a")
	b.want(a, 409, "in-flight", 1)
	if s := a.Header.Get("Retry-After"); len(s) != 1 || s < "1" || s > "5" {
		t.Errorf("Retry-After %q, want whole seconds from 1 to 5", s)
	}
	// FAULTS 44: a different request is told so while the first still runs.
	b.want(b.send(`{"other":1}`, "Idempotency-Key: a"), 422, "conflict", 1)
	close(leave)
	b.want(<-first, 200, "executed", 1)
}

func TestBrowsersGetAPage(t *testing.T) {
	b := newBed(t, created, policy(func(p *idem.Policy) { p.KeyRequired = idem.Yes }))
	const browser = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	a := b.send("a=1", "Content-Type: application/x-www-form-urlencoded", browser)
	b.want(a, 400, "missing", 0)
	page := string(a.body)
	if !strings.HasPrefix(page, "<!DOCTYPE html>") || a.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(page, "nothing was done") {
		t.Errorf("%v\n%s", a.Header, page)
	}
	if a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("header %v", a.Header)
	}
	// The page's own style is the only thing its policy lets in.
	_, rest, _ := strings.Cut(page, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	if csp := a.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") || !strings.Contains(csp, "default-src 'none'") {
		t.Errorf("policy %q does not fit the style", csp)
	}
	for _, script := range []string{"Accept: */*", "Accept: application/json, text/html;q=0.5", "Accept: "} {
		if a := b.send("a=1", script); a.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %s", script, a.Header.Get("Content-Type"))
		}
	}
}

// Statement 46: nothing that was sent is in what comes back, nor in a log.
func TestStatement46_NothingRawComesBack(t *testing.T) {
	log := &lines{}
	secret := "s3cret-" + strings.Repeat("k", 10)
	b := newBed(t, created, func(s *setting) { s.guard.Logger = log.logger() })
	token := b.token("")
	sent := []answer{
		b.send(`{"card":"`+secret+`"}`, "Idempotency-Key: "+secret),
		b.send(`{"card":"`+secret+`","more":1}`, "Idempotency-Key: "+secret),
		b.send(`{"card":"`+secret+`"}`, "Idempotency-Key: "+secret+","+secret),
		b.send(`{"card":"`+secret+`"}`, "Idempotency-Token: "+secret),
		b.send(`{"card":"`+secret+`"}`, "Idempotency-Token: "+token, "/do/token"),
		b.send(`{"card":"` + secret + `","idempotentToken":"` + secret + `"}`),
	}
	everything := log.text()
	for _, a := range sent {
		everything += fmt.Sprint(a.Header) + string(a.body)
	}
	for _, raw := range []string{secret, token} {
		if strings.Contains(everything, raw) {
			t.Errorf("%q is in an answer or a log line", raw)
		}
	}
	if !strings.Contains(log.text(), "request judged") {
		t.Error("no decision was logged, so this test proves nothing about logs")
	}
}

// A Decode that fails, or a scope that cannot be told, is nothing a client is
// told about.
func TestTheHousesOwnTroublesStayInside(t *testing.T) {
	b := newBed(t, created, func(s *setting) {
		s.flow.Scope = func(r httpflow.Request) (string, error) { return "", errors.New("db password is hunter2") }
	})
	for _, a := range []answer{b.send("{}", "Idempotency-Key: a"), b.send(`{"operation":"x"}`, "/idempotency/tokens", "Origin: "+b.server.URL)} {
		if a.StatusCode != 503 || strings.Contains(string(a.body), "hunter2") {
			t.Errorf("%d %s", a.StatusCode, a.body)
		}
	}
}
