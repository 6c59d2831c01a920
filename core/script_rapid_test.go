package idem

import (
	"flag"
	"testing"

	"pgregory.net/rapid"
)

// rapidly sets how rapid draws: the same scripts each time, so that a run that
// fails fails again; other ones, and many more, with IDEM_DRILL=1. Nothing is
// written beside the sources.
func rapidly(t *testing.T) {
	t.Helper()
	set := map[string]string{"rapid.checks": "500", "rapid.seed": "10", "rapid.nofailfile": "true", "rapid.shrinktime": "10s"}
	if drill() {
		set["rapid.checks"], set["rapid.seed"] = "100000", "0"
	}
	for name, value := range set {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
}

// TestScripts_InvariantsHold draws scripts and wants I1 to I9 and I13 to hold
// after every step of each. One that breaks them is shown as short as it can be.
//
// Faults: 9, 22.
func TestScripts_InvariantsHold(t *testing.T) {
	rapidly(t)
	rapid.Check(t, func(r *rapid.T) {
		s := scripts.Draw(r, "script")
		if wrong := s.play(t); wrong != "" {
			r.Fatalf("%s%s", wrong, s)
		}
	})
}
