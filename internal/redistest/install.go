package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// find returns the path of a program, installs the package that brings it, or
// skips the test.
func find(t testing.TB, program string) string {
	t.Helper()
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	path, err := install(program)
	switch line := "sudo apt-get install -y " + program; {
	case err == nil:
		return path
	case os.Getenv("CI") == "true":
		t.Fatalf("no %s (%v), and with CI=true nothing is left out: %s", program, err, line)
	default:
		t.Skipf("no %s (%v): %s", program, err, line)
	}
	return ""
}

// installs are what was tried, each package once in a test program, whatever came
// of it.
var installs struct {
	sync.Mutex
	failed map[string]error
}

// install installs a program; its package has the same name.
func install(program string) (string, error) {
	installs.Lock()
	defer installs.Unlock()
	if err, tried := installs.failed[program]; tried {
		return "", err
	}
	path, err := installOnce(program)
	if err != nil {
		if installs.failed == nil {
			installs.failed = map[string]error{}
		}
		installs.failed[program] = err
	}
	return path, err
}

func installOnce(program string) (string, error) {
	switch {
	case os.Getenv("IDEM_INSTALL") == "0":
		return "", errors.New("IDEM_INSTALL=0")
	case os.Geteuid() != 0:
		return "", errors.New("not root, so it is not installed by itself")
	}
	fmt.Fprintf(os.Stderr, "redistest: no %s here: installing it by apt-get (IDEM_INSTALL=0 forbids that)\n", program)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	for _, args := range [][]string{{"update", "-q"}, {"install", "-y", "-q", "--no-install-recommends", program}} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil && args[0] == "install" {
			fmt.Fprintln(os.Stderr, tail(out))
			return "", fmt.Errorf("apt-get install: %w", err)
		}
	}
	return exec.LookPath(program)
}

func tail(out []byte) string { return string(out[max(0, len(out)-2000):]) }
