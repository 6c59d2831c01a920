package redistest

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// MiniredisEviction is what a store on a miniredis says in
// redisstore.Options.EvictionChecked: it cannot be asked for its policy.
const MiniredisEviction = "miniredis, which has no memory limit"

// Miniredis starts a miniredis in this process for one test. Its clock stands
// still, at the time of the call, until [Advance] moves it.
func Miniredis(t testing.TB) *miniredis.Miniredis {
	t.Helper()
	m := miniredis.NewMiniRedis()
	if err := m.Start(); err != nil {
		t.Fatalf("redistest: start miniredis: %v", err)
	}
	t.Cleanup(m.Close)
	m.SetTime(time.Now().Truncate(time.Millisecond))
	m.ClockTTL(true) // what it keeps expires by its time, too
	return m
}

// advancing keeps two Advances of one program from losing each other's time.
var advancing sync.Mutex

// Advance moves the clock of a miniredis that stands still: its time and what
// expires by it.
func Advance(t testing.TB, m *miniredis.Miniredis, d time.Duration) {
	t.Helper()
	advancing.Lock()
	defer advancing.Unlock()
	m.SetTime(timeOf(t, m.Addr()).Add(d))
}

// timeOf asks a server for its time.
func timeOf(t testing.TB, addr string) time.Time {
	t.Helper()
	var seconds, micros int64
	reply := Do(t, addr, "TIME")
	if parts := strings.Split(reply, "\r\n"); len(parts) == 5 {
		seconds, _ = strconv.ParseInt(parts[2], 10, 64)
		micros, _ = strconv.ParseInt(parts[4], 10, 64)
	}
	if seconds == 0 {
		t.Fatalf("redistest: TIME: %q", reply)
	}
	return time.Unix(seconds, micros*1000)
}

// KeepTime has a miniredis follow the host's clock, which it does not do by
// itself for what it keeps: without it nothing in it ever expires. advance moves
// its time ahead of the host's. Both end with stop, which may be called twice.
func KeepTime(m *miniredis.Miniredis) (advance func(time.Duration), stop func()) {
	var mu sync.Mutex
	var ahead time.Duration
	set := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		ahead += d
		m.SetTime(time.Now().Add(ahead))
	}
	set(0)
	m.ClockTTL(true)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				set(0)
			case <-done:
				return
			}
		}
	}()
	return set, sync.OnceFunc(func() { close(done); <-ended })
}
