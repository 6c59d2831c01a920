// Package program builds a program of this repository and runs it as processes
// that a test may kill, pause or stop.
//
//	p := program.Program{Package: "github.com/go-idem/idem/internal/proof/cmd/proofserver"}
//	defer p.Close()
//	server, err := p.Start("-lease", "1s")
//
// A program says "listening on URL" in its first line once it listens, ends on
// SIGTERM, and ends when its standard input does, so that none is left behind by
// a test that was killed.
package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"sync"
)

// Program is a main package. It is built once, at its first use; Close removes
// what was built. It may be used from any goroutine.
type Program struct {
	Package string   // its import path
	Race    bool     // with the race detector
	Env     []string // added to the environment of its processes

	once sync.Once
	dir  string
	err  error
}

// Build builds the program, if that was not done yet. Tests call it first: one
// failure says more than fifty.
func (p *Program) Build() error {
	p.once.Do(func() {
		if p.dir, p.err = os.MkdirTemp("", "program-"); p.err != nil {
			return
		}
		args := []string{"build", "-o", p.path()}
		if p.Race {
			args = append(args, "-race")
		}
		if out, err := exec.Command("go", append(args, p.Package)...).CombinedOutput(); err != nil {
			p.err = fmt.Errorf("building %s: %w\n%s", p.name(), err, out)
		}
	})
	return p.err
}

func (p *Program) name() string { return filepath.Base(p.Package) }

func (p *Program) path() string { return filepath.Join(p.dir, p.name()) }

// Close removes what was built. Processes end by themselves with their test.
func (p *Program) Close() {
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
}

// RaceDetected tells whether this very program was built with the race detector.
func RaceDetected() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}
