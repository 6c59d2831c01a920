package fiberidem_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/go-idem/idem/adapters/adaptertest"
	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/internal/testserver"
)

// The statements of the HTTP face, played through a real server over real
// connections. On memory, a process is a guard of its own that shares the store.
func TestStatementsOnMemory(t *testing.T) {
	nothingLeft(t)
	adaptertest.Run(t, testserver.Fiber(), testserver.Memory())
}

func TestStatementsOnMiniredis(t *testing.T) {
	l := launcher(t)
	nothingLeft(t)
	adaptertest.Run(t, testserver.Fiber(), testserver.Miniredis(l))
}

func TestStatementsOnRedis(t *testing.T) {
	addr, l := redistest.Server(t), launcher(t)
	nothingLeft(t)
	adaptertest.Run(t, testserver.Fiber(), testserver.Redis(addr, l))
}

// launcher builds the program of the servers that are processes of their own.
func launcher(t *testing.T) *testserver.Launcher {
	t.Helper()
	var l testserver.Launcher
	t.Cleanup(l.Close)
	if err := l.Build(); err != nil {
		t.Fatal(err)
	}
	return &l
}

// nothingLeft says that once every statement was played, every server closed and
// every killed one cleared away, no goroutine of theirs is left (I12).
func nothingLeft(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		goleak.VerifyNone(t, before,
			goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"), // it sleeps through its pool's end
			goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),    // one for all servers, for ever
			goleak.IgnoreAnyFunction("github.com/valyala/fasthttp/stackless.funcWorker"))      // its compressor's, one for each core
	})
}
