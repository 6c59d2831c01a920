package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func reportOf(ci bool, rs ...result) *report {
	return &report{ci: ci, suites: []*suite{{name: ".", packages: 1, results: rs}}}
}

func TestARunPassesOnlyIfSomethingRanNothingFailedAndNoSkipIsOutOfOrder(t *testing.T) {
	good := result{pkg: "core", name: "TestA"}
	bad := result{pkg: "core", name: "TestB", outcome: failed, why: "want 1, got 2\n"}
	redis := result{pkg: "stores/redisstore", name: "TestC", outcome: skipped, why: "redis-server is not installed"}
	jaeger := result{pkg: "telemetry", name: "TestD", outcome: skipped, why: "Jaeger is not built"}
	for _, c := range []struct {
		given string
		r     *report
		ok    bool
		last  string
	}{
		{"one passed", reportOf(false, good), true, "1 passed, 0 failed, 0 skipped"},
		{"nothing ran", reportOf(false), false, "0 passed, 0 failed, 0 skipped"},
		{"one failed", reportOf(false, good, bad), false, "1 passed, 1 failed, 0 skipped"},
		{"skipped at home", reportOf(false, good, redis), true, "1 passed, 0 failed, 1 skipped"},
		{"skipped in CI", reportOf(true, good, redis), false, "1 passed, 0 failed, 1 skipped"},
		{"skipped in CI, allowed", reportOf(true, good, jaeger), true, "1 passed, 0 failed, 1 skipped"},
		{"does not apply, in CI", reportOf(true, good, result{pkg: "adapters/fiber", outcome: skipped, why: "not of this framework: no Flush"}), true, "1 passed, 0 failed, 1 skipped"},
		{"only skips", reportOf(false, redis), false, "0 passed, 0 failed, 1 skipped"},
		{"interrupted", &report{broken: true, suites: reportOf(false, good).suites}, false, "1 passed, 0 failed, 0 skipped"},
	} {
		t.Run(c.given, func(t *testing.T) {
			var out bytes.Buffer
			c.r.print(&out)
			if got := c.r.ok(); got != c.ok {
				t.Errorf("passed: %v, want %v", got, c.ok)
			}
			lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
			if last := lines[len(lines)-1]; last != c.last {
				t.Errorf("last line %q, want %q", last, c.last)
			}
			for _, res := range append(c.r.all(failed), c.r.all(skipped)...) {
				if !strings.Contains(out.String(), res.title()) || !strings.Contains(out.String(), strings.TrimSpace(res.why)) {
					t.Errorf("%s is not told by name with its words:\n%s", res.title(), out.String())
				}
			}
		})
	}
}

// Whoever sees only the end of a long log sees what failed and why.
func TestTheEndNamesWhatFailedOnceMore(t *testing.T) {
	long := strings.Repeat("before\n", 200) + "want 1, got 2\n"
	bad := result{pkg: "core", name: "TestB", outcome: failed, why: long}
	redis := result{pkg: "stores/redisstore", name: "TestC", outcome: skipped, why: "redis-server is not installed"}
	var out bytes.Buffer
	reportOf(true, result{pkg: "core", name: "TestA"}, bad, redis).print(&out)
	lines := strings.Split(out.String(), "\n")
	end := strings.Join(lines[max(0, len(lines)-20):], "\n")
	for _, want := range []string{bad.title(), "want 1, got 2", redis.title(), redis.why} {
		if !strings.Contains(end, want) {
			t.Errorf("%q is not in the last lines:\n%s", want, end)
		}
	}
}

// The whole command, in a small repository of its own: what it prints last and
// how it exits is what CI goes by.
func TestTheCommandExitsAsItsLastLineSays(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a command")
	}
	bin := filepath.Join(t.TempDir(), "summary")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, c := range []struct {
		given, test, ci string
		code            int
		last            string
	}{
		{"all pass", "", "", 0, "1 passed, 0 failed, 0 skipped"},
		{"one fails", `t.Error("no")`, "", 1, "0 passed, 1 failed, 0 skipped"},
		{"a skip with CI", "t.Run(`a`, func(*testing.T) {}); t.Run(`b`, func(t *testing.T) { t.Skip(`no server`) })", "true", 1, "1 passed, 0 failed, 1 skipped"},
	} {
		t.Run(c.given, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "go.work", "go 1.26\n\nuse (\n\t./empty\n\t./inner\n)\n")
			write(t, dir, "empty/go.mod", "module example.test/empty\n\ngo 1.26\n")
			write(t, dir, "inner/go.mod", "module example.test/inner\n\ngo 1.26\n")
			write(t, dir, "inner/a_test.go", "package inner\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { "+c.test+" }\n")
			cmd := exec.Command(bin, "-race=false")
			cmd.Dir = filepath.Join(dir, "inner") // any folder inside will do
			cmd.Env = append(os.Environ(), "IDEM_INSTALL=0", "CI="+c.ci, "GOFLAGS=", "GOWORK=")
			out, err := cmd.CombinedOutput()
			if got := cmd.ProcessState.ExitCode(); got != c.code {
				t.Errorf("exit status %d (%v), want %d\n%s", got, err, c.code, out)
			}
			if !regexp.MustCompile(`(?m)^` + c.last + `\n\z`).Match(out) {
				t.Errorf("it ends with\n%s\nwant %q", out, c.last)
			}
		})
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
