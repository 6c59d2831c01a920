package redistest

import (
	"fmt"
	"strings"
	"testing"
)

func TestTheClusterIsShared(t *testing.T) {
	release := Keep()
	defer release()
	var first *Cluster
	t.Run("user", func(t *testing.T) {
		first = TheCluster(t)
		if len(first.Masters) != 3 || len(first.Replicas) != 3 {
			t.Fatalf("got %+v", first)
		}
		for _, addr := range first.Replicas {
			if role := Do(t, addr, "ROLE"); !strings.Contains(role, "slave") {
				t.Errorf("%s is no replica: %q", addr, role)
			}
		}
	})
	if again := TheCluster(t); again != first {
		t.Error("asked again there is another one")
	}
}

func TestTwemproxySpreadsNames(t *testing.T) {
	addr, behind := Twemproxy(t, 2)
	for i := range 40 {
		if got := Do(t, addr, "SET", fmt.Sprintf("idem:%026d", i), "v"); got != "+OK" {
			t.Fatal(got)
		}
	}
	for _, own := range behind {
		if got := Do(t, own, "DBSIZE"); got == ":0" || got == ":40" {
			t.Errorf("%s has %s of 40 names", own, got)
		}
	}
	if reply, err := do(addr, "INFO"); err == nil {
		t.Errorf("it answered INFO: %q", reply)
	}
}
