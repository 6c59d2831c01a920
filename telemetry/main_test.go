package telemetry_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Nothing is left running: neither a guard's work nor anything of this package's
// own, which starts nothing (PROTOCOL I12).
func TestMain(m *testing.M) {
	// Fiber's engine keeps a clock for the whole process.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"))
}
