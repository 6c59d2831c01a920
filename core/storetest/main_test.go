package storetest_test

import (
	"testing"

	"go.uber.org/goleak"
)

// The suite starts goroutines of its own (races, late writes): none outlives it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
