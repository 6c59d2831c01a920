package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// The rows of budgets B1, B7 and B14 through real servers. µs CPU and allocations
// are those of the server's process.
const (
	netBare    = "net/http, bare"
	netNoKey   = "idem on net/http, no key sent"
	netRedis   = "idem on net/http and Redis, first"
	netNaive   = "net/http, SET NX and SET around the handler"
	fiberBare  = "Fiber, bare, served"
	fiberNoKey = "idem on Fiber, no key sent, served"

	forgedBody = 10 << 20
)

func forgedOn(framework string) string {
	return "idem on " + framework + ": a forged token, 10 MiB behind it"
}

var frameworks = []string{"net/http", "Echo", "Fiber"}

var servedBudgets = append([]budget{
	atMost("B1", "net/http, no key sent: the server's CPU, × bare", ratio(netNoKey, netBare, cpu), 1.03),
	atMost("B1", "Fiber, no key sent: the server's CPU, × bare", ratio(fiberNoKey, fiberBare, cpu), 1.03),
	atLeast("B7", "net/http and Redis on the same cores: requests a second, × bare", ratio(netRedis, netBare, perSecond), 0.45).instead(0.30),
	atMost("B7", "net/http and Redis: µs of CPU that a request adds to the server", more(netRedis, netBare, cpu), 15).instead(25),
}, forgedBudgets()...)

func forgedBudgets() (list []budget) {
	for _, f := range frameworks {
		list = append(list,
			exactly("B14", f+", a forged token: store calls", one(forgedOn(f), calls), 0),
			// The head, and what a buffer takes with it: no server reads on.
			atMost("B14", f+": bytes read of a request with 10 MiB", one(forgedOn(f), read), 64<<10).count())
	}
	return list
}

func servedRows(ctx context.Context, addr string) (*group, error) {
	s, err := startServer(addr)
	if err != nil {
		return nil, err
	}
	net, fiber := newLoad(s.addresses["net/http"], clients), newLoad(s.addresses["Fiber"], clients)
	drive := func(name string, l *load, path string, keyed bool) row {
		return row{name: name, itself: func(length time.Duration) (figure, error) { return s.driven(l, path, keyed, length) }}
	}
	g := &group{
		reset: func() error { return nil }, // no key comes twice
		end: func() {
			net.http.CloseIdleConnections()
			fiber.http.CloseIdleConnections()
			s.stop()
		},
		rows: []row{
			drive(netNoKey, net, guardedPath, false),
			drive(netBare, net, barePath, false),
			drive(netRedis, net, redisPath, true),
			drive(netNaive, net, naivePath, true),
			drive(fiberBare, fiber, barePath, false),
			drive(fiberNoKey, fiber, guardedPath, false),
		},
	}
	for _, f := range frameworks {
		g.rows = append(g.rows, row{name: forgedOn(f), itself: func(time.Duration) (figure, error) { return s.forged(ctx, f) }})
	}
	return g, nil
}

// driven is a row that a load drives.
func (s *server) driven(l *load, path string, keyed bool, length time.Duration) (figure, error) {
	before, err := s.reset()
	if err != nil {
		return nil, err
	}
	n, took, err := l.drive(path, keyed, length)
	if err != nil {
		return nil, err
	}
	after, err := s.tally()
	return after.since(before.spent, took, clients, float64(n)), err
}

// forged sends the head of a request with a forged token, and what it can of its
// body, and counts what the server did about it.
func (s *server) forged(ctx context.Context, framework string) (figure, error) {
	if _, err := s.reset(); err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.addresses[framework])
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: shop\r\nContent-Type: application/json\r\nContent-Length: %d\r\nIdempotency-Token: %s\r\n\r\n",
			tokenPath, forgedBody, strings.Repeat("A", 32))
		_, _ = conn.Write(make([]byte, forgedBody)) // as much as the other side takes
	}()
	in := bufio.NewReader(conn)
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		return nil, fmt.Errorf("no answer: %w", err)
	}
	if response.StatusCode != http.StatusForbidden {
		err = fmt.Errorf("answered %d", response.StatusCode)
	}
	// Until the server has hung up it may read on.
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = io.Copy(io.Discard, in)
	_ = conn.Close()
	<-sent
	t, asked := s.tally()
	return figure{calls: float64(t.Calls), read: float64(t.Read)}, errors.Join(err, asked)
}
