package main

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/go-idem/idem/core/httpflow"
)

// This file is the wire between a page that plays a scene and the shop: what a
// proxy, a balancer or a broken connection does to the page's requests.

// serve lets a request of the showing through to next, or answers it in the
// shop's place. Its answer is kept back until it is known whether it gets lost.
func (show *showing) serve(w http.ResponseWriter, r *http.Request, body []byte, watching *watching, next http.Handler) {
	held := &heldAnswer{header: http.Header{}, status: http.StatusOK}
	if early := watching.instead(r.Context(), r.Header.Get, body); early != nil {
		held.status = early.status
		for _, line := range early.headers() {
			held.header.Add(line[0], line[1])
		}
		held.body.Write(early.body)
	} else {
		next.ServeHTTP(held, r)
	}
	if watching.answered(held.status, held.header.Get(httpflow.StatusHeader)) {
		panic(http.ErrAbortHandler) // which ends the connection
	}
	for name, values := range held.header {
		w.Header()[name] = values
	}
	w.WriteHeader(held.status)
	_, _ = w.Write(held.body.Bytes()) // to a page that may have gone
}

// instead answers for the shop where a scene has something stand in front of it,
// and is nil where the request goes through.
func (w *watching) instead(ctx context.Context, header func(string) string, body []byte) *reply {
	show := w.show()
	if show == nil {
		return nil
	}
	show.mu.Lock()
	busy, doomed := show.busy > 0, show.doomed != nil && !show.sent
	if busy {
		show.busy--
	}
	show.sent = true
	show.mu.Unlock()
	switch {
	case busy:
		w.word = busyWord
		return &reply{status: http.StatusServiceUnavailable, kind: "text/plain; charset=utf-8", body: []byte("busy\n")}
	case doomed:
		w.word = killedWord
		return show.forward(ctx, header, body)
	}
	return nil
}

// forward hands the request to the server that dies of it, as a balancer does,
// and answers what a balancer answers whose server has gone.
func (show *showing) forward(ctx context.Context, header func(string) string, body []byte) *reply {
	gone := reply{status: http.StatusBadGateway, kind: "text/plain; charset=utf-8", body: []byte("the server behind is gone\n")}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), showLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, show.doomed.url()+"/orders", bytes.NewReader(body))
	if err != nil {
		return &gone
	}
	for _, name := range []string{"Cookie", "Content-Type", "Accept", tokenHeader} {
		if value := header(name); value != "" {
			req.Header.Set(name, value)
		}
	}
	req.Close = true
	res, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		_, _ = io.Copy(io.Discard, res.Body) // it should have died: then the orders tell
		_ = res.Body.Close()
	}
	_ = show.doomed.dead(ctx)
	return &gone
}

// passed writes down a request that was answered, and says whether the answer
// is to get lost.
func (show *showing) passed(line logLine, send string) (lost bool) {
	show.mu.Lock()
	defer show.mu.Unlock()
	w := wordOf(line.Verdict)
	lost = show.losing
	show.lines = append(show.lines, wireLine{
		Form: line.Form, Verdict: line.Verdict, Short: w.Short, Tone: w.Tone, Status: line.Status, Lost: lost, Again: send != "" && show.sends[send],
	})
	show.sends[send] = true
	return lost
}

// heldAnswer keeps an answer until it may leave.
type heldAnswer struct {
	header http.Header
	status int
	begun  bool
	body   bytes.Buffer
}

// Header, WriteHeader and Write make it an http.ResponseWriter.
func (h *heldAnswer) Header() http.Header { return h.header }

// WriteHeader keeps the first final status.
func (h *heldAnswer) WriteHeader(status int) {
	if !h.begun && status >= http.StatusOK {
		h.begun, h.status = true, status
	}
}

func (h *heldAnswer) Write(p []byte) (int, error) {
	h.begun = true
	return h.body.Write(p)
}
