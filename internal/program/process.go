package program

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// patience is how long a process may take to end in order.
const patience = time.Minute

// Process is a program that runs in a process of its own.
type Process struct {
	name  string
	cmd   *exec.Cmd
	url   string
	log   *tail
	tie   io.Closer // its standard input: closed, it ends
	ended chan struct{}
	state error // of Wait, once ended is closed

	once   sync.Once
	killed bool
	result error
}

// Start starts the program with flags and waits until it listens. A program that
// ends before is an error with what it said.
func (p *Program) Start(flags ...string) (*Process, error) {
	if err := p.Build(); err != nil {
		return nil, err
	}
	r := &Process{name: p.name(), cmd: exec.Command(p.path(), flags...), log: &tail{}, ended: make(chan struct{})}
	r.cmd.Stderr = r.log
	r.cmd.Env = append(os.Environ(), p.Env...)
	stdout, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if r.tie, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", r.name, err)
	}
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadString('\n')
	go func() {
		_, _ = io.Copy(io.Discard, lines) // until it ends
		r.state = r.cmd.Wait()
		close(r.ended)
	}()
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		r.Kill()
		return nil, fmt.Errorf("%s did not start: %s%s", r.name, line, r.log)
	}
	r.url = url
	return r, nil
}

// URL is where it listens.
func (r *Process) URL() string { return r.url }

// ID is its process id.
func (r *Process) ID() int { return r.cmd.Process.Pid }

// Log is what it wrote to its standard error so far.
func (r *Process) Log() string { return r.log.String() }

// Kill is kill -9.
func (r *Process) Kill() {
	r.killed = true
	_ = r.cmd.Process.Kill() // it may have ended by itself
	<-r.ended
	_ = r.tie.Close()
}

// Pause stops it for so long, as a machine does that has other things to do.
func (r *Process) Pause(d time.Duration) {
	if r.cmd.Process.Signal(syscall.SIGSTOP) == nil {
		<-time.After(d)
		_ = r.cmd.Process.Signal(syscall.SIGCONT) // it may have been killed meanwhile
	}
}

// Died waits until it has ended by itself, or for d; it says whether it has.
func (r *Process) Died(d time.Duration) bool {
	select {
	case <-r.ended:
		r.killed = true
		_ = r.tie.Close()
		return true
	case <-time.After(d):
		return false
	}
}

// Stop asks it to end, and reports how it did; what is called again reports the
// same. A process that was killed, or has [Process.Died], ends as it was to.
func (r *Process) Stop() error {
	r.once.Do(func() {
		if !r.killed {
			r.result = r.end()
		}
		if log := r.log.String(); strings.Contains(log, "DATA RACE") {
			r.result = errors.Join(r.result, fmt.Errorf("%s had a data race:\n%s", r.name, log))
		}
	})
	return r.result
}

func (r *Process) end() error {
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	defer func() { _ = r.tie.Close() }()
	select {
	case <-r.ended:
	case <-time.After(patience):
		_ = r.cmd.Process.Kill()
		<-r.ended
		return fmt.Errorf("%s did not end within %v of SIGTERM", r.name, patience)
	}
	if r.state != nil {
		return fmt.Errorf("%s ended badly: %w\n%s", r.name, r.state, r.log)
	}
	return nil
}

// tail keeps what a process wrote.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.Write(p)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}
