package fiberidem_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/go-idem/idem/internal/suitetest"
	"github.com/go-idem/idem/internal/testserver"
)

// stays are goroutines of fasthttp's own that outlive its servers.
var stays = []goleak.Option{
	goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"), // it sleeps through its pool's end
	goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),    // one for all servers, for ever
	goleak.IgnoreAnyFunction("github.com/valyala/fasthttp/stackless.funcWorker"),      // its compressor's, one for each core
}

// The statements of the HTTP face, on each kind of store.

func TestStatementsOnMemory(t *testing.T)    { suitetest.OnMemory(t, testserver.Fiber(), stays...) }
func TestStatementsOnMiniredis(t *testing.T) { suitetest.OnMiniredis(t, testserver.Fiber(), stays...) }
func TestStatementsOnRedis(t *testing.T)     { suitetest.OnRedis(t, testserver.Fiber(), stays...) }
