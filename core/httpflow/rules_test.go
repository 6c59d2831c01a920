package httpflow_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
)

// The named rules as they show in HTTP. Each of these tests fails where its rule
// is broken: see internal/broken.

func TestT5_EarlyDataWithoutAKeyRunsNothing(t *testing.T) {
	cases := []struct {
		given   string
		head    []string
		status  int
		verdict string
	}{
		{"no key", []string{"Early-Data: 1"}, 425, ""},
		{"no key, and none could stand in the body", []string{"Early-Data: 1", "Content-Type: text/plain"}, 425, ""},
		{"no key, and another value than there is", []string{"Early-Data: ?1"}, 425, ""},
		{"a key", []string{"Early-Data: 1", "Idempotency-Key: a"}, 201, "executed"},
		{"a token", []string{"Early-Data: 1", "Idempotency-Token: TOKEN"}, 201, "executed"},
		{"no early data", nil, 201, ""},
		{"a method that is not guarded", []string{"Early-Data: 1", "PUT"}, 201, ""},
	}
	for _, c := range cases {
		for _, keys := range [][]string{{"token", "header:Idempotency-Key"}, {"header:Idempotency-Key"}} {
			b := newBed(t, created, policy(func(p *idem.Policy) { p.Key = keys }))
			head := append([]string(nil), c.head...)
			for i, line := range head {
				if strings.Contains(line, "TOKEN") && len(keys) == 1 {
					head[i] = "Idempotency-Key: b"
				} else if strings.Contains(line, "TOKEN") {
					head[i] = strings.Replace(line, "TOKEN", b.token(""), 1)
				}
			}
			a := b.send("{}", head...)
			runs := int64(1)
			if c.status == 425 {
				runs = 0
			}
			t.Run(c.given, func(t *testing.T) { b.t = t; b.want(a, c.status, c.verdict, runs) })
			b.t = t
		}
	}
}

// Faults: 15.
func TestP7_TheHandlerOutlivesItsClient(t *testing.T) {
	connection, left, done := make(chan ctx, 1), make(chan struct{}), make(chan error, 1)
	b := newBed(t, func(w http.ResponseWriter, r *http.Request) {
		<-left
		done <- r.Context().Err()
		created(w, r)
	}, func(s *setting) {
		s.outside = func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case connection <- r.Context(): // the first request's
				default:
				}
				h.ServeHTTP(w, r)
			})
		}
	})
	conn, err := net.Dial("tcp", b.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST /do/it HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer alice\r\nIdempotency-Key: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
	ctx := <-connection
	b.until(func() bool { return b.runs.Load() == 1 })
	_ = conn.Close()
	select {
	case <-ctx.Done(): // the server has noticed
	case <-time.After(30 * time.Second):
		t.Error("the server never noticed that its client had left")
	}
	close(left)
	if err := <-done; err != nil {
		t.Errorf("the handler's context ended with its client: %v", err)
	}
	b.want(b.settled(), 201, "replayed", 1)
}

// recovering stands outside the guard, as it should.
func recovering(raised *any) func(*setting) {
	return func(s *setting) {
		s.outside = func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer func() {
					if v := recover(); v != nil {
						*raised = v
						http.Error(w, "recovered", http.StatusInternalServerError)
					}
				}()
				h.ServeHTTP(w, r)
			})
		}
	}
}

func TestP10_APanicSettlesAndGoesOn(t *testing.T) {
	for _, c := range []struct {
		on5xx   idem.Choice
		mark    bool
		verdict string // of the first request
		again   string // of the repeat
		status  int
		runs    int64
	}{
		{idem.Release, false, "released", "released", 500, 2},
		{idem.Release, true, "uncertain", "uncertain", 409, 1},
		{idem.Doubt, false, "uncertain", "uncertain", 409, 1},
		{idem.Keep, false, "executed", "used", 409, 1},
	} {
		t.Run(fmt.Sprintf("%s, marked %v", c.on5xx, c.mark), func(t *testing.T) {
			var raised any
			b := newBed(t, func(w http.ResponseWriter, r *http.Request) {
				if c.mark {
					if err := idem.MarkEffects(r.Context()); err != nil {
						t.Error(err)
					}
				}
				fmt.Fprint(w, "half an answer")
				panic("kaput")
			}, policy(func(p *idem.Policy) { p.On5xx = c.on5xx }), recovering(&raised))
			a := b.send("{}", "Idempotency-Key: a")
			b.want(a, 500, c.verdict, 1)
			if raised != "kaput" || strings.Contains(string(a.body), "half") {
				t.Errorf("raised %v, answered %q", raised, a.body)
			}
			b.want(b.send("{}", "Idempotency-Key: a"), c.status, c.again, c.runs)
		})
	}
}

