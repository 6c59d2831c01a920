package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// The rows of budget B13.
const (
	spreadBare = "net/http, bare, clicks over 2 s"
	spreadOurs = "idem on net/http and Redis, clicks over 2 s"
	onceBare   = "net/http, bare, all at once"
	onceOurs   = "idem on net/http and Redis, all at once"

	stormConns  = 4000
	spread      = 2 * time.Second
	secondClick = 50 * time.Millisecond
)

var stormBudgets = []budget{
	exactly("B13", "storm over 2 s: runs", one(spreadOurs, runs), users),
	exactly("B13", "storm over 2 s: users whose order was not made once", one(spreadOurs, astray), 0),
	exactly("B13", "storm over 2 s: errors", one(spreadOurs, failures), 0),
	atMost("B13", "storm over 2 s: ms to the answer, p99", one(spreadOurs, slowest), 200).wait(),
	atMost("B13", "storm over 2 s: p99, × the bare handler's", ratio(spreadOurs, spreadBare, slowest), 3).wait(),
	exactly("B13", "storm all at once: runs", one(onceOurs, runs), users),
}

func stormRows(_ context.Context, addr string) (*group, error) {
	s, err := startServer(addr)
	if err != nil {
		return nil, err
	}
	l := newLoad(s.addresses["net/http"], stormConns)
	// The connection that has rested longest is taken: all of them are at work.
	l.http.ConnPoolStrategy = fasthttp.FIFO
	by := func(name, path string, over time.Duration) row {
		return row{name: name, itself: func(time.Duration) (figure, error) { return s.storm(l, path, over) }}
	}
	return &group{
		reset: func() error { l.http.CloseIdleConnections(); return nil },
		end:   func() { l.http.CloseIdleConnections(); s.stop() },
		rows: []row{
			by(spreadBare, stormPath, spread), by(spreadOurs, stormGuard, spread),
			by(onceBare, stormPath, 0), by(onceOurs, stormGuard, 0),
		},
	}, nil
}

// storm has every user click twice and counts what came of it.
func (s *server) storm(l *load, path string, over time.Duration) (figure, error) {
	before, err := s.reset()
	if err != nil {
		return nil, err
	}
	first := l.sent.Add(users) // keys that no storm before had
	var all sync.WaitGroup
	var failed atomic.Int64
	took := make([]float64, 2*users)
	start := time.Now().Add(100 * time.Millisecond) // all of them are ready
	for user := range users {
		click := start
		if over > 0 {
			click = click.Add(rand.N(over))
		}
		for n := range 2 {
			due := click.Add(time.Duration(n) * secondClick)
			all.Go(func() {
				time.Sleep(time.Until(due))
				if !l.click(path, user, first-int64(user)) {
					failed.Add(1)
				}
				took[2*user+n] = time.Since(due).Seconds() * 1e3
			})
		}
	}
	all.Wait()
	whole := time.Since(start)
	after, err := s.tally()
	slices.Sort(took)
	f := after.since(before.spent, whole, 1, 2*users)
	delete(f, micros)
	f[typical], f[slowest] = took[users], took[2*users*99/100]
	f[runs], f[astray], f[failures] = float64(after.Runs), float64(after.Astray), float64(failed.Load())
	return f, err
}

// click sends a user's order and says whether it was answered as made.
func (l *load) click(path string, user int, key int64) bool {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.Header.SetMethod("POST")
	request.SetRequestURI("http://" + l.http.Addr + path)
	request.Header.SetContentType("application/json")
	request.Header.Set("Idempotency-Key", fmt.Sprintf("storm-%012d", key))
	request.Header.Set("X-User", strconv.Itoa(user))
	request.SetBodyString(orderBody)
	return l.http.Do(request, response) == nil && response.StatusCode() == fasthttp.StatusCreated && string(response.Body()) == answer
}
