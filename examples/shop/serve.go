package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// The frameworks the shop can be served with.
var adapters = []string{"stdhttp", "echo", "fiber"}

// server is a shop that is being served.
type server struct {
	shop     *shop
	url      string
	listener *cutListener
	done     chan error // closed when serving has ended; before that, what it ended with
	stop     func(context.Context) error
}

// serve begins to serve a shop on a listener with the shop's framework.
func serve(s *shop, ln net.Listener) (*server, error) {
	cut := &cutListener{Listener: ln, open: map[net.Conn]struct{}{}}
	srv := &server{shop: s, url: urlOf(ln.Addr()), listener: cut, done: make(chan error, 1)}
	var run func() error
	switch s.adapter {
	case "stdhttp":
		run, srv.stop = serveHTTP(stdHandler(s), cut)
	case "echo":
		run, srv.stop = serveHTTP(echoHandler(s), cut)
	case "fiber":
		app := fiberApp(s)
		run, srv.stop = func() error { return app.Listener(cut) }, app.ShutdownWithContext
	default:
		return nil, fmt.Errorf("adapter %q is none of %v", s.adapter, adapters)
	}
	go func() {
		defer close(srv.done)
		if err := run(); err != nil {
			srv.done <- err
		}
	}()
	return srv, nil
}

// serveHTTP serves what is an http.Handler.
func serveHTTP(h http.Handler, ln net.Listener) (run func() error, stop func(context.Context) error) {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	run = func() error {
		if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
	return run, srv.Shutdown
}

// close ends serving and then the shop. Requests under way are finished until
// ctx ends.
func (srv *server) close(ctx context.Context) error {
	s := srv.shop
	s.closing.Do(func() { close(s.closed) })
	s.shows.endAll()
	err := errors.Join(s.lab.close(), srv.stop(ctx))
	srv.listener.cut()
	<-srv.done // that its listener is closed is no news
	return errors.Join(err, s.close(ctx))
}

// urlOf returns the address a browser on this machine uses.
func urlOf(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// cutListener is a listener that can fall silent as if its process had died:
// every connection ends at once, whatever was being said on it.
type cutListener struct {
	net.Listener
	mu     sync.Mutex
	open   map[net.Conn]struct{}
	isDown bool
}

// Accept hands out connections that the listener remembers until they close.
func (l *cutListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isDown {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	l.open[conn] = struct{}{}
	return &cutConn{Conn: conn, from: l}, nil
}

// cut closes the listener and all its connections.
func (l *cutListener) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isDown = true
	_ = l.Close()
	for conn := range l.open {
		_ = conn.Close()
	}
	clear(l.open)
}

type cutConn struct {
	net.Conn
	from *cutListener
}

// Close closes the connection and lets the listener forget it.
func (c *cutConn) Close() error {
	c.from.mu.Lock()
	delete(c.from.open, c.Conn)
	c.from.mu.Unlock()
	return c.Conn.Close()
}
