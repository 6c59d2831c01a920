package adaptertest

import (
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
)

// cutter stands between a client and a server and drops the client's connection
// in place of an answer: what a proxy that restarts does, or a phone that
// changes its cell.
type cutter struct {
	url  string
	next atomic.Bool // the next answer is lost, together with its connection

	listener net.Listener
	to       string
	open     sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

func (s *scene) cutter(n Node) *cutter {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.fatalf("listening: %v", err)
	}
	c := &cutter{url: "http://" + l.Addr().String(), listener: l, to: strings.TrimPrefix(n.URL(), "http://")}
	c.open.Go(c.serve)
	return c
}

func (c *cutter) serve() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		c.mu.Lock()
		c.conns = append(c.conns, client, server)
		c.mu.Unlock()
		c.open.Go(func() {
			_, _ = io.Copy(server, client)
			_ = server.Close()
		})
		c.open.Go(func() { c.answers(client, server) })
	}
}

// answers hands on what the server says, until an answer is to be lost.
func (c *cutter) answers(client, server net.Conn) {
	defer client.Close()
	piece := make([]byte, 32<<10)
	for {
		n, err := server.Read(piece)
		if n > 0 && c.next.CompareAndSwap(true, false) {
			return
		}
		if _, werr := client.Write(piece[:n]); err != nil || werr != nil {
			return
		}
	}
}

func (c *cutter) close() {
	_ = c.listener.Close()
	c.mu.Lock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.mu.Unlock()
	c.open.Wait()
}
