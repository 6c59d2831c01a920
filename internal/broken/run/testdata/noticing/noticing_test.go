// Package noticing has a test for each thing that can come of breaking a rule.
package noticing

import (
	"os"
	"testing"
)

func broken(name string) bool { return os.Getenv("IDEM_BROKEN") == name }

func TestNotices(t *testing.T) {
	if broken("noticed") {
		t.Error("the rule is broken")
	}
}

func TestNoticesBelow(t *testing.T) {
	t.Run("a (special) case", func(t *testing.T) {
		if broken("noticed-below") {
			t.Error("the rule is broken")
		}
	})
	t.Run("another", func(t *testing.T) {
		if broken("noticed-beside") {
			t.Error("not the one that was named")
		}
	})
}

func TestPanics(t *testing.T) {
	if broken("panicked") {
		panic("in the test's own goroutine: the test has failed")
	}
}

func TestBlind(t *testing.T) {}

func TestAlwaysFails(t *testing.T) { t.Error("whatever is broken") }

func TestAlwaysSkips(t *testing.T) { t.Skip("no server") }

func TestSkipsWhenBroken(t *testing.T) {
	if broken("skipped") {
		t.Skip("no server today")
	}
}

func TestHangs(t *testing.T) {
	if broken("hung") {
		select {}
	}
}

func TestDies(t *testing.T) {
	if broken("died") {
		os.Exit(3)
	}
}
