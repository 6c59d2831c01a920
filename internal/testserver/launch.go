package testserver

import (
	"strconv"
	"strings"
	"sync"

	"github.com/go-idem/idem/adapters/adaptertest"
	"github.com/go-idem/idem/internal/program"
)

// Launcher starts test servers as processes. It builds their program once, with
// the race detector if the test has it. The zero value is ready; Close removes
// the program.
type Launcher struct {
	// Env is added to the environment of the processes, such as a rule to break.
	Env []string

	once sync.Once
	main *program.Program
}

// Process is a test server in a process of its own. It is an adaptertest.Node.
type Process = program.Process

func (l *Launcher) program() *program.Program {
	l.once.Do(func() {
		l.main = &program.Program{Package: "github.com/go-idem/idem/internal/testserver/cmd/testserver", Race: program.RaceDetected(), Env: l.Env}
	})
	return l.main
}

// Build builds the program, if that was not done yet.
func (l *Launcher) Build() error { return l.program().Build() }

// Close removes what was built.
func (l *Launcher) Close() { l.program().Close() }

// Start starts the program with flags (see [Main]) and waits until it listens.
func (l *Launcher) Start(flags ...string) (*Process, error) { return l.program().Start(flags...) }

// node starts a server for a scene.
func (l *Launcher) node(sh *adaptertest.Shared, adapter string, o adaptertest.NodeOptions) (adaptertest.Node, error) {
	args := append([]string{
		"-adapter", adapter, "-suite", "-control", "-tied", "-call", o.Call().String(), "-ledger", o.Ledger,
		"-clock-offset", o.ClockOffset.String(), "-past", o.Past.String(), "-name-key", o.NameKey,
	}, sh.Flags...)
	for _, ring := range []struct {
		flag string
		ids  []int
	}{{"-ring", o.Ring}, {"-sealing", o.Sealing}} {
		if len(ring.ids) == 0 {
			continue
		}
		ids := make([]string, len(ring.ids))
		for i, id := range ring.ids {
			ids[i] = strconv.Itoa(id)
		}
		args = append(args, ring.flag, strings.Join(ids, ","))
	}
	return l.Start(args...)
}

// miniredis starts a Mini as a process.
func (l *Launcher) miniredis() (*miniProcess, error) {
	p, err := l.Start("-tied", "-serve-miniredis")
	if err != nil {
		return nil, err
	}
	return &miniProcess{addr: strings.TrimPrefix(p.URL(), "http://"), process: p}, nil
}

type miniProcess struct {
	addr    string
	process *Process
}

func (m *miniProcess) stop() { m.process.Kill() }
