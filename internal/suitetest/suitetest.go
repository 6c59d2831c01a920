// Package suitetest plays the statements of the HTTP face over one adapter and
// each of the stores: what the tests of all adapters have in common.
//
//	func TestStatementsOnMemory(t *testing.T) { suitetest.OnMemory(t, testserver.Echo()) }
//
// Every request goes through a real server over a real connection. Where the
// store lives outside of the test, servers are processes of their own; on memory,
// a process is a guard of its own that shares the store. Once every statement was
// played, every server closed and every killed one cleared away, no goroutine of
// theirs may be left (I12), but for those of the framework's that a test names.
package suitetest

import (
	"testing"

	"github.com/go-idem/idem/adapters/adaptertest"
	"github.com/go-idem/idem/internal/leaktest"
	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/internal/testserver"
)

// OnMemory plays all statements on memory.
func OnMemory(t *testing.T, a adaptertest.Adapter) {
	t.Helper()
	leaktest.After(t)
	adaptertest.Run(t, a, testserver.Memory())
}

// OnMiniredis plays all statements on miniredis, which has a process of its own.
func OnMiniredis(t *testing.T, a adaptertest.Adapter) {
	t.Helper()
	l := launcher(t)
	leaktest.After(t)
	adaptertest.Run(t, a, testserver.Miniredis(l))
}

// OnRedis plays all statements on a redis-server.
func OnRedis(t *testing.T, a adaptertest.Adapter) {
	t.Helper()
	addr, l := redistest.Server(t), launcher(t)
	leaktest.After(t)
	adaptertest.Run(t, a, testserver.Redis(addr, l))
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
