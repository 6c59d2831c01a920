package testserver_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-idem/idem/internal/testserver"
)

// Given a server and a body of 1 GiB in chunks (64 MiB unless IDEM_DRILL=1), when
// the body is refused as too large, and when it is hashed under a policy that
// allows it, then the server's memory stays where it was, give or take 8 MiB
// (statement 16).
func TestMemoryStaysFlatUnderALongBody(t *testing.T) {
	size := int64(64 << 20)
	if os.Getenv("IDEM_DRILL") == "1" {
		size = 1 << 30
	}
	l := launcher(t)
	for _, adapter := range []string{"stdhttp", "echo", "fiber"} {
		t.Run(adapter, func(t *testing.T) {
			p := start(t, l, "-adapter", adapter, "-tied", "-control")
			for range 20 { // what a server needs once is there then
				send(t, p, "/do/warm", 48<<10, "")
			}
			before := resident(t, p)
			flat := func(what string, status int, key string) {
				t.Helper()
				var most atomic.Int64
				stop := make(chan struct{})
				watched := make(chan struct{})
				go func() {
					defer close(watched)
					tick := time.NewTicker(10 * time.Millisecond)
					defer tick.Stop()
					for {
						most.Store(max(most.Load(), resident(t, p)))
						select {
						case <-tick.C:
						case <-stop:
							return
						}
					}
				}()
				got := send(t, p, "/do/long", size, key)
				close(stop)
				<-watched
				grew := most.Load() - before
				t.Logf("%s: %d MiB in chunks, answered %d, grew by %.1f MiB from %.1f", what, size>>20, got, float64(grew)/(1<<20), float64(before)/(1<<20))
				if got != status {
					t.Errorf("%s: status %d, want %d", what, got, status)
				}
				if grew > 8<<20 {
					t.Errorf("%s: the server grew by %d bytes", what, grew)
				}
			}
			flat("refused", http.StatusRequestEntityTooLarge, "refused")
			order, err := http.Post(p.URL()+"/control/policy", "application/json", strings.NewReader(`{"operation":"test:do:run","preset":"api","maxBody":"2GiB"}`))
			if err != nil || order.StatusCode != http.StatusOK {
				t.Fatalf("changing the policy: %v, %v", order, err)
			}
			_ = order.Body.Close()
			flat("hashed", http.StatusCreated, "hashed")
		})
	}
}

// send posts size bytes in chunks and returns the status; 413 also where the
// server hung up on us before we had read that.
func send(t *testing.T, p *testserver.Process, path string, size int64, key string) int {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, p.URL()+path, struct{ io.Reader }{io.LimitReader(same{}, size)})
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	req.Header.Set("Do-Read", "none")
	req.Header.Set("Idempotency-Key", key)
	if key == "" {
		req.Header.Set("Idempotency-Key", fmt.Sprint(time.Now().UnixNano()))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		if strings.Contains(err.Error(), "reset") || strings.Contains(err.Error(), "broken pipe") {
			return http.StatusRequestEntityTooLarge
		}
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// same is an endless body.
type same struct{}

func (same) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// resident is how much of a process is in memory.
func resident(t *testing.T, p *testserver.Process) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.ID()))
	var all, in int64
	if _, serr := fmt.Sscan(string(text), &all, &in); err != nil || serr != nil {
		t.Skipf("not of this machine: the memory of a process cannot be read: %v", err)
	}
	return in * int64(os.Getpagesize())
}
