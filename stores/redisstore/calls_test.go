package redisstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/stores/redisstore"
)

// The caller's deadline holds, longer ones than CallTimeout too; without one a
// call takes twice CallTimeout at most.
//
// Faults: 54.
func TestDeadlines(t *testing.T) {
	m := redistest.Miniredis(t)
	proxy := redistest.NewProxy(t, m.Addr())
	s := open(t, proxy.Addr(), func(o *redisstore.Options) { o.CallTimeout = 100 * time.Millisecond })

	proxy.Delay(300 * time.Millisecond)
	if r, err := s.Create(briefly(t, 5*time.Second), "patient", []byte("v"), time.Minute); err != nil || !r.Done {
		t.Errorf("a caller with five seconds was given up on: %+v, %v", r, err)
	}
	for _, c := range []struct {
		name        string
		has         time.Duration // 0: no deadline
		least, most time.Duration
	}{
		{"no deadline", 0, 200 * time.Millisecond, 290 * time.Millisecond},
		{"a short deadline", 60 * time.Millisecond, 60 * time.Millisecond, 190 * time.Millisecond},
	} {
		ctx := t.Context()
		if c.has > 0 {
			ctx = briefly(t, c.has)
		}
		start := time.Now()
		_, err := s.Create(ctx, c.name, []byte("v"), time.Minute)
		took := time.Since(start)
		if err == nil || took < c.least {
			t.Errorf("%s: %v after %v, want an error, not before %v", c.name, err, took, c.least)
		}
		// A loaded machine may be late by more than the reply would have been: then
		// the reply was not what ended the call either, because the call failed.
		if took > c.most+20*time.Second {
			t.Errorf("%s: it took %v", c.name, took)
		}
	}
}

// A claim can arrive after its caller was told that the outcome is unknown.
func TestUnknownMayStillHappen(t *testing.T) {
	m := redistest.Miniredis(t)
	proxy := redistest.NewProxy(t, m.Addr())
	s := open(t, proxy.Addr())
	proxy.Late(1, 30*time.Millisecond, "SET")
	if r, err := s.Create(t.Context(), "a", []byte("v"), time.Minute); err == nil {
		t.Fatalf("got %+v, want an error", r)
	}
	eventually(t, "the late claim", func() bool { return m.Exists("a") })
}

// A server without our script (restarted, flushed) is no error.
func TestScriptThatTheServerForgot(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	s := open(t, addr)
	_, _ = s.Create(t.Context(), "a", []byte("0"), time.Minute)
	for i := range byte(3) {
		if got := redistest.Do(t, addr, "SCRIPT", "FLUSH"); got != "+OK" {
			t.Fatal(got)
		}
		r, err := s.Swap(t.Context(), "a", []byte{'0' + i}, []byte{'1' + i}, time.Minute)
		if err != nil || !r.Done {
			t.Fatalf("Swap %d: %+v, %v", i, r, err)
		}
		if got := redistest.Do(t, addr, "SCRIPT", "EXISTS", redisstore.SwapSHA); got != "*1\r\n:1" {
			t.Errorf("the server does not know the script afterwards: %q", got)
		}
	}
}

// A refusal is an error that says why, without the names and values that some
// servers repeat in it.
func TestRefusalsHoldNoArguments(t *testing.T) {
	m := redistest.Miniredis(t)
	s := open(t, m.Addr())
	for said, want := range map[string]string{
		"ERR unknown command 'SET', with args beginning with: 'secret-name' 'secret-value'":   "ERR unknown command…",
		"ERR unknown command `SET`, with args beginning with: `secret-name`, `secret-value`,": "ERR unknown command…",
		"NOPERM this user has no permissions to access the key":                               "NOPERM this user has no permissions",
		"MISCONF Redis is configured to save RDB snapshots":                                   "MISCONF",
		"READONLY You can't write against a read only replica.":                               "READONLY You can…",
	} {
		m.SetError(said)
		for name, err := range everyCall(t, s) {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s, refused with %q, says: %v", name, said, err)
			}
		}
		m.SetError("")
	}
	for name, err := range everyCall(t, s) {
		if err != nil {
			t.Errorf("afterwards %s says: %v", name, err)
		}
	}
}

