package testserver_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Who starts servers, processes and readers of their output leaves none behind.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1")) // one for all servers, for ever
}
