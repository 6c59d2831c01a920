// Package counts has tests that cannot run under the race detector; the
// environment stands in for the detector, so that no C compiler is needed.
package counts

import (
	"os"
	"testing"
)

func underRace() bool { return os.Getenv("SUMMARY_FIXTURE_RACE") == "1" }

func TestAllocations(t *testing.T) {
	t.Run("of one", func(t *testing.T) {
		if underRace() {
			t.Skip("allocations cannot be counted under the race detector")
		}
	})
	t.Run("of another", func(t *testing.T) {})
}

func TestMore(t *testing.T) {
	if underRace() {
		t.Skip("allocations cannot be counted under the race detector")
	}
	t.Run("below", func(t *testing.T) {})
}

func TestOther(t *testing.T) { t.Skip("no server") }