// runtime.Goexit, as t.FailNow does it, ends a handler without a panic.
func TestP10_GoexitSettles(t *testing.T) {
	b := newBed(t, func(http.ResponseWriter, *http.Request) { exit() }, policy(func(p *idem.Policy) { p.On5xx = idem.Doubt }))
	left := make(chan struct{})
	go func() {
		defer close(left)
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/do/it", nil)
		r.Header.Set("Authorization", "Bearer alice")
		r.Header.Set("Idempotency-Key", "a")
		guarded(b.flow, operation, func(http.ResponseWriter, *http.Request) { exit() }).ServeHTTP(w, r)
	}()
	<-left
	b.want(b.send("", "Idempotency-Key: a"), 409, "uncertain", 0)
}

func TestI6_EveryJudgedRequestEndsWithOneVerdict(t *testing.T) {
	var raised any
	b := newBed(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/do/panic":
			panic("kaput")
		case "/do/refuse":
			http.Error(w, "no", http.StatusUnprocessableEntity)
		case "/do/doubt":
			_ = idem.MarkEffects(r.Context())
			w.WriteHeader(http.StatusInternalServerError)
		case "/do/stream":
			_ = http.NewResponseController(w).Flush()
		default:
			created(w, r)
		}
	}, recovering(&raised), policy(func(p *idem.Policy) { p.Context = "query:cart" }))
	forged := strings.Repeat("A", 32)
	steps := []struct {
		verdict string
		changes []string
	}{
		{"executed", []string{"Idempotency-Key: a"}},
		{"replayed", []string{"Idempotency-Key: a"}},
		{"conflict", []string{"Idempotency-Key: a", "/do/other"}},
		{"released", []string{"Idempotency-Key: b", "/do/refuse"}},
		{"released", []string{"Idempotency-Key: c", "/do/panic"}},
		{"uncertain", []string{"Idempotency-Key: d", "/do/doubt"}},
		{"uncertain", []string{"Idempotency-Key: d", "/do/doubt"}},
		{"executed", []string{"Idempotency-Key: e", "/do/stream"}},
		{"used", []string{"Idempotency-Key: e", "/do/stream"}},
		{"malformed", []string{"Idempotency-Key: a,b"}},
		{"foreign", []string{"Idempotency-Key: a", "Authorization: "}},
		{"foreign", []string{"Idempotency-Token: " + forged}},
		{"foreign", []string{"Idempotency-Token: " + b.token("cart:1"), "/do/it?cart=cart:2"}},
		{"unguarded", []string{"Idempotency-Key: a", "GET"}},
		{"", nil},
	}
	want := map[string]int64{}
	for _, step := range steps {
		a := b.send("", step.changes...)
		if got := a.Header.Values("Idempotency-Status"); strings.Join(got, "|") != step.verdict {
			t.Errorf("%v: %d with verdicts %q, want exactly %q", step.changes, a.StatusCode, got, step.verdict)
		}
		want[step.verdict]++
	}
	for _, v := range idem.Verdicts() {
		if got := b.seen.ended[v].Load(); got != want[v.String()] {
			t.Errorf("%s: observed %d times, want %d", v, got, want[v.String()])
		}
	}
	if begun := b.seen.begun.Load(); begun != int64(len(steps))-want[""] || b.seen.ended[0].Load() != 0 {
		t.Errorf("%d requests judged, %d without a verdict; want %d and none", begun, b.seen.ended[0].Load(), int64(len(steps))-want[""])
	}
}