func everyCall(t *testing.T, s *redisstore.Store) map[string]error {
	_, create := s.Create(t.Context(), "secret-name", []byte("secret-value"), time.Minute)
	_, swap := s.Swap(t.Context(), "secret-name", []byte("x"), []byte("secret-value"), time.Minute)
	_, load := s.Load(t.Context(), "secret-name")
	_, now := s.Now(t.Context())
	return map[string]error{"Create": create, "Swap": swap, "Load": load, "Now": now}
}

// A server that has become a replica is left: its connections are not used again.
func TestConnectionsToAReplicaAreDropped(t *testing.T) {
	m := redistest.Miniredis(t)
	proxy := redistest.NewProxy(t, m.Addr())
	s := open(t, proxy.Addr())
	if proxy.Conns() == 0 {
		t.Fatal("there is no connection to drop")
	}
	m.SetError("READONLY You can't write against a read only replica.")
	for range 2 {
		if _, err := s.Create(t.Context(), "a", []byte("v"), time.Minute); err == nil {
			t.Fatal("a replica took a claim")
		}
	}
	eventually(t, "the end of the connections", func() bool { return proxy.Conns() == 0 })
	m.SetError("")
	if r, err := s.Create(t.Context(), "a", []byte("v"), time.Minute); err != nil || !r.Done {
		t.Errorf("once it is a master again: %+v, %v", r, err)
	}
}

// What something else left under a name is an error, never nothing.
func TestForeignKeys(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	s := open(t, addr)
	redistest.Do(t, addr, "SET", "forever", "v")
	redistest.Do(t, addr, "LPUSH", "list", "v")
	if r, err := s.Load(t.Context(), "forever"); err == nil || !strings.Contains(err.Error(), "without a time to live") {
		t.Errorf("a value that never expires: %+v, %v", r, err)
	}
	for name, call := range map[string]func() (idem.Result, error){
		"Create": func() (idem.Result, error) { return s.Create(t.Context(), "list", []byte("v"), time.Minute) },
		"Swap": func() (idem.Result, error) {
			return s.Swap(t.Context(), "list", []byte("v"), []byte("w"), time.Minute)
		},
		"Load": func() (idem.Result, error) { return s.Load(t.Context(), "list") },
	} {
		if r, err := call(); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
			t.Errorf("%s of a list: %+v, %v", name, r, err)
		}
	}
	for _, name := range []string{"", strings.Repeat("n", 201)} {
		if _, err := s.Create(t.Context(), name, []byte("v"), time.Minute); err == nil {
			t.Errorf("a name of %d bytes was taken", len(name))
		}
	}
}

// Time left is rounded up, and 0, which means "not told", is never told.
func TestTheLastMillisecondIsTold(t *testing.T) {
	m := redistest.Miniredis(t)
	s := open(t, m.Addr())
	_, _ = s.Create(t.Context(), "a", []byte("v"), 1500*time.Microsecond)
	for want := 3 * time.Millisecond; want > time.Millisecond; want -= time.Millisecond {
		if r, err := s.Load(t.Context(), "a"); err != nil || r.Left != want {
			t.Errorf("got %+v, %v, want %v left", r, err, want)
		}
		redistest.Advance(t, m, time.Millisecond)
	}
	if r, err := s.Load(t.Context(), "a"); err != nil || r.Value != nil {
		t.Errorf("after its time: %+v, %v", r, err)
	}
}

// A server that goes away and comes back is used again.
func TestOutage(t *testing.T) {
	m := redistest.Miniredis(t)
	proxy := redistest.NewProxy(t, m.Addr())
	s := open(t, proxy.Addr())
	resume := proxy.Refuse()
	for range 50 { // more than the pool has connections: the driver then fails fast by itself
		if _, err := s.Load(t.Context(), "a"); err == nil || errors.Is(err, redisstore.ErrUnfit) {
			t.Fatalf("with the server gone: %v", err)
		}
	}
	resume()
	eventually(t, "an answer after the outage", func() bool {
		_, err := s.Load(briefly(t, time.Second), "a")
		return err == nil
	})
}
