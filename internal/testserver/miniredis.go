package testserver

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// Mini is a miniredis whose time passes: by itself it stands still, and every
// value lives for ever.
type Mini struct {
	redis *miniredis.Miniredis

	mu    sync.Mutex
	moved time.Duration // by which its clock is ahead of the host's

	stop chan struct{}
	done sync.WaitGroup
}

// advanceCommand moves a Mini's time on from the other end of a connection: so
// many milliseconds.
const advanceCommand = "CLOCK.ADVANCE"

// miniEviction answers redisstore's question who has made sure that nothing is
// evicted: a miniredis cannot be asked.
const miniEviction = "the test server: a miniredis has no memory limit"

// tick is how coarsely a Mini's time passes.
const tick = 2 * time.Millisecond

// StartMini starts a miniredis on a TCP address.
func StartMini(addr string) (*Mini, error) {
	m := &Mini{redis: miniredis.NewMiniRedis(), stop: make(chan struct{})}
	m.redis.ClockTTL(true) // what it keeps expires by the time it is told
	m.catchUp()
	if err := m.redis.StartAddr(addr); err != nil {
		return nil, fmt.Errorf("starting miniredis on %s: %w", addr, err)
	}
	if err := m.redis.Server().Register(advanceCommand, m.advance); err != nil {
		m.redis.Close()
		return nil, fmt.Errorf("teaching miniredis %s: %w", advanceCommand, err)
	}
	m.done.Go(m.run)
	return m, nil
}

// Addr is where it listens.
func (m *Mini) Addr() string { return m.redis.Addr() }

// Close ends it.
func (m *Mini) Close() {
	close(m.stop)
	m.done.Wait()
	m.redis.Close()
}

// Advance moves its time on.
func (m *Mini) Advance(d time.Duration) {
	m.mu.Lock()
	m.moved += d
	m.mu.Unlock()
	m.catchUp()
}

func (m *Mini) run() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-ticker.C:
			m.catchUp()
		}
	}
}

// catchUp tells the miniredis what time it is.
func (m *Mini) catchUp() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.redis.SetTime(time.Now().Add(m.moved))
}

func (m *Mini) advance(peer *server.Peer, _ string, args []string) {
	if len(args) != 1 {
		peer.WriteError("ERR " + advanceCommand + " takes one number of milliseconds")
		return
	}
	ms, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil || ms < 0 {
		peer.WriteError("ERR " + advanceCommand + " takes a number of milliseconds, not below zero")
		return
	}
	m.Advance(time.Duration(ms) * time.Millisecond)
	peer.WriteOK()
}
