package spin

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

// installLine is what a person without the checker is told to run.
const installLine = "sudo apt-get install -y spin gcc libc6-dev"

// need fails or skips the test where the checker or a C compiler is missing and
// cannot be installed.
func need(t *testing.T) {
	t.Helper()
	if there() == nil {
		return
	}
	err := install()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("no model checker (%v), and with CI=true nothing is left out: %s", err, installLine)
	default:
		t.Skipf("no model checker (%v): %s", err, installLine)
	}
}

// there says what is missing on the PATH.
func there() error {
	for _, program := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(program); err != nil {
			return err
		}
	}
	return nil
}

// install installs the checker once in a test program, whatever comes of it.
var install = sync.OnceValue(func() error {
	switch {
	case os.Getenv("IDEM_INSTALL") == "0":
		return errors.New("IDEM_INSTALL=0")
	case os.Geteuid() != 0:
		return errors.New("not root, so it is not installed by itself")
	}
	fmt.Fprintln(os.Stderr, "spin: no spin or no gcc here: installing them by apt-get (IDEM_INSTALL=0 forbids that)")
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	for _, args := range [][]string{{"update", "-q"}, {"install", "-y", "-q", "spin", "gcc", "libc6-dev"}} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil && args[0] == "install" {
			fmt.Fprintln(os.Stderr, string(out[max(0, len(out)-2000):]))
			return fmt.Errorf("apt-get install: %w", err)
		}
	}
	return there()
})
