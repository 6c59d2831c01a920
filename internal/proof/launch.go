package proof

import (
	"sync"

	"github.com/go-idem/idem/internal/program"
)

// Launcher starts proof servers as processes. It builds their program once, and
// without the race detector: leases of less than a second are what is looked at,
// and internal/drill looks for races. The zero value is ready, Close removes the
// program.
type Launcher struct {
	// Env is added to the environment of the processes, such as a rule to break.
	Env []string

	once sync.Once
	main *program.Program
}

func (l *Launcher) program() *program.Program {
	l.once.Do(func() {
		l.main = &program.Program{Package: "github.com/go-idem/idem/internal/proof/cmd/proofserver", Env: l.Env}
	})
	return l.main
}

// Close removes what was built.
func (l *Launcher) Close() { l.program().Close() }

// start starts a server and waits until it listens.
func (l *Launcher) start(flags ...string) (*program.Process, error) {
	return l.program().Start(flags...)
}
