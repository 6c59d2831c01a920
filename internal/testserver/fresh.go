package testserver

import (
	"net"
	"sync"
)

// freshListener knows its connections on which nothing was read yet. fasthttp
// takes such a one for busy and waits for it at shutdown, for ever, and Go's
// client likes to have one in reserve.
type freshListener struct {
	net.Listener

	mu     sync.Mutex
	closed bool
	fresh  map[*freshConn]bool
}

func newFreshListener(l net.Listener) *freshListener {
	return &freshListener{Listener: l, fresh: map[*freshConn]bool{}}
}

func (l *freshListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	fresh := &freshConn{Conn: c, from: l}
	l.fresh[fresh] = true
	return fresh, nil
}

// Close closes the listener, and the connections that have said nothing.
func (l *freshListener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	for c := range l.fresh {
		_ = c.Conn.Close()
	}
	clear(l.fresh)
	return l.Listener.Close()
}

func (l *freshListener) used(c *freshConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.fresh, c)
}

type freshConn struct {
	net.Conn
	from *freshListener
	once sync.Once
}

func (c *freshConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.once.Do(func() { c.from.used(c) })
	return n, err
}
