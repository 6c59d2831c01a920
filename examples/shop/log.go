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
	"github.com/go-idem/idem/core/httpflow"
)

// tokenHeader carries a form's token where a script sends it.
const tokenHeader = "Idempotency-Token"

// logLine is one request to the order handler, as the shop tells it. It holds
// hashes where the request held secrets.
type logLine struct {
	At      time.Time
	Owner   string // whose request: a visitor's short hash
	Form    string // which form: its token's short hash
	Status  int    // 0 where no answer was made
	Verdict string // or one of the words for what happened on the way
	Took    time.Duration
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

// watching is one request in front of the guard, followed to its end.
type watching struct {
	shop  *shop
	line  logLine
	stage *stage // nil for a request that plays no part
	send  string // which send of a page's script it is
	word  word   // what answered in the shop's place, if anything did
}

// watch begins the log line of a request, and follows it for the trouble it is
// staged for, if any.
func (s *shop) watch(header func(name string) string, body []byte) *watching {
	v := visitorFrom(header("Cookie"))
	w := &watching{shop: s, line: logLine{At: time.Now(), Owner: v.hash()}, stage: s.stages.find(header(stageHeader)), send: header(shopSendHeader)}
	token := header(tokenHeader)
	if form, err := url.ParseQuery(string(body)); err == nil && token == "" {
		token = form.Get(idem.TokenField)
	}
	w.line.Form = s.formHash(v, token)
	if w.stage != nil {
		w.stage.arrived.happen()
	}
	return w
}

// show is the page's own play that the request belongs to, nil if there is none.
func (w *watching) show() *showing {
	if w.stage == nil {
		return nil
	}
	return w.stage.show
}

// answered ends the line with the answer, and says whether the play wants the
// answer lost. Call it once.
func (w *watching) answered(status int, verdict string) (lost bool) {
	if verdict == "" {
		verdict = w.word.Verdict
	}
	w.line.Status, w.line.Verdict, w.line.Took = status, verdict, time.Since(w.line.At)
	w.shop.log.add(w.line)
	if show := w.show(); show != nil {
		lost = show.passed(w.line, w.send)
	}
	if w.stage != nil {
		w.stage.finished.happen()
	}
	return lost
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
		watching := s.watch(r.Header.Get, seen)
		if show := watching.show(); show != nil {
			show.serve(w, r, seen, watching, next)
			return
		}
		seeing := &statusWriter{ResponseWriter: w}
		defer func() { watching.answered(seeing.status, w.Header().Get(httpflow.StatusHeader)) }()
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
