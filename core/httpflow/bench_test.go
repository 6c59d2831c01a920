package httpflow_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-idem/idem/core/httpflow"
)

// blank is a ResponseWriter without a server, so that a benchmark counts our own
// work.
type blank struct {
	header http.Header
	status int
}

func (b *blank) Header() http.Header         { return b.header }
func (b *blank) WriteHeader(status int)      { b.status = status }
func (b *blank) Write(p []byte) (int, error) { return len(p), nil }

// cpuTime is what this process has had of the processors so far: on a shared
// machine it says more than the time that went by.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

const orderBody = `{"cart":42,"items":[{"sku":"tea","count":2}],"note":"ring twice"}`

func order(w http.ResponseWriter, r *http.Request) {
	w.Header()["Content-Type"] = []string{"application/json"}
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"order":7}`)
}

// play serves the same request over and over; change prepares the i-th.
func play(b *testing.B, h http.Handler, want int, change func(i int, r *http.Request)) {
	b.Helper()
	r := httptest.NewRequest(http.MethodPost, "/do/it", nil)
	r.Header.Set("Authorization", "Bearer alice")
	r.Header.Set("Content-Type", "application/json")
	body := strings.NewReader("")
	r.ContentLength = int64(len(orderBody))
	w := &blank{header: http.Header{}}
	b.ReportAllocs()
	i, begin := 0, cpuTime()
	for b.Loop() {
		body.Reset(orderBody)
		r.Body = io.NopCloser(body)
		clear(w.header)
		change(i, r)
		h.ServeHTTP(w, r)
		i++
	}
	b.ReportMetric(float64(cpuTime()-begin)/float64(b.N), "cpu-ns/op")
	if w.status != want {
		b.Fatalf("answered %d, want %d", w.status, want)
	}
}

func benchRoute(b *testing.B, changes ...func(*setting)) (bare, withGuard http.Handler, bd *bed) {
	bd = newBed(b, order, changes...)
	return http.HandlerFunc(order), guarded(bd.flow, operation, order), bd
}

// B1: a guarded route's request without a key, beside the bare handler.
func BenchmarkB1NoKey(b *testing.B) {
	bare, withGuard, _ := benchRoute(b, func(s *setting) { s.guard.Observer = nil })
	flow := newBed(b, order, func(s *setting) { s.policy.Key, s.guard.Observer = nil, nil }).flow
	route := flow.Route(operation)
	keyOnly := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // as adapters/stdhttp does it
		if route.Passes(httpflow.NetRequest{Request: r}) {
			order(w, r)
		}
	})
	nothing := func(int, *http.Request) {}
	b.Run("bare", func(b *testing.B) { play(b, bare, 201, nothing) })
	b.Run("guarded", func(b *testing.B) { play(b, keyOnly, 201, nothing) })
	// Where a token may stand in the body, the body has to be looked into.
	b.Run("guarded-token-in-body", func(b *testing.B) { play(b, withGuard, 201, nothing) })
}

// B2: key, fingerprint, claim, handler, settle; and the replay.
func BenchmarkB2Memory(b *testing.B) {
	quiet := func(s *setting) { s.guard.Observer = nil }
	b.Run("first", func(b *testing.B) {
		_, h, _ := benchRoute(b, quiet)
		play(b, h, 201, func(i int, r *http.Request) { r.Header["Idempotency-Key"] = []string{"order-" + strconv.Itoa(i)} })
	})
	b.Run("token", func(b *testing.B) {
		_, h, bd := benchRoute(b, quiet)
		tokens := make([]string, 1<<18)
		for i := range tokens {
			tokens[i] = bd.token("")
		}
		play(b, h, 201, func(i int, r *http.Request) { r.Header["Idempotency-Token"] = tokens[i&(1<<18-1) : i&(1<<18-1)+1] })
	})
	b.Run("replay", func(b *testing.B) {
		_, h, _ := benchRoute(b, quiet)
		play(b, h, 201, func(_ int, r *http.Request) { r.Header["Idempotency-Key"] = []string{"order"} })
	})
}

// B14: a forged token is refused from the head.
func BenchmarkB14Forged(b *testing.B) {
	_, h, _ := benchRoute(b, func(s *setting) { s.guard.Observer = nil })
	forged := []string{strings.Repeat("A", 32)}
	play(b, h, 403, func(_ int, r *http.Request) { r.Header["Idempotency-Token"] = forged })
}
