package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// startLimit bounds how long a server may take to answer.
const startLimit = time.Minute

// shared is the server that all tests of this program use together. It lives as
// long as any of them does.
var shared struct {
	mu    sync.Mutex
	users int
	*server
}

// Server returns the address of a real redis-server, without persistence and
// with maxmemory-policy noeviction, that this test program shares. It is empty
// when its first user gets it; tests that run at once use names of their own, or
// [Flush] where they are alone. It ends when its last user does.
func Server(t testing.TB) (addr string) {
	t.Helper()
	path := find(t, "redis-server")
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.users == 0 {
		s, err := start(path)
		if err != nil {
			t.Fatal(err)
		}
		shared.server = s
	}
	shared.users++
	t.Cleanup(func() {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		if shared.users--; shared.users == 0 {
			shared.stop()
			shared.server = nil
		}
	})
	return shared.addr
}

// Start starts a redis-server for this test alone, with arguments of its own, and
// returns its address and how to stop it before the test ends.
func Start(t testing.TB, args ...string) (addr string, stop func()) {
	t.Helper()
	s, err := start(find(t, "redis-server"), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s.addr, s.stop
}

// Launch starts a redis-server for a program that is no test, such as the
// benchmarks, and returns its address and how to end it. It installs nothing.
func Launch(args ...string) (addr string, stop func(), err error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return "", nil, fmt.Errorf("redistest: %w: sudo apt-get install -y redis-server", err)
	}
	s, err := start(path, args...)
	if err != nil {
		return "", nil, err
	}
	return s.addr, s.stop, nil
}

// FreeAddr returns a loopback address on which nothing listens.
func FreeAddr(t testing.TB) string {
	t.Helper()
	addr, err := freeAddr()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("redistest: no free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// Flush empties the server at addr.
func Flush(t testing.TB, addr string) {
	t.Helper()
	if got := Do(t, addr, "FLUSHALL"); got != "+OK" {
		t.Fatalf("redistest: FLUSHALL: %s", got)
	}
}

// Do sends one command on a connection of its own and returns the reply as it
// stands on the wire, without its last line end. It is for what a test has to do
// behind the back of what it tests.
func Do(t testing.TB, addr string, args ...string) string {
	t.Helper()
	reply, err := do(addr, args...)
	if err != nil {
		t.Fatalf("redistest: %s: %v", args[0], err)
	}
	return reply
}

func do(addr string, args ...string) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	var request strings.Builder
	fmt.Fprintf(&request, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&request, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(conn, request.String()); err != nil {
		return "", err
	}
	reply, err := readFrame(bufio.NewReader(conn))
	return strings.TrimSuffix(string(reply), "\r\n"), err
}

// server is a running redis-server.
type server struct {
	addr string
	stop func()
}

// start starts a server and waits until it answers. A port that somebody else
// took meanwhile is tried again with another.
func start(path string, args ...string) (s *server, err error) {
	for range 3 {
		if s, err = startOnce(path, args); err == nil {
			return s, nil
		}
	}
	return nil, err
}

func startOnce(path string, args []string) (*server, error) {
	return launch(path, plainly(args))
}

// plainly makes the arguments of a server without persistence.
func plainly(more []string) func(port, dir string) ([]string, error) {
	return func(port, dir string) ([]string, error) {
		return append([]string{
			"--bind", "127.0.0.1", "--port", port, "--dir", dir, "--daemonize", "no",
			"--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction",
		}, more...), nil
	}
}

// launch runs a program on a free port, in a folder of its own, and waits until it
// answers PING. words makes its arguments.
func launch(path string, words func(port, dir string) ([]string, error)) (*server, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	return launchAt(path, addr, words)
}

func launchAt(path, addr string, words func(port, dir string) ([]string, error)) (*server, error) {
	dir, err := os.MkdirTemp("", "redistest")
	if err != nil {
		return nil, fmt.Errorf("redistest: a folder for the server: %w", err)
	}
	_, port, _ := net.SplitHostPort(addr)
	args, err := words(port, dir)
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("redistest: prepare %s: %w", path, err)
	}
	output, err := os.Create(dir + "/log")
	if err != nil {
		return nil, fmt.Errorf("redistest: a log for the server: %w", err)
	}
	defer output.Close()
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = endsWithUs()
	exited, err := run(cmd)
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("redistest: start %s: %w", path, err)
	}
	s := &server{addr: addr, stop: sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		<-exited
		_ = os.RemoveAll(dir)
	})}
	err = answers(addr, exited)
	if err == nil && filepath.Base(path) == "redis-server" {
		err = serves(dir+"/log", exited)
	}
	if err != nil {
		log, _ := os.ReadFile(dir + "/log")
		s.stop()
		return nil, fmt.Errorf("redistest: the server at %s: %w\n%s", addr, err, tail(log))
	}
	return s, nil
}

// run starts a command from a thread that stays until it has exited: on Linux a
// child is told of the end of the thread that started it.
func run(cmd *exec.Cmd) (exited chan struct{}, err error) {
	exited, started := make(chan struct{}), make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(exited)
	}()
	return exited, <-started
}

// answers waits until a server answers PING, if only that it wants a password.
func answers(addr string, exited <-chan struct{}) error {
	deadline := time.Now().Add(startLimit)
	for {
		reply, err := do(addr, "PING")
		if err == nil && (reply == "+PONG" || strings.HasPrefix(reply, "-NOAUTH")) {
			return nil
		}
		select {
		case <-exited:
			return errors.New("it exited at once")
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no answer to PING within %v: %q, %v", startLimit, reply, err)
		}
	}
}

// serves waits until a redis-server has said that it accepts connections: what
// answers at its address may be the server of another program, which took the port
// between our finding it free and our server's asking for it.
func serves(log string, exited <-chan struct{}) error {
	for deadline := time.Now().Add(startLimit); ; {
		said, err := os.ReadFile(log)
		if strings.Contains(string(said), "eady to accept connections") || strings.Contains(string(said), "Sentinel ID is") {
			return nil
		}
		select {
		case <-exited:
			return errors.New("it exited at once")
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("it does not say within %v that it accepts connections: %w", startLimit, err)
		}
	}
}
