package proof

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Launcher starts proof servers as processes. It builds their program once, and
// without the race detector: leases of less than a second are what is looked at,
// and internal/drill looks for races. The zero value is ready, Close removes the
// program.
type Launcher struct {
	// Env is added to the environment of the processes, such as a rule to break.
	Env []string

	once sync.Once
	dir  string
	err  error
}

// Close removes what was built.
func (l *Launcher) Close() {
	if l.dir != "" {
		_ = os.RemoveAll(l.dir)
	}
}

func (l *Launcher) build() error {
	l.once.Do(func() {
		if l.dir, l.err = os.MkdirTemp("", "proofserver-"); l.err != nil {
			return
		}
		out, err := exec.Command("go", "build", "-o", l.program(), "github.com/go-idem/idem/internal/proof/cmd/proofserver").CombinedOutput()
		if err != nil {
			l.err = fmt.Errorf("building the proof server: %w\n%s", err, out)
		}
	})
	return l.err
}

func (l *Launcher) program() string { return filepath.Join(l.dir, "proofserver") }

// process is a server in a process of its own.
type process struct {
	cmd   *exec.Cmd
	url   string
	tie   io.Closer     // its standard input: closed, it ends
	log   *bytes.Buffer // complete once ended is closed
	ended chan struct{}
	state error // of Wait, once ended is closed
}

// start starts a server and waits until it listens.
func (l *Launcher) start(flags ...string) (*process, error) {
	if err := l.build(); err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(l.program(), flags...), log: &bytes.Buffer{}, ended: make(chan struct{})}
	p.cmd.Stderr = p.log
	p.cmd.Env = append(os.Environ(), l.Env...)
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.tie, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting a proof server: %w", err)
	}
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadString('\n')
	go func() {
		_, _ = io.Copy(io.Discard, lines) // until it ends
		p.state = p.cmd.Wait()
		close(p.ended)
	}()
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		p.kill()
		return nil, fmt.Errorf("a proof server did not start: %s%s", line, p.log)
	}
	p.url = url
	return p, nil
}

// kill is kill -9.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.ended
	_ = p.tie.Close()
}

// pause stops it for so long, as a machine does that has other things to do.
func (p *process) pause(d time.Duration) {
	if p.cmd.Process.Signal(syscall.SIGSTOP) == nil {
		<-time.After(d)
		_ = p.cmd.Process.Signal(syscall.SIGCONT) // it may have been killed meanwhile
	}
}

// stop asks it to end and reports how it did.
func (p *process) stop() error {
	_ = p.tie.Close()
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		p.kill()
		return errors.New("a proof server did not end within 20 s")
	}
	if p.state != nil {
		return fmt.Errorf("a proof server ended badly: %w\n%s", p.state, p.log)
	}
	return nil
}
