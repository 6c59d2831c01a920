package httpflow

import (
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
