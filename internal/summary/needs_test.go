package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bareMachine is a PATH with nothing on it but stand-ins of the names given.
func bareMachine(t *testing.T, programs map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, script := range programs {
		write(t, dir, name, "#!/bin/sh\n"+script+"\n")
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

func TestWhatIsMissingIsNamedWithTheOneLineToRun(t *testing.T) {
	root := t.TempDir()
	write(t, root, "frontend/package.json", "{}")
	for _, c := range []struct {
		given    string
		programs map[string]string
		want     []string // named as missing
	}{
		{"nothing", nil, []string{"gcc", "redis-server", "nutcracker", "promtool", "spin", "node", "chromium"}},
		{"a C compiler of another name", map[string]string{"cc": ""}, []string{"redis-server", "nutcracker", "promtool", "spin", "node", "chromium"}},
		{"an old Node.js", map[string]string{"cc": "", "redis-server": "", "nutcracker": "", "promtool": "", "spin": "", "chromium": "", "npm": "", "node": "echo v18.20.4"}, []string{"node"}},
		{"Node.js without npm", map[string]string{"cc": "", "redis-server": "", "nutcracker": "", "promtool": "", "spin": "", "chromium": "", "node": "echo v20.1.0"}, []string{"node"}},
		{"everything", map[string]string{"cc": "", "redis-server": "", "nutcracker": "", "promtool": "", "spin": "", "chromium": "", "npm": "", "node": "echo v22.1.0"}, nil},
	} {
		t.Run(c.given, func(t *testing.T) {
			bareMachine(t, c.programs)
			t.Setenv("IDEM_INSTALL", "0")
			var out bytes.Buffer
			machine{root: root}.prepare(t.Context(), &out)
			var named []string
			for line := range strings.Lines(out.String()) {
				if rest, ok := strings.CutPrefix(line, "not on this machine: "); ok {
					name, _, _ := strings.Cut(rest, " ")
					named = append(named, name)
				}
			}
			if got, want := strings.Join(named, " "), strings.Join(c.want, " "); got != want {
				t.Errorf("missing: %q, want %q", got, want)
			}
			if told := strings.Contains(out.String(), "to run everything, first: sudo apt-get"); told != (len(c.want) > 0) {
				t.Errorf("the line to run is there: %v\n%s", told, out.String())
			}
		})
	}
}

func TestWithoutAPageNothingIsNeededForIt(t *testing.T) {
	bareMachine(t, nil)
	for _, n := range (machine{root: t.TempDir()}).missing(t.Context()) {
		if n.frontend {
			t.Errorf("%s is asked for though there is no frontend/package.json", n.programs[0])
		}
	}
}

func TestAnInstallationSaysSoAndAsksForWhatIsMissing(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy-rc.d")
	log := filepath.Join(t.TempDir(), "log")
	bareMachine(t, map[string]string{"cc": "", "spin": "", "apt-get": `echo "$@" >>` + log + `; [ -x ` + policy + ` ] && echo guarded >>` + log})
	t.Setenv("IDEM_INSTALL", "")
	var out bytes.Buffer
	machine{root: t.TempDir(), policy: policy}.prepare(t.Context(), &out)
	if !strings.Contains(out.String(), "installing redis-server nutcracker prometheus with apt-get") {
		t.Errorf("it said %q", out.String())
	}
	said, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(said); !strings.Contains(s, "update") || !strings.Contains(s, "install -y --no-install-recommends redis-server nutcracker") || !strings.Contains(s, "guarded") {
		t.Errorf("apt-get was asked %q", s)
	}
	if _, err := os.Stat(policy); !os.IsNotExist(err) {
		t.Errorf("what kept services from starting is left behind: %v", err)
	}
}

func TestVersionsAreReadByTheirFirstNumber(t *testing.T) {
	for version, want := range map[string]int{"v20.20.2\n": 20, "18.20.4+dfsg-1": 18, "(none)": 0, "": 0} {
		if got := major(version); got != want {
			t.Errorf("%q reads as %d, want %d", version, got, want)
		}
	}
}

func TestOnlyRootInstalls(t *testing.T) {
	bareMachine(t, map[string]string{"apt-get": "echo called; exit 1"})
	t.Setenv("IDEM_INSTALL", "")
	var out bytes.Buffer
	machine{root: t.TempDir(), uid: 1000}.prepare(t.Context(), &out)
	if strings.Contains(out.String(), "installing") || !strings.Contains(out.String(), "to run everything, first: ") {
		t.Errorf("as another user it said %q", out.String())
	}
}
