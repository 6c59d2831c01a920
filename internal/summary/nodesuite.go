package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// npmScripts are the scripts of frontend/package.json that are run, in order,
// where they exist.
var npmScripts = []string{"test", "test:browser", "test:shop"}

// nodeSuite runs the checks of the browser code: `npm ci`, then the scripts. A
// repository without frontend/package.json has none.
func nodeSuite(ctx context.Context, root string, o options, w io.Writer) []*suite {
	dir := filepath.Join(root, "frontend")
	scripts, err := readScripts(filepath.Join(dir, "package.json"))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return []*suite{{name: "frontend", results: []result{{pkg: "frontend", outcome: failed, why: err.Error()}}}}
	}
	if !nodeIsNew(ctx) {
		why := fmt.Sprintf("Node.js %d or newer with npm is not installed", nodeFloor)
		return []*suite{{name: "frontend", results: []result{{pkg: "frontend", outcome: skipped, why: why}}}}
	}
	names := npmScripts
	if o.drill {
		names = append(names[:len(names):len(names)], "drill")
	}
	if !installed(dir) {
		if s := npm(ctx, dir, w, "ci", "--no-audit", "--no-fund"); s.count(failed) > 0 {
			return []*suite{s}
		}
	}
	var suites []*suite
	for _, name := range names {
		if _, ok := scripts[name]; !ok || ctx.Err() != nil {
			continue
		}
		if strings.HasPrefix(name, "test:") && onPath(chromiums) == "" {
			suites = append(suites, &suite{name: "frontend npm run " + name, results: []result{{
				pkg: "frontend", name: "npm run " + name, outcome: skipped, why: "Chromium is not installed: " + installLine("chromium"),
			}}})
			continue
		}
		suites = append(suites, npm(ctx, dir, w, "run", name))
	}
	return suites
}

// installed tells whether node_modules is what package-lock.json asks for: npm
// leaves a list of what it installed, newer than the lock it went by.
func installed(dir string) bool {
	lock, err := os.Stat(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return false
	}
	list, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json"))
	return err == nil && !list.ModTime().Before(lock.ModTime())
}

// readScripts returns the scripts of a package.json.
func readScripts(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var p struct{ Scripts map[string]string }
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("reading frontend/package.json: %w", err)
	}
	return p.Scripts, nil
}

// npm runs one npm command and reads the tests out of what it prints. A command
// that runs no test of node:test counts as one test itself.
func npm(ctx context.Context, dir string, w io.Writer, args ...string) *suite {
	what := "npm " + args[0]
	if args[0] == "run" {
		what += " " + args[1]
	}
	s := &suite{name: "frontend " + what, packages: 1}
	fmt.Fprintf(w, "\n%s in frontend\n", what)
	started := time.Now()
	cmd := exec.CommandContext(ctx, "npm", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "NO_UPDATE_NOTIFIER=1", "npm_config_update_notifier=false")
	var read nodeReader
	var said keep
	out, wait := lines(cmd)
	each(out, func(line string) bool {
		said.add(line)
		read.line(line)
		return false
	}, func() { fmt.Fprintf(w, "  …     %d tests so far\n", len(read.results)) })
	err := wait()
	s.results, s.took = read.results, time.Since(started)
	if err != nil && s.count(failed) == 0 {
		s.results = append(s.results, result{pkg: "frontend", name: what, outcome: failed, took: s.took, why: said.String() + err.Error()})
	}
	if len(s.results) == 0 {
		s.results = []result{{pkg: "frontend", name: what, took: s.took}}
	}
	end := pkgEnd{pkg: what, passed: s.count(passed), failed: s.count(failed), skipped: s.count(skipped), took: s.took}
	for _, r := range s.results {
		if r.outcome == failed {
			end.names = append(end.names, r.name)
		}
	}
	fmt.Fprintln(w, end.line())
	return s
}
