package adaptertest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// scene is where one statement is played: an empty store, the servers it asked
// for, and a file in which every run of a handler is written down.
type scene struct {
	adapter Adapter
	backend Backend
	shared  *Shared
	ledger  string
	client  *http.Client

	mu       sync.Mutex
	nodes    []Node
	failures []string
	gates    int
	quick    bool
	slowly   int // how many times as long its short leases are
	patience time.Duration
	ago      time.Duration // how far in the past its servers live
}

// patience bounds every wait for something that has to happen.
const patience = 15 * time.Second

func newScene(adapter Adapter, backend Backend, slowly int) (*scene, error) {
	shared, err := backend.Open()
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", backend.Name, err)
	}
	patience := patience * time.Duration(min(slowly, 3))
	dir, err := os.MkdirTemp("", "adaptertest-")
	if err != nil {
		closeShared(shared)
		return nil, err
	}
	return &scene{
		adapter: adapter, backend: backend, shared: shared, ledger: filepath.Join(dir, "ledger"), slowly: slowly, patience: patience,
		client: &http.Client{
			Timeout:       patience,
			Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// strike takes the scene down: servers, store, file.
func (s *scene) strike() {
	s.client.CloseIdleConnections()
	s.mu.Lock()
	nodes := slices.Clone(s.nodes)
	s.mu.Unlock()
	for _, n := range nodes {
		if err := n.Stop(); err != nil {
			s.errorf("a server did not end in order: %v", err)
		}
	}
	closeShared(s.shared)
	_ = os.RemoveAll(filepath.Dir(s.ledger))
}

func closeShared(sh *Shared) {
	if sh.Close != nil {
		sh.Close()
	}
}

// errorf notes a failure and goes on.
func (s *scene) errorf(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if _, file, at, ok := runtime.Caller(callersUp()); ok {
		line = fmt.Sprintf("%s:%d: %s", filepath.Base(file), at, line)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, line)
}

// fatalf notes a failure and ends the statement.
func (s *scene) fatalf(format string, args ...any) {
	s.errorf(format, args...)
	runtime.Goexit()
}

// callersUp counts how far up the nearest caller is that plays a statement: a
// failure is of use where the statement is written, not in what it calls.
func callersUp() int {
	machinery := []string{"scene.go", "client.go", "raw.go", "answers.go", "time.go", "suite.go", "panic.go"}
	for up := 2; up < 20; up++ {
		_, file, _, ok := runtime.Caller(up)
		if ok && !slices.Contains(machinery, filepath.Base(file)) {
			return up - 1
		}
	}
	return 2
}

// soFar ends a statement that has failed already, ahead of a part that takes long.
func (s *scene) soFar() {
	if len(s.failed()) > 0 {
		runtime.Goexit()
	}
}

func (s *scene) failed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.failures)
}

// logs returns the last lines of every server's log.
func (s *scene) logs(last int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out strings.Builder
	for i, n := range s.nodes {
		lines := strings.Split(strings.TrimSpace(n.Log()), "\n")
		lines = lines[max(0, len(lines)-last):]
		fmt.Fprintf(&out, "server %d:\n%s\n", i, strings.Join(lines, "\n"))
	}
	return out.String()
}

// server starts a server in this process.
func (s *scene) server(o NodeOptions) Node {
	n, err := s.tryServer(o)
	if err != nil {
		s.fatalf("starting a server: %v", err)
	}
	return n
}

// tryServer returns the error with which a server does not start.
func (s *scene) tryServer(o NodeOptions) (Node, error) {
	o.Ledger, o.Patience = s.ledger, s.slowly
	n, err := startGuard(s.adapter, s.shared, o)
	if err != nil {
		return nil, err
	}
	s.keep(n, o)
	return n, nil
}

// process starts a server as a process of its own, where the store lives
// outside this one; else a guard of its own that shares the store.
func (s *scene) process(o NodeOptions) Node {
	n, err := s.tryProcess(o)
	if err != nil {
		s.fatalf("starting a process: %v", err)
	}
	return n
}

func (s *scene) tryProcess(o NodeOptions) (Node, error) {
	if s.backend.Launch == nil {
		return s.tryServer(o)
	}
	o.Ledger, o.Patience = s.ledger, s.slowly
	n, err := s.backend.Launch(s.shared, s.adapter.Name, o)
	if err != nil {
		return nil, err
	}
	s.keep(n, o)
	return n, nil
}

func (s *scene) keep(n Node, o NodeOptions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes = append(s.nodes, n)
	s.quick = s.quick || o.Quick
}

// isQuick tells whether a server of the scene has little time for its store.
func (s *scene) isQuick() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.quick
}

// runs is how often a handler ran for a path, in all servers of the scene
// together, the killed ones too.
func (s *scene) runs(path string) int {
	runs, err := readLedger(s.ledger)
	if err != nil {
		s.fatalf("reading the ledger of runs: %v", err)
	}
	return runs[path]
}

// wantRuns says how often a handler has run for a path.
func (s *scene) wantRuns(path string, want int) {
	if got := s.runs(path); got != want {
		s.errorf("the handler ran %d times for %s, want %d", got, path, want)
	}
}

// until asks again until yes says yes; after the scene's patience the statement
// fails for want of what. It is no sleep that hopes: it ends when it happens.
func (s *scene) until(what string, yes func() bool) {
	deadline := time.Now().Add(s.patience)
	for !yes() {
		if time.Now().After(deadline) {
			s.fatalf("waited %v in vain for %s", s.patience, what)
		}
		s.soFar() // what was asked may have failed by itself
		time.Sleep(5 * time.Millisecond)
	}
}

// gate makes up the name of a gate.
func (s *scene) gate() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gates++
	return fmt.Sprintf("gate%d", s.gates)
}

// lease is the lease of the suite's policies on a server of these options.
func (s *scene) lease(o NodeOptions) time.Duration {
	o.Patience = s.slowly
	return ShortLease(s.describe(o))
}
