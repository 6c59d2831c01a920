package main

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	idem "github.com/go-idem/idem/core"
)

// logLine is one request to the order handler, as the shop tells it. It holds
// hashes where the request held secrets.
type logLine struct {
	At      time.Time
	Owner   string // whose request: a visitor's short hash
	Form    string // which form: its token's short hash
	Status  int    // 0 where no answer was made
	Verdict string
	Took    time.Duration
	Note    string // instead of a verdict, where a line is not about a request
}

const logKept = 200 // lines

// requestLog keeps the last lines. Its methods may be called from any number of
// goroutines.
type requestLog struct {
	mu    sync.Mutex
	lines []logLine
}

func (l *requestLog) add(line logLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == logKept {
		l.lines = slices.Delete(l.lines, 0, 1)
	}
	l.lines = append(l.lines, line)
}

// latest returns at most n lines, by when they arrived, the newest first.
func (l *requestLog) latest(n int) []logLine {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := slices.Clone(l.lines[max(0, len(l.lines)-n):])
	slices.SortStableFunc(last, func(a, b logLine) int { return b.At.Compare(a.At) })
	return last
}

func (l *requestLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = nil
}

// watch begins the log line of one request in front of the guard, and follows
// it for the trouble it is staged for, if any. Call the function it returns with
// the answer.
func (s *shop) watch(cookies, stageID string, body []byte) func(status int, verdict string) {
	begun, v := time.Now(), visitorFrom(cookies)
	line := logLine{At: begun, Owner: v.hash()}
	if form, err := url.ParseQuery(string(body)); err == nil {
		line.Form = s.formHash(v, form.Get(idem.TokenField))
	}
	st := s.stages.find(stageID)
	if st != nil {
		st.arrived.happen()
	}
	return func(status int, verdict string) {
		line.Status, line.Verdict, line.Took = status, verdict, time.Since(begun)
		s.log.add(line)
		if st != nil {
			st.finished.happen()
		}
	}
}

// watched puts the log around a net/http handler. It looks at the form and
// hands the body on whole.
func (s *shop) watched(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen, _ := io.ReadAll(io.LimitReader(r.Body, maxFormBytes))
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(seen), r.Body), r.Body}
		answered := s.watch(r.Header.Get("Cookie"), r.Header.Get(stageHeader), seen)
		seeing := &statusWriter{ResponseWriter: w}
		defer func() { answered(seeing.status, w.Header().Get("Idempotency-Status")) }()
		next.ServeHTTP(seeing, r)
	})
}

// statusWriter remembers the status that went through it.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the writer below.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
