package main

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/go-idem/idem/core/httpflow"
)

// The headers by which the lab's page says what belongs together. No guard looks
// at them.
const (
	runHeader   = "Lab-Run"
	sendHeader  = "Lab-Send"
	naiveHeader = "One-Time-Token"
)

type (
	connKey   struct{} // *atomic.Int64: requests on this connection
	placedKey struct{} // *int: the order that this request placed
)

// countRequests gives each connection a counter, counted counts.
func countRequests(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, new(atomic.Int64))
}

func counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Context().Value(connKey{}).(*atomic.Int64).Add(1)
		next.ServeHTTP(w, r)
	})
}

// breaks stands in front of one side's orders. It lets the order be committed,
// and then, once a run and only on a connection that had been used before, resets
// the connection instead of answering. A proxy that restarts, or a keep-alive that
// runs out at the wrong moment, looks the same.
func (l *lab) breaks(name, header string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		run := l.run(r.Header.Get(runHeader))
		if run == nil {
			http.Error(w, "there is no such run", http.StatusNotFound)
			return
		}
		placed := 0
		held := &heldAnswer{header: http.Header{}, status: http.StatusOK}
		next.ServeHTTP(held, r.WithContext(context.WithValue(r.Context(), placedKey{}, &placed)))
		arrival := labArrival{
			Send: r.Header.Get(sendHeader), Status: held.status, Verdict: held.header.Get(httpflow.StatusHeader), Order: placed,
			Reused: r.Context().Value(connKey{}).(*atomic.Int64).Load() > 1,
		}
		if run.arrived(name, r.Header.Get(header), &arrival); arrival.Reset {
			reset(w)
			return
		}
		for name, values := range held.header {
			w.Header()[name] = values
		}
		w.WriteHeader(held.status)
		_, _ = w.Write(held.body.Bytes()) // to a page that may have gone
	})
}

// arrived writes a request down and decides whether its connection is reset.
func (run *labRun) arrived(name, token string, a *labArrival) {
	run.mu.Lock()
	defer run.mu.Unlock()
	side := run.sides[name]
	if token != "" {
		if side.tokens[token] == 0 {
			side.tokens[token] = len(side.tokens) + 1
		}
		a.Token = side.tokens[token]
	}
	side.bySend[a.Send]++
	a.Again = side.bySend[a.Send] > 1
	a.Reset = side.armed && a.Reused
	side.armed = side.armed && !a.Reset
	side.Arrived = append(side.Arrived, *a)
}

// reset ends a connection as a crash does: without a word, and with what was not
// read thrown away.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // then it ends this way
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// place writes an order of a run into the book of one side.
func (l *lab) place(r *http.Request, name string) (number int) {
	run := l.run(r.Header.Get(runHeader))
	run.mu.Lock()
	defer run.mu.Unlock()
	run.sides[name].Orders++
	number = run.sides[name].Orders
	if placed, ok := r.Context().Value(placedKey{}).(*int); ok {
		*placed = number
	}
	return number
}

// guardedOrder is the action of our side. It knows nothing of repeats.
func (l *lab) guardedOrder(w http.ResponseWriter, r *http.Request) {
	answerOrder(w, l.place(r, "ours"))
}

// naiveOrder is the other side's: the usual server with one-time tokens. A token
// is taken out before the action runs, and one that is not there is answered 425,
// which says only that it cannot be used any more, and not why.
func (l *lab) naiveOrder(w http.ResponseWriter, r *http.Request) {
	run, token := l.run(r.Header.Get(runHeader)), r.Header.Get(naiveHeader)
	run.mu.Lock()
	side := run.sides["naive"]
	good := side.issued[token]
	delete(side.issued, token)
	run.mu.Unlock()
	if !good {
		http.Error(w, "this token was used, or was never given", http.StatusTooEarly)
		return
	}
	answerOrder(w, l.place(r, "naive"))
}

// naiveToken gives the other side a one-time token.
func (l *lab) naiveToken(r *request) reply {
	run := l.run(r.header(runHeader))
	if run == nil {
		return plain(http.StatusNotFound, "there is no such run")
	}
	token := rand.Text()
	run.mu.Lock()
	defer run.mu.Unlock()
	run.sides["naive"].issued[token] = true
	return tell(http.StatusOK, map[string]string{"token": token})
}

func answerOrder(w http.ResponseWriter, number int) {
	answer := tell(http.StatusCreated, map[string]int{"order": number})
	w.Header().Set("Content-Type", answer.kind)
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body) // to a page that may have gone
}
