package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// The rows of Fiber v3's middleware, measured by a program in a module of its own:
// see its package comment.
var fiberV3Rows = []struct{ name, row string }{
	{"fiber v3, bare", "bare"},
	{"fiber v3's middleware, no key sent", "no key"},
	{"fiber v3's middleware, first", "first"},
	{"fiber v3's middleware, replay", "replay"},
}

// buildFiberV3 builds the program and returns where it is and how to throw it away.
func buildFiberV3() (path string, end func(), err error) {
	_, here, _, _ := runtime.Caller(0)
	source := filepath.Join(filepath.Dir(here), "fiberv3")
	if _, err := os.Stat(source); err != nil {
		return "", nil, fmt.Errorf("its source is not where it was: %w", err)
	}
	dir, err := os.MkdirTemp("", "idem-bench")
	if err != nil {
		return "", nil, err
	}
	end = func() { _ = os.RemoveAll(dir) }
	path = filepath.Join(dir, "fiberv3")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir, build.Env = source, append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		end()
		return "", nil, fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, end, nil
}

// memoryWithFiberV3 has Fiber v3's rows among those in memory. Where they cannot be
// built it says so and goes on without them.
func memoryWithFiberV3(context.Context, string) (*group, error) {
	g, err := memoryRows()
	if err != nil {
		return nil, err
	}
	path, gone, err := buildFiberV3()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Fiber v3 is left out:", err)
		return g, nil
	}
	var version string
	c, err := startChild("Fiber v3's program", exec.Command(path), &version)
	if err != nil {
		gone()
		g.end()
		return nil, err
	}
	end := g.end
	g.end = func() { c.stop(); gone(); end() }
	for _, r := range fiberV3Rows {
		g.rows = append(g.rows, row{name: r.name, itself: func(length time.Duration) (figure, error) {
			return c.round(r.row, length)
		}})
	}
	return g, nil
}

// round has the program measure a row once.
func (c *child) round(row string, length time.Duration) (figure, error) {
	var u struct {
		Calls, Mallocs uint64
		Took, CPU      time.Duration
	}
	if err := c.ask(fmt.Sprintf(`{"Row":%q,"Length":%d}`, row, length), &u); err != nil {
		return nil, err
	}
	if u.Calls == 0 {
		return nil, errors.New("nothing was done")
	}
	return spent{u.CPU, u.Mallocs}.since(spent{}, u.Took, 1, float64(u.Calls)), nil
}
