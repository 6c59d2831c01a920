package testserver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-idem/idem/adapters/adaptertest"
)

// Launcher starts test servers as processes. It builds their program once, with
// the race detector if the test has it. The zero value is ready; Close removes
// the program.
type Launcher struct {
	// Env is added to the environment of the processes, such as a rule to break.
	Env []string

	once sync.Once
	dir  string
	err  error
}

// Build builds the program, if that was not done yet. Tests call it first: one
// failure says more than fifty.
func (l *Launcher) Build() error {
	l.once.Do(func() {
		if l.dir, l.err = os.MkdirTemp("", "testserver-"); l.err != nil {
			return
		}
		args := []string{"build", "-o", l.program()}
		if raceDetected() {
			args = append(args, "-race")
		}
		cmd := exec.Command("go", append(args, "github.com/go-idem/idem/internal/testserver/cmd/testserver")...)
		if out, err := cmd.CombinedOutput(); err != nil {
			l.err = fmt.Errorf("building the test server: %w\n%s", err, out)
		}
	})
	return l.err
}

func (l *Launcher) program() string { return filepath.Join(l.dir, "testserver") }

// Close removes what was built. Processes end by themselves with their tests.
func (l *Launcher) Close() {
	if l.dir != "" {
		_ = os.RemoveAll(l.dir)
	}
}

// raceDetected tells whether this program was built with the race detector.
func raceDetected() bool {
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

// Process is a test server in a process of its own. It is an adaptertest.Node.
type Process struct {
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

// ID is the process's id.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// Start starts the program with flags (see [Main]) and waits until it listens.
// A program that ends before is an error with what it said.
func (l *Launcher) Start(flags ...string) (*Process, error) {
	if err := l.Build(); err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.Command(l.program(), flags...), log: &tail{}, ended: make(chan struct{})}
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
		return nil, fmt.Errorf("starting the test server: %w", err)
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
		_ = p.cmd.Process.Kill()
		<-p.ended
		return nil, fmt.Errorf("the test server did not start: %s%s", line, p.log.String())
	}
	p.url = url
	return p, nil
}

// URL is where it listens.
func (p *Process) URL() string { return p.url }

// Log is what it wrote to its standard error.
func (p *Process) Log() string { return p.log.String() }

// Kill is kill -9.
func (p *Process) Kill() {
	p.killed = true
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.ended
	_ = p.tie.Close()
}

// Stop asks it to end, and reports how it did.
func (p *Process) Stop() error {
	p.once.Do(func() {
		if !p.killed {
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
			select {
			case <-p.ended:
			case <-time.After(20 * time.Second):
				p.result = errors.New("the test server did not end within 20 s of SIGTERM")
				_ = p.cmd.Process.Kill()
				<-p.ended
			}
			_ = p.tie.Close()
			if p.result == nil && p.state != nil {
				p.result = fmt.Errorf("the test server ended badly: %w", p.state)
			}
		}
		if log := p.log.String(); strings.Contains(log, "DATA RACE") {
			p.result = errors.Join(p.result, fmt.Errorf("the test server had a data race:\n%s", log))
		}
	})
	return p.result
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
