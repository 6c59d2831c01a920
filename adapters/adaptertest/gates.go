package adaptertest

import (
	"sync"
	"time"
)

// Gates hold scripted handlers (header Do-Gate) until somebody opens them, so
// that a statement about "while the first still runs" needs no sleep. A gate
// that was opened stays open. Safe for concurrent use; the zero value is ready.
type Gates struct {
	mu   sync.Mutex
	list map[string]*gate
}

type gate struct {
	arrived int
	isOpen  bool
	opened  chan struct{}
}

// longestWait is how long a gate that nobody opens holds a handler.
const longestWait = time.Minute

func (g *Gates) get(name string) *gate {
	if g.list == nil {
		g.list = map[string]*gate{}
	}
	if g.list[name] == nil {
		g.list[name] = &gate{opened: make(chan struct{})}
	}
	return g.list[name]
}

// wait holds its caller until the gate is opened.
func (g *Gates) wait(name string) {
	g.mu.Lock()
	gate := g.get(name)
	gate.arrived++
	g.mu.Unlock()
	select {
	case <-gate.opened:
	case <-time.After(longestWait):
	}
}

// Open opens a gate.
func (g *Gates) Open(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if gate := g.get(name); !gate.isOpen {
		gate.isOpen = true
		close(gate.opened)
	}
}

// OpenAll opens every gate that was named so far.
func (g *Gates) OpenAll() {
	g.mu.Lock()
	names := make([]string, 0, len(g.list))
	for name := range g.list {
		names = append(names, name)
	}
	g.mu.Unlock()
	for _, name := range names {
		g.Open(name)
	}
}

// Arrived is how many handlers have come to the gate so far.
func (g *Gates) Arrived(name string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.get(name).arrived
}
