package httpflow_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/internal/broken"
	"github.com/go-idem/idem/internal/leaktest"
	"github.com/go-idem/idem/stores/memstore"
)

func TestMain(m *testing.M) {
	if name := os.Getenv("IDEM_BROKEN"); !broken.Set(name) {
		fmt.Fprintf(os.Stderr, "IDEM_BROKEN=%s names no rule\n", name)
		os.Exit(2)
	}
	leaktest.Main(m)
}

const operation = "test:do:run"

// bed is a real server with one guarded route over a store in memory.
type bed struct {
	t      testing.TB
	guard  *idem.Guard
	flow   *httpflow.Flow
	server *httptest.Server
	runs   atomic.Int64
	seen   *verdicts
	ahead  atomic.Int64 // of the guard's clock
}

// setting is what a test changes about the bed.
type setting struct {
	policy  idem.Policy
	guard   idem.Config
	flow    httpflow.Config
	outside func(http.Handler) http.Handler // middleware around the guard
}

// newBed serves h at every path under /do/, guarded, and the endpoints. Unless
// changed, the policy takes a token or a key and needs neither, everything is
// released that can be, and Authorization names the scope.
func newBed(t testing.TB, h http.HandlerFunc, changes ...func(*setting)) *bed {
	t.Helper()
	b := &bed{t: t, seen: &verdicts{}}
	s := setting{
		policy: idem.Policy{
			Operation: operation, Preset: idem.API, Key: []string{"token", "header:Idempotency-Key"},
			MaxRun: time.Minute,
		},
		guard: idem.Config{Store: memstore.New(memstore.Options{}), Observer: b.seen},
		flow: httpflow.Config{Scope: func(r httpflow.Request) (string, error) {
			return strings.TrimPrefix(strings.Join(r.Header("Authorization"), ","), "Bearer "), nil
		}},
	}
	for _, change := range changes {
		change(&s)
	}
	s.guard.Policies = []idem.Policy{s.policy}
	if s.guard.Clock == nil {
		s.guard.Clock = func() time.Time { return time.Now().Add(time.Duration(b.ahead.Load())) }
	}
	var err error
	if b.guard, err = idem.New(s.guard); err != nil {
		t.Fatal(err)
	}
	// What was issued in the guard's first second is older than what it remembers.
	b.ahead.Store(int64(2 * time.Second))
	s.flow.Guard = b.guard
	if b.flow, err = httpflow.New(s.flow); err != nil {
		t.Fatal(err)
	}
	counted := func(w http.ResponseWriter, r *http.Request) { b.runs.Add(1); h(w, r) }
	mux := http.NewServeMux()
	mux.Handle("/do/{rest...}", guarded(b.flow, operation, counted))
	mux.HandleFunc("/idempotency/", func(w http.ResponseWriter, r *http.Request) {
		x := httpflow.NetExchange{NetRequest: httpflow.NetRequest{Request: r}, Writer: w}
		x.Send(b.flow.Endpoint(x))
	})
	var served http.Handler = mux
	if s.outside != nil {
		served = s.outside(mux)
	}
	b.server = httptest.NewServer(served)
	t.Cleanup(func() {
		b.server.Close()
		patience := 30 * time.Second
		if t.Failed() { // what is left undone is why
			patience = time.Second
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := b.guard.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

type handler struct{ http.HandlerFunc }

func (h handler) ServeNet(w http.ResponseWriter, r *http.Request, _ bool) error {
	h.ServeHTTP(w, r)
	return nil
}

func guarded(flow *httpflow.Flow, operation string, h http.HandlerFunc) http.Handler {
	route := flow.Route(operation)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = route.Serve(&httpflow.NetExchange{NetRequest: httpflow.NetRequest{Request: r}, Writer: w, Handler: handler{h}})
	})
}

// answer is what a client got.
type answer struct {
	*http.Response
	body []byte
}

func (a answer) verdict() string { return strings.Join(a.Header.Values(httpflow.StatusHeader), ",") }

// send sends a request to /do/it as alice; every change is a header "Name: value",
// a method, or a path that begins with a slash.
func (b *bed) send(body string, changes ...string) answer {
	b.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequest(http.MethodPost, b.server.URL+"/do/it", reader)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer alice")
	req.Header.Set("Content-Type", "application/json")
	for _, change := range changes {
		name, value, isHeader := strings.Cut(change, ": ")
		switch {
		case isHeader && value == "":
			req.Header.Del(name)
		case isHeader && name == "Idempotency-Key": // more than once where a test says so
			req.Header.Add(name, value)
		case isHeader:
			req.Header.Set(name, value)
		case strings.HasPrefix(change, "/"):
			if req.URL, err = req.URL.Parse(b.server.URL + change); err != nil {
				b.t.Fatal(err)
			}
		default:
			req.Method = change
		}
	}
	return b.do(req)
}

func (b *bed) do(req *http.Request) answer {
	b.t.Helper()
	res, err := b.server.Client().Do(req)
	if err != nil {
		b.t.Fatalf("%s %s: %v", req.Method, req.URL, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatalf("%s %s: reading the answer: %v", req.Method, req.URL, err)
	}
	return answer{res, body}
}

// want checks status, verdict ("" for none) and how often the handler ran.
func (b *bed) want(a answer, status int, verdict string, runs int64) {
	b.t.Helper()
	if a.StatusCode != status || a.verdict() != verdict {
		b.t.Errorf("answered %d %q, want %d %q; body %s", a.StatusCode, a.verdict(), status, verdict, bytes.TrimSpace(a.body))
	}
	if got := b.runs.Load(); got != runs {
		b.t.Errorf("%d runs, want %d", got, runs)
	}
}

// settled repeats the request of key a until its run is over.
func (b *bed) settled(changes ...string) answer {
	b.t.Helper()
	var a answer
	b.until(func() bool {
		a = b.send("{}", append(changes, "Idempotency-Key: a")...)
		return a.verdict() != "in-flight"
	})
	return a
}

// until polls for something to come true, for half a minute at most.
func (b *bed) until(come func() bool) {
	b.t.Helper()
	for end := time.Now().Add(30 * time.Second); !come(); <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatal("waited half a minute in vain")
		}
	}
}

// token issues a token for alice.
func (b *bed) token(context string) string {
	b.t.Helper()
	t, err := b.guard.Issue(b.t.Context(), idem.TokenRequest{Operation: operation, Scope: "alice", Context: context})
	if err != nil {
		b.t.Fatal(err)
	}
	return t.Reveal()
}

func (a answer) json(t testing.TB) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(a.body, &m); err != nil {
		t.Fatalf("not JSON: %v: %s", err, a.body)
	}
	return m
}

// created is a handler that makes order 7.
func created(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", "/orders/7")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"order":7,"bytes":%d}`, len(body))
}

func policy(change func(*idem.Policy)) func(*setting) {
	return func(s *setting) { change(&s.policy) }
}

// verdicts is an observer that counts how requests ended.
type verdicts struct {
	begun  atomic.Int64
	source atomic.Value // of the last one
	ended  [idem.Unguarded + 1]atomic.Int64
}

func (v *verdicts) Start(ctx context.Context, s idem.Step) (context.Context, func(idem.StepResult)) {
	if s.Kind != idem.StepAnswer {
		return ctx, nil
	}
	v.begun.Add(1)
	v.source.Store(s.Source)
	return ctx, func(r idem.StepResult) { v.ended[r.Verdict].Add(1) }
}

type ctx = context.Context

func newReader(r io.Reader) *bufio.Reader { return bufio.NewReader(r) }

func exit() { runtime.Goexit() }

// lines keeps what is logged.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
