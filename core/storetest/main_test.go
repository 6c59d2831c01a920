package storetest_test

import (
	"testing"

	"github.com/go-idem/idem/internal/leaktest"
)

// The suite starts goroutines of its own (races, late writes): none outlives it.
func TestMain(m *testing.M) { leaktest.Main(m) }
