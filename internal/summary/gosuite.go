package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// modulePath is cut off package names in what is printed.
const modulePath = "github.com/go-idem/idem"

// quiet is how long nothing may be printed before the packages that run are
// named, so that a person sees life.
const quiet = 15 * time.Second

// goSuites runs `go test` in every module of go.work (or once, for the packages
// asked for) and appends what came of it to the report.
func goSuites(ctx context.Context, root string, o options, r *report, w io.Writer) error {
	dirs := []string{"."}
	if len(o.pkgs) == 0 {
		var err error
		if dirs, err = modules(ctx, root); err != nil {
			return err
		}
	}
	race := o.race && hasCompiler(ctx)
	if o.race && !race {
		r.suites = append(r.suites, &suite{name: "race detector", results: []result{{
			pkg: "race detector", outcome: skipped, why: "no C compiler: Go tests run without -race; " + installLine("gcc", "libc6-dev"),
		}}})
	}
	for _, dir := range dirs {
		if ctx.Err() != nil {
			break
		}
		if !hasGo(filepath.Join(root, dir)) {
			fmt.Fprintf(w, "\nno Go file in %s\n", dir) // a module that has yet to be filled
			continue
		}
		s := goSuite(ctx, root, dir, race, o, w)
		r.suites = append(r.suites, s)
		if again := withoutRace(ctx, root, dir, s, o, w); again != nil {
			r.suites = append(r.suites, again)
		}
	}
	return nil
}

// hasGo tells whether a folder holds a Go file, at any depth: go test calls a
// module without one an error.
func hasGo(dir string) bool {
	found := false
	filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(p) == ".go" {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// goSuite runs one module. A `go test` that fails without a failed test (a
// go.mod in disorder, say) becomes a failed result of its own.
func goSuite(ctx context.Context, root, dir string, race bool, o options, w io.Writer) *suite {
	s := &suite{name: dir}
	fmt.Fprintf(w, "\ngo test in %s\n", dir)
	started := time.Now()
	args := []string{"test", "-json", "-shuffle=on", "-timeout=" + o.timeout.String()}
	if race {
		args = append(args, "-race")
	}
	if o.run != "" {
		args = append(args, "-run="+o.run)
	}
	if len(o.pkgs) > 0 {
		args = append(args, o.pkgs...)
	} else {
		args = append(args, "./...")
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root + "/" + dir
	cmd.Env = os.Environ()
	if o.drill {
		cmd.Env = append(cmd.Env, "IDEM_DRILL=1")
	}
	said, err := stream(cmd, w, s)
	if err != nil && s.count(failed) == 0 && ctx.Err() == nil {
		s.results = append(s.results, result{pkg: "go test in " + dir, outcome: failed, why: said + err.Error() + "\n"})
	}
	s.took = time.Since(started)
	return s
}

// stream runs the command, feeds its events to a tally as they come and prints
// a line for each package that ends. It returns what the command said that was
// no event.
func stream(cmd *exec.Cmd, w io.Writer, s *suite) (string, error) {
	var said keep
	printed := false
	t := newTally(modulePath, s, func(e pkgEnd) {
		if !e.empty {
			fmt.Fprintln(w, e.line())
			printed = true
		}
	})
	out, wait := lines(cmd)
	each(out, func(line string) bool {
		printed = false
		var e event
		if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
			said.add(line)
			fmt.Fprintf(w, "  %s", line)
			return true
		}
		t.feed(e)
		return printed
	}, func() {
		now := "compiling"
		if names := t.running(); len(names) > 0 {
			now = strings.Join(names, ", ")
		}
		fmt.Fprintf(w, "  …     %s\n", now)
	})
	return said.String(), wait()
}

// line says how a package ended.
func (e pkgEnd) line() string {
	word := "ok"
	if e.failed > 0 {
		word = "FAIL"
	}
	counts := fmt.Sprintf("%d passed", e.passed)
	if e.failed > 0 {
		counts += fmt.Sprintf(", %d failed", e.failed)
	}
	if e.skipped > 0 {
		counts += fmt.Sprintf(", %d skipped", e.skipped)
	}
	s := fmt.Sprintf("  %-5s %-28s %-32s %7.1f s", word, e.pkg, counts, e.took.Seconds())
	for _, n := range e.names {
		if n != "" {
			s += "\n          failed: " + n
		}
	}
	return s
}
