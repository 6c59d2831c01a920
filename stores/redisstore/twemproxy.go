package redisstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// dialer opens a connection.
type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// checkTwemproxy returns what does not go with one.
func (o Options) checkTwemproxy() error {
	var errs []error
	wrong := func(what string) {
		errs = append(errs, fmt.Errorf("%w: with Twemproxy %s", ErrOptions, what))
	}
	u := o.Universal
	if len(u.Addrs) > 1 || u.MasterName != "" || u.IsClusterMode {
		wrong("Universal is one address")
	}
	if u.DB != 0 || u.TLSConfig != nil || u.Username != "" {
		wrong("leave out Universal.DB, TLSConfig and Username: it knows none of them")
	}
	if o.EvictionChecked == "" {
		wrong("EvictionChecked is required: the servers behind it cannot be asked")
	}
	if o.WaitReplicas.Replicas > 0 {
		wrong("WaitReplicas cannot be had: it does not know WAIT")
	}
	return errors.Join(errs...)
}

// withoutHello returns a dialer whose connections answer the driver's HELLO by
// themselves, as an old server does. A twemproxy closes a connection on which it is
// asked for anything that it does not know.
func withoutHello(dial dialer) dialer {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &plainConn{Conn: c}, nil
	}
}

// plainConn answers HELLO. The driver uses a connection from one goroutine at a
// time, and says HELLO first if at all.
type plainConn struct {
	net.Conn
	asked  bool   // something was written
	answer []byte // what is left of our own answer
}

func (c *plainConn) Write(p []byte) (int, error) {
	first := !c.asked
	c.asked = true
	if first && bytes.Contains(bytes.ToLower(p[:min(len(p), 20)]), []byte("hello")) {
		c.answer = []byte("-ERR unknown command\r\n")
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *plainConn) Read(p []byte) (int, error) {
	if len(c.answer) > 0 {
		n := copy(p, c.answer)
		c.answer = c.answer[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// SyscallConn lets the driver see whether an idle connection is still open.
func (c *plainConn) SyscallConn() (syscall.RawConn, error) {
	if s, ok := c.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.New("redisstore: no system call reaches this connection")
}
