package main

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/go-idem/idem/stores/redisstore"
)

const (
	rivalFar = "80 µs away: 100 SetNX, one after the other"
	oursFar  = "80 µs away: idem Apply of 100"

	rivalFarAlone = "80 µs away: go-redis SetNX, 1 caller"
	oursFarAlone  = "80 µs away: idem Create, 1 caller"

	// farAway is what a round trip takes at least where a batch is measured.
	farAway = 80 * time.Microsecond
	// inTheZone is what it takes between two hosts of one zone, about.
	inTheZone = 200 * time.Microsecond
)

// farRows are a batch beside single claims where the server is some way off, as it
// was where the budget was set (100 SetNX took 7.9 ms). Over a loopback that takes
// 20 µs the server's own work is a tenth of the round trip, and no batch of any
// length could be twenty times as fast.
func (b *redisBed) farRows() ([]row, error) {
	client := redis.NewClient(&redis.Options{Addr: b.addr, Protocol: 2, MaxRetries: -1, Dialer: dialFar(farAway)})
	b.ends = append(b.ends, func() { _ = client.Close() })
	store, err := redisstore.Open(b.ctx, redisstore.Options{Universal: &redis.UniversalOptions{Addrs: []string{b.addr}, Dialer: dialFar(farAway)}})
	if err != nil {
		return nil, err
	}
	b.ends = append(b.ends, func() { _ = store.Close() })
	return []row{
		{name: rivalFar, callers: 1, calls: batch, do: b.hundred(client)},
		{name: oursFar, callers: 1, calls: batch, do: func(i int) error { return applyOf(b.ctx, store, b.name, i) }},
		{name: rivalFarAlone, callers: 1, do: func(i int) error { return client.SetNX(b.ctx, b.name(i), claimValue, ttl).Err() }},
		{name: oursFarAlone, callers: 1, do: func(i int) error {
			_, err := store.Create(b.ctx, b.name(i), claimValue, ttl)
			return err
		}},
	}, nil
}

// dialFar makes connections on which no reply arrives sooner than so long after
// what was written.
func dialFar(away time.Duration) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &farConn{Conn: conn, away: away}, nil
	}
}

type farConn struct {
	net.Conn
	away  time.Duration
	wrote atomic.Pointer[time.Time]
}

func (c *farConn) Write(p []byte) (int, error) {
	now := time.Now()
	c.wrote.Store(&now)
	return c.Conn.Write(p)
}

// Read spins for what is left of the way: no timer of Go's is so short.
func (c *farConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if wrote := c.wrote.Load(); wrote != nil {
		for time.Since(*wrote) < c.away {
		}
	}
	return n, err
}
