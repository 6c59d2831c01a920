package httpflow_test

import (
	"net/http"
	"strings"
	"testing"

	idem "github.com/go-idem/idem/core"
)

// A route follows the running policy: every number that httpflow reads changes
// with it, and what was begun goes on.

func TestARouteFollowsTheRunningPolicy(t *testing.T) {
	b := newBed(t, created)
	set := func(change func(*idem.Policy)) {
		t.Helper()
		running, _ := b.guard.Policy(operation)
		p := *running
		change(&p)
		if err := b.guard.SetPolicy(p); err != nil {
			t.Fatal(err)
		}
	}
	b.want(b.send("{}"), 201, "", 1)
	set(func(p *idem.Policy) { p.KeyRequired = idem.Yes })
	b.want(b.send("{}"), 400, "missing", 1)
	b.want(b.send("{}", "Idempotency-Key: a"), 201, "executed", 2)

	set(func(p *idem.Policy) { p.MaxBody = 8 })
	long := `{"a":"123456789"}`
	b.want(b.send(long, "Idempotency-Key: b"), 413, "malformed", 2)
	set(func(p *idem.Policy) { p.MaxBody = 1 << 10 })
	b.want(b.send(long, "Idempotency-Key: b"), 201, "executed", 3)
	b.want(b.send("{}", "Idempotency-Key: a"), 201, "replayed", 3) // what was kept stays kept

	set(func(p *idem.Policy) { p.Fingerprint.Ignore = []string{"/csrf"} })
	b.want(b.send(`{"csrf":1}`, "Idempotency-Key: c"), 201, "executed", 4)
	b.want(b.send(`{"csrf":2}`, "Idempotency-Key: c"), 201, "replayed", 4)
	b.want(b.send(`{"csrf":2,"x":1}`, "Idempotency-Key: c"), 422, "conflict", 4)
	b.want(b.send("{}", "Idempotency-Key: a"), 201, "replayed", 4) // made under the other choice

	set(func(p *idem.Policy) { p.Methods = []string{"PUT"} })
	b.want(b.send("{}", "Idempotency-Key: a"), 201, "unguarded", 5)
	b.want(b.send("{}", "PUT"), 400, "missing", 5)

	set(func(p *idem.Policy) { p.Methods, p.Key = []string{"POST"}, []string{"header:X-Order"} })
	b.want(b.send("{}", "Idempotency-Key: a"), 400, "missing", 5)
	b.want(b.send("{}", "X-Order: a"), 201, "replayed", 5) // one key, whatever header it came in
}

func TestARequestUnderWayEndsAsItBegan(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	b := newBed(t, func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-goOn
		http.Error(w, strings.Repeat("no ", 10), http.StatusServiceUnavailable)
	})
	old := make(chan answer, 1)
	go func() { old <- b.send("{}", "Idempotency-Key: a") }()
	<-begun
	running, _ := b.guard.Policy(operation)
	p := *running
	p.On5xx, p.MaxKeptBody = idem.Keep, 8
	if err := b.guard.SetPolicy(p); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	b.want(<-old, 503, "released", 1)
	next := make(chan answer, 1)
	go func() { next <- b.send("{}", "Idempotency-Key: a") }()
	<-begun
	b.want(<-next, 503, "executed", 2)
	b.want(b.send("{}", "Idempotency-Key: a"), 409, "used", 2)
}
