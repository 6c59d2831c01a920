package leaktest

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// told is a test that is told of leaks and ends when asked to.
type told struct {
	said []string
	end  func()
}

func (t *told) Error(args ...any) {
	for _, a := range args {
		t.said = append(t.said, a.(error).Error())
	}
}

func (t *told) Cleanup(f func()) { t.end = f }

func TestAGoroutineThatStaysIsTold(t *testing.T) {
	var watched told
	after(&watched, 0)
	release := make(chan struct{})
	go func() { <-release }()
	watched.end()
	close(release)
	if len(watched.said) != 1 || !strings.Contains(watched.said[0], "TestAGoroutineThatStaysIsTold") {
		t.Errorf("said %q", watched.said)
	}
}

// One that ends by itself, later than goleak waits for, was about to.
func TestAGoroutineThatTakesItsTimeIsNot(t *testing.T) {
	var watched told
	after(&watched, time.Minute)
	go func() { <-time.After(3 * time.Second) }()
	watched.end()
	if len(watched.said) > 0 {
		t.Errorf("said %q", watched.said)
	}
}

// The pool of a server that was shut down sleeps on: it ends by itself, after up
// to ten seconds, so whether a package was told of it was a matter of the order of
// its tests.
func TestAServerOfFasthttpThatWasShutDownIsNot(t *testing.T) {
	var watched told
	After(&watched)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &fasthttp.Server{Handler: func(c *fasthttp.RequestCtx) { c.SetStatusCode(204) }}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if res, err := c.Get("http://" + l.Addr().String() + "/"); err != nil || res.StatusCode != 204 {
		t.Errorf("answered %v, %v", res, err)
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	watched.end()
	if len(watched.said) > 0 {
		t.Errorf("said %q", watched.said)
	}
}
