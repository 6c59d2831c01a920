package main

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// clients is how many connections a throughput row has at work. As many requests
// are under way at once.
const clients = 64

// load sends requests to a server.
type load struct {
	http *fasthttp.HostClient
	sent atomic.Int64 // numbers keys: none comes twice in a run
}

func newLoad(addr string, conns int) *load {
	return &load{http: &fasthttp.HostClient{
		Addr: addr, MaxConns: conns, MaxConnWaitTimeout: time.Minute, MaxIdemponentCallAttempts: 1, MaxIdleConnDuration: time.Hour,
		ReadTimeout: time.Minute, WriteTimeout: time.Minute, NoDefaultUserAgentHeader: true,
	}}
}

// request is an order to be sent over and over. Where it has keys, each has one of
// its own.
func (l *load) request(path string, keyed bool) (r *fasthttp.Request, next func()) {
	r = &fasthttp.Request{}
	r.Header.SetMethod("POST")
	r.SetRequestURI("http://" + l.http.Addr + path)
	r.Header.SetContentType("application/json")
	r.SetBodyString(orderBody)
	key := []byte("00000000-0000-4000-8000-")
	return r, func() {
		if keyed {
			r.Header.SetBytesV("Idempotency-Key", strconv.AppendInt(key, 100_000_000_000+l.sent.Add(1), 10))
		}
	}
}

// drive has each client send its next request as soon as the one before is
// answered, for so long, and returns how many were.
func (l *load) drive(path string, keyed bool, length time.Duration) (answered int, took time.Duration, err error) {
	var all sync.WaitGroup
	var n atomic.Int64
	var failed atomic.Pointer[error]
	began := time.Now()
	for range clients {
		all.Go(func() {
			request, next := l.request(path, keyed)
			var response fasthttp.Response
			for time.Since(began) < length {
				next()
				err := l.http.Do(request, &response)
				if err == nil && response.StatusCode() != fasthttp.StatusCreated {
					err = fmt.Errorf("answered %d: %s", response.StatusCode(), response.Body())
				}
				if err != nil {
					failed.CompareAndSwap(nil, &err)
					return
				}
				n.Add(1)
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", path, *err)
	}
	return int(n.Load()), time.Since(began), nil
}
