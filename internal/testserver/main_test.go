package testserver_test

import (
	"testing"

	"github.com/go-idem/idem/internal/leaktest"
)

// Who starts servers, processes and readers of their output leaves none behind.
func TestMain(m *testing.M) { leaktest.Main(m) }
