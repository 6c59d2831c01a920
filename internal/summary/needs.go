package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// need is something of the machine that some tests run on.
type need struct {
	programs []string // any one of them on the PATH will do
	packages []string // the Debian packages that bring it
	without  string   // what is skipped without it
	frontend bool     // wanted only where frontend/package.json is there
	ok       func(ctx context.Context) bool
}

// needs lists what the tests use beside Go and what the go command fetches.
var needs = []need{
	{programs: []string{"gcc", "cc", "clang"}, packages: []string{"gcc", "libc6-dev"}, without: "the race detector"},
	{programs: []string{"redis-server"}, packages: []string{"redis-server"}, without: "tests on a real Redis"},
	{programs: []string{"nutcracker"}, packages: []string{"nutcracker"}, without: "tests through Twemproxy"},
	{programs: []string{"promtool"}, packages: []string{"prometheus"}, without: "the alert rules' own tests"},
	{programs: []string{"spin"}, packages: []string{"spin"}, without: "the model checker's look at the protocol"},
	{programs: []string{"node"}, packages: []string{"nodejs", "npm"}, without: "the checks of idem.js", frontend: true, ok: nodeIsNew},
	{programs: chromiums, packages: []string{"chromium"}, without: "tests in a browser", frontend: true},
}

// chromiums are the names under which the browser is looked for.
var chromiums = []string{"chromium", "chromium-browser", "google-chrome"}

// nodeFloor is the oldest Node.js that runs the checks of idem.js: the first
// whose test runner counts coverage by branches.
const nodeFloor = 20

// machine is where the tests run.
type machine struct {
	root   string // of the repository
	uid    int    // who runs this: 0 may install
	policy string // see policyFile
}

func thisMachine(root string) machine {
	return machine{root: root, uid: os.Geteuid(), policy: policyFile}
}

// prepare sees to what the tests need: modules, and packages of the
// distribution. It installs packages only as root, says that it does, and never
// with IDEM_INSTALL=0. What cannot be had is said in one line and left to the
// tests, which skip by name: prepare itself never fails the run.
func (m machine) prepare(ctx context.Context, w io.Writer) {
	m.fetchModules(ctx, w)
	missing := m.missing(ctx)
	if len(missing) == 0 {
		return
	}
	var pkgs []string
	for _, n := range missing {
		pkgs = append(pkgs, n.packages...)
		fmt.Fprintf(w, "not on this machine: %s (%s)\n", n.programs[0], n.without)
	}
	if !m.mayInstall() {
		fmt.Fprintf(w, "to run everything, first: %s\n", installLine(pkgs...))
		return
	}
	fmt.Fprintf(w, "installing %s with apt-get (IDEM_INSTALL=0 forbids it)\n", strings.Join(pkgs, " "))
	if err := m.aptInstall(ctx, pkgs); err != nil {
		fmt.Fprintf(w, "not everything was installed: %v\n", err)
	}
}

// fetchModules has the go command download what the tests import, so that a
// slow network shows as such and not as a slow test.
func (m machine) fetchModules(ctx context.Context, w io.Writer) {
	dirs, err := modules(ctx, m.root)
	if err != nil {
		return // goSuites will say so
	}
	for _, dir := range dirs {
		cmd := exec.CommandContext(ctx, "go", "list", "-e", "-deps", "-test", "./...")
		cmd.Dir = filepath.Join(m.root, dir)
		out, wait := lines(cmd)
		each(out, func(line string) bool {
			news := strings.HasPrefix(line, "go: downloading")
			if news {
				fmt.Fprint(w, line)
			}
			return news
		}, func() { fmt.Fprintln(w, "looking up modules for", dir) })
		if err := wait(); err != nil {
			fmt.Fprintf(w, "go list in %s: %v\n", dir, err)
		}
	}
}

// missing lists the needs that are not met.
func (m machine) missing(ctx context.Context) []need {
	_, err := os.Stat(filepath.Join(m.root, "frontend", "package.json"))
	frontend := err == nil
	return slices.DeleteFunc(slices.Clone(needs), func(n need) bool {
		if n.frontend && !frontend {
			return true
		}
		return onPath(n.programs) != "" && (n.ok == nil || n.ok(ctx))
	})
}

// onPath returns the first of the programs that is on the PATH, or "".
func onPath(programs []string) string {
	for _, p := range programs {
		if _, err := exec.LookPath(p); err == nil {
			return p
		}
	}
	return ""
}

// nodeIsNew tells whether node and npm are there and node is not too old.
func nodeIsNew(ctx context.Context) bool {
	out, err := exec.CommandContext(ctx, "node", "--version").Output()
	if err != nil || onPath([]string{"npm"}) == "" {
		return false
	}
	return major(string(out)) >= nodeFloor
}

// major reads the 20 of "v20.1.2" or "20.1.2+dfsg"; 0 where there is none.
func major(version string) int {
	v, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(version), "v"), ".")
	n, err := strconv.Atoi(v)
	if err != nil {
		return 0
	}
	return n
}

// mayInstall tells whether packages may be installed here: as root, on a
// distribution with apt-get, unless IDEM_INSTALL=0.
func (m machine) mayInstall() bool {
	return os.Getenv("IDEM_INSTALL") != "0" && m.uid == 0 && onPath([]string{"apt-get"}) != ""
}

// installLine is the one line a person runs to have the packages.
func installLine(pkgs ...string) string {
	return "sudo apt-get update && sudo apt-get install -y --no-install-recommends " + strings.Join(pkgs, " ")
}

// policyFile is asked by Debian's packages whether they may start the service
// they bring: exit status 101 says no (see invoke-rc.d(8)). Tests start the
// servers they use, on ports of their own; nothing else shall listen.
const policyFile = "/usr/sbin/policy-rc.d"

// aptInstall installs packages without questions and without starting services.
// Packages that the distribution has only in a version too old are left out and
// named in the error.
func (m machine) aptInstall(ctx context.Context, pkgs []string) error {
	if _, err := os.Lstat(m.policy); os.IsNotExist(err) {
		if err := os.WriteFile(m.policy, []byte("#!/bin/sh\nexit 101\n"), 0o755); err == nil {
			defer os.Remove(m.policy)
		}
	}
	if err := apt(ctx, "update"); err != nil {
		return err
	}
	var old error
	if slices.Contains(pkgs, "nodejs") && major(candidate(ctx, "nodejs")) < nodeFloor {
		pkgs = slices.DeleteFunc(slices.Clone(pkgs), func(p string) bool { return p == "nodejs" || p == "npm" })
		old = fmt.Errorf("this distribution has no Node.js %d: install it by hand for the checks of idem.js", nodeFloor)
	}
	if len(pkgs) == 0 {
		return old
	}
	if err := apt(ctx, append([]string{"install", "-y", "--no-install-recommends"}, pkgs...)...); err != nil {
		return err
	}
	return old
}

// apt runs apt-get, waiting for another one that holds its lock, and shows what
// it said only if it failed.
func apt(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-q", "-o", "DPkg::Lock::Timeout=300"}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		tail := out.String()
		if len(tail) > 2000 {
			tail = tail[len(tail)-2000:]
		}
		return fmt.Errorf("apt-get %s: %w\n%s", args[0], err, tail)
	}
	return nil
}

// candidate is the version of a package that apt-get would install, or "".
func candidate(ctx context.Context, pkg string) string {
	cmd := exec.CommandContext(ctx, "apt-cache", "policy", pkg)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(out)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "Candidate: "); ok {
			_, after, found := strings.Cut(v, ":") // an epoch
			if found {
				return after
			}
			return v
		}
	}
	return ""
}
