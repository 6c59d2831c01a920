package httpflow

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

func TestPreferWait(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"": 0, "wait=3": 3 * time.Second, "respond-async, wait=10": 10 * time.Second, `Wait="2"`: 2 * time.Second, "wait=1;x=y": time.Second,
		"wait=0": -1, "wait=soon": 0, "wait": 0, "wait=-1": 0, "wait=99999999999": 0, "return=minimal": 0, "wait=1, wait=5": time.Second,
	} {
		r := &http.Request{Header: http.Header{}}
		if header != "" {
			r.Header.Set("Prefer", header)
		}
		if got := wait(NetRequest{r}); got != want {
			t.Errorf("Prefer: %s → %v, want %v", header, got, want)
		}
	}
}

// FuzzPreferWait: whatever a client prefers, a wait is whole seconds of 31 bits, or
// one of the two that say none; nothing overflows into another sign, and what is
// written plainly is read plainly, whatever stands behind it.
func FuzzPreferWait(f *testing.F) {
	for _, seed := range []string{"", "wait=3", "respond-async, wait=10", `Wait="2"`, "wait=1;x=y", "wait=0", "wait=99999999999", "wait=-1", "=,;wait=", "wait=2147483648"} {
		f.Add(seed, uint32(7))
	}
	f.Fuzz(func(t *testing.T, line string, seconds uint32) {
		told := func(lines ...string) time.Duration {
			return wait(NetRequest{&http.Request{Header: http.Header{"Prefer": lines}}})
		}
		got := told(line)
		if got < -1 || got > (1<<31-1)*time.Second || got > 0 && got%time.Second != 0 {
			t.Errorf("Prefer: %q is a wait of %v", line, got)
		}
		seconds = seconds>>1 | 1
		if got, want := told(fmt.Sprintf("wait=%d, %s", seconds, line)), time.Duration(seconds)*time.Second; got != want {
			t.Errorf("wait=%d before %q is %v", seconds, line, got)
		}
		if again := told(line, "wait=7"); got != 0 && again != got {
			t.Errorf("%q says %v, and with another behind it %v", line, got, again)
		}
	})
}

func TestForceIsAskedForByOneWord(t *testing.T) {
	for _, row := range []struct {
		lines []string
		want  bool
	}{{nil, false}, {[]string{"1"}, true}, {[]string{" 1 "}, true}, {[]string{"0"}, false}, {[]string{"true"}, false}, {[]string{"1", "1"}, false}} {
		r := &http.Request{Header: http.Header{"Idempotency-Force": row.lines}}
		if got := asksForce(NetRequest{r}); got != row.want {
			t.Errorf("%q → %v", row.lines, got)
		}
	}
}
