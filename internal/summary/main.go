// Command summary runs every test of the repository and says, at the end and in
// plain words, what ran, what failed, what was skipped and why, and which ten
// tests were the slowest. It stands behind `make test`, `make race` and
// `make drill`:
//
//	go run ./internal/summary                    every module, then the browser code
//	go run ./internal/summary -only go ./core/...  some packages, Go only
//	go run ./internal/summary -only prepare      only see to what the tests need
//
// Why not plain `go test ./...`: that walks one module and hides skipped tests,
// so that a machine without redis-server looks as green as one with it. Here a
// skip is printed by name with its reason, and with CI=true in the environment
// one that is not allowed (see allowedSkip) fails the run.
//
// The last line is always of the form
//
//	841 passed, 0 failed, 2 skipped
//
// and the exit status is 0 only if something passed, nothing failed and no skip
// was out of order. What goes wrong most: a package that does not build counts
// as one failed test named after the package, and a panic outside a test's own
// goroutine shows as "did not finish" at the test that was running.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// options are the command line: what to run and how.
type options struct {
	only    string        // "", "go", "js" or "prepare"
	race    bool          // with the race detector, where a C compiler is there
	drill   bool          // long forms: IDEM_DRILL=1 and `npm run drill`
	run     string        // as `go test -run`
	timeout time.Duration // for one package
	pkgs    []string      // packages, relative to the root; none: every module
}

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "run only `part`: go, js or prepare")
	flag.BoolVar(&o.race, "race", true, "run Go tests with the race detector")
	flag.BoolVar(&o.drill, "drill", false, "run the long form of every drill")
	flag.StringVar(&o.run, "run", "", "run only Go tests that match `regexp`")
	flag.DurationVar(&o.timeout, "timeout", 0, "limit for one package (default 10m, with -drill 60m)")
	flag.Parse()
	o.pkgs = flag.Args()
	if o.timeout == 0 {
		o.timeout = 10 * time.Minute
		if o.drill {
			o.timeout = time.Hour
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := runAll(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "summary:", err)
	}
	if err != nil || !ok {
		stop()
		os.Exit(1)
	}
}

// runAll prepares the machine, runs the suites one after the other and prints
// the report. It returns false where the report calls the run failed, and an
// error where nothing could be run at all.
func runAll(ctx context.Context, o options) (bool, error) {
	root, err := findRoot()
	if err != nil {
		return false, err
	}
	switch o.only {
	case "", "go", "js", "prepare":
	default:
		return false, fmt.Errorf("-only %q: want go, js or prepare", o.only)
	}
	thisMachine(root).prepare(ctx, os.Stdout)
	if o.only == "prepare" {
		return true, nil
	}
	fmt.Printf("%s on %s/%s, %d processors\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	started := time.Now()
	r := &report{ci: os.Getenv("CI") == "true"}
	if o.only != "js" {
		if err := goSuites(ctx, root, o, r, os.Stdout); err != nil {
			return false, err
		}
	}
	if o.only != "go" && len(o.pkgs) == 0 && ctx.Err() == nil {
		r.suites = append(r.suites, nodeSuite(ctx, root, o, os.Stdout)...)
	}
	if ctx.Err() != nil {
		r.notes = append(r.notes, "the run was interrupted: what follows is not the whole")
		r.broken = true
	}
	r.took = time.Since(started)
	r.print(os.Stdout)
	return r.ok(), nil
}

// findRoot walks up from the working directory to the folder with go.work.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no go.work above the working directory: start this inside the repository")
		}
		dir = up
	}
}

// modules lists the folders named in go.work, relative to the root, in its order.
func modules(ctx context.Context, root string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}")
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the modules of go.work: %w", err)
	}
	var dirs []string
	for line := range strings.Lines(string(out)) {
		rel, err := filepath.Rel(root, strings.TrimSpace(line))
		if err != nil {
			return nil, fmt.Errorf("module folder outside the repository: %w", err)
		}
		dirs = append(dirs, filepath.ToSlash(rel))
	}
	return dirs, nil
}
