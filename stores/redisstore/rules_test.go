package redisstore_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/storetest"
	"github.com/go-idem/idem/internal/redistest"
)

// Each of these tests names a rule and fails when its switch breaks it.

// Faults: 10.
func TestS9_AClaimIsOneStepInTheStore(t *testing.T) {
	holds(t, "of many Creates at once exactly one is Done")
}

func TestS9_AnOwnValueKeepsItsTimeToLive(t *testing.T) {
	holds(t, "Swap that finds its own value there is Done and leaves the time to live")
}

// holds asks one sentence of the contract.
func holds(t *testing.T, sentence string) {
	t.Helper()
	for _, failure := range storetest.Check(onMiniredis(t, asItIs), sentence) {
		t.Error(failure)
	}
}

// The record changes between the two halves of a Load. Told with the older
// record's time, the newer would look lapsed and be taken over while it lives.
func TestS9_TheValueIsReadBeforeItsTime(t *testing.T) {
	m := redistest.Miniredis(t)
	proxy := redistest.NewProxy(t, m.Addr())
	s := open(t, proxy.Addr())
	for _, half := range []string{"GET", "PTTL"} { // whichever comes second
		redistest.Do(t, m.Addr(), "SET", "a", "older", "PX", "10000")
		proxy.Before(func() { redistest.Do(t, m.Addr(), "SET", "a", "newer", "PX", "90000") }, half)
		r, err := s.Load(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if string(r.Value) == "newer" && r.Left < 80*time.Second {
			t.Errorf("changed before %s: %q is told with %v left, the time of the one before it", half, r.Value, r.Left)
		}
	}
}

// The reply to each kind of call is lost, many times over: always an error, never
// an answer, and the call came to the server once. The server's own count, not
// the proxy's, says so.
//
// Faults: 9.
func TestS9_NothingIsSentTwice(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	proxy := redistest.NewProxy(t, addr)
	s := open(t, proxy.Addr())
	_, _ = s.Swap(t.Context(), "nothing", nil, []byte("v"), time.Minute) // the script is known from here on

	for i, c := range []struct {
		command string
		call    func(ctx context.Context, name string) (idem.Result, error)
		left    string
	}{
		{"set", func(ctx context.Context, name string) (idem.Result, error) {
			return s.Create(ctx, name, []byte("new"), time.Minute)
		}, "$3\r\nnew"},
		{"evalsha", func(ctx context.Context, name string) (idem.Result, error) {
			return s.Swap(ctx, name, []byte("old"), []byte("new"), time.Minute)
		}, "$3\r\nnew"},
		{"get", s.Load, "$3\r\nold"},
	} {
		for j := range 10 {
			name := fmt.Sprintf("n%d:%d", i, j)
			if c.command != "set" {
				redistest.Do(t, addr, "SET", name, "old", "PX", "60000")
			}
			before := commandCalls(t, addr, c.command)
			proxy.Lose(1, strings.ToUpper(c.command))
			r, err := c.call(t.Context(), name)
			if err == nil || r.Done || r.Value != nil {
				t.Fatalf("%s whose reply was lost: %+v, %v, want an error and nothing else", c.command, r, err)
			}
			if made := commandCalls(t, addr, c.command) - before; made != 1 {
				t.Errorf("%s whose reply was lost came to the server %d times", c.command, made)
			}
			if got := redistest.Do(t, addr, "GET", name); got != c.left {
				t.Errorf("afterwards there is %q, want %q", got, c.left)
			}
		}
	}
}

// commandCalls is how often a server has run a command, by its own count.
func commandCalls(t *testing.T, addr, command string) int {
	t.Helper()
	_, line, found := strings.Cut(redistest.Do(t, addr, "INFO", "commandstats"), "cmdstat_"+command+":calls=")
	if !found {
		return 0
	}
	digits, _, _ := strings.Cut(line, ",")
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatalf("commandstats of %s: %q", command, digits)
	}
	return n
}

// Faults: 8.
func TestP11_NoRecordIsWithoutATimeToLive(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	for name, s := range map[string]idem.Store{
		"native": open(t, addr), "by script": byScript(open(t, addr)),
	} {
		if _, err := s.Create(t.Context(), name, []byte("one"), time.Minute); err != nil {
			t.Fatal(err)
		}
		hasLife(t, addr, name, "a Create")
		if _, err := s.Swap(t.Context(), name, []byte("one"), []byte("two"), time.Minute); err != nil {
			t.Fatal(err)
		}
		hasLife(t, addr, name, "a Swap")
	}
}

func hasLife(t *testing.T, addr, name, after string) {
	t.Helper()
	if left := redistest.Do(t, addr, "PTTL", name); left == ":-1" || left == ":-2" {
		t.Errorf("after %s (%s) PTTL says %s", after, name, left)
	}
}

// B4: a claim, a settle and a look are one round trip each, counted at the server
// as reads from its sockets.
func TestB4_OneRoundTripEach(t *testing.T) {
	addr := redistest.Server(t)
	redistest.Flush(t, addr)
	s := open(t, addr)
	claim, settled := []byte("claim"), []byte("settled")
	_, _ = s.Swap(t.Context(), "nothing", nil, claim, time.Minute) // the script is known from here on
	const times = 50
	for name, call := range map[string]func(i int) (idem.Result, error){
		"1 Create": func(i int) (idem.Result, error) {
			return s.Create(t.Context(), fmt.Sprint("n", i), claim, time.Minute)
		},
		"2 Swap": func(i int) (idem.Result, error) {
			return s.Swap(t.Context(), fmt.Sprint("s", i), claim, settled, time.Minute)
		},
		"3 Load": func(i int) (idem.Result, error) { return s.Load(t.Context(), fmt.Sprint("n", i)) },
	} {
		before := serverReads(t, addr)
		for i := range times {
			if _, err := call(i); err != nil {
				t.Fatal(err)
			}
		}
		// Asking for the count is a read, too, and a connection may be new: two more.
		if reads := serverReads(t, addr) - before; reads < times || reads > times+4 {
			t.Errorf("%s: %d calls were %d reads at the server, want one each", name, times, reads)
		}
	}
}

func serverReads(t *testing.T, addr string) int {
	t.Helper()
	_, line, _ := strings.Cut(redistest.Do(t, addr, "INFO", "stats"), "total_reads_processed:")
	digits, _, _ := strings.Cut(line, "\r\n")
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatalf("total_reads_processed: %q", digits)
	}
	return n
}
