package telemetry_test

import (
	"testing"

	"github.com/go-idem/idem/internal/leaktest"
)

// Nothing is left running: neither a guard's work nor anything of this package's
// own, which starts nothing (PROTOCOL I12).
func TestMain(m *testing.M) { leaktest.Main(m) }
