// Package mixed has one test of every outcome, for the tests of the summary.
package mixed

import "testing"

func TestPasses(t *testing.T) {}

func TestTable(t *testing.T) {
	t.Run("good", func(t *testing.T) {})
	t.Run("bad/with a slash", func(t *testing.T) { t.Error("want 1, got 2") })
}

func TestAbove(t *testing.T) {
	t.Run("below", func(t *testing.T) {})
	t.Error("the parent alone is wrong")
}

func TestSkips(t *testing.T) { t.Skip("redis-server is not installed") }

func TestSkipsBelow(t *testing.T) {
	t.Run("there", func(t *testing.T) {})
	t.Run("not there", func(t *testing.T) { t.Skip("needs Firefox") })
}
