package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// standIn is an npm that prints what it is given, and a node of the right age.
func standIn(t *testing.T, npm string) string {
	t.Helper()
	bareMachine(t, map[string]string{"node": "echo v20.1.0", "npm": npm, "chromium": ""})
	root := t.TempDir()
	write(t, root, "frontend/package.json", `{"scripts": {"test": "x", "test:browser": "y", "drill": "z", "build": "w"}}`)
	return root
}

func TestTheBrowserCodesChecksAreRunAndCounted(t *testing.T) {
	for _, c := range []struct {
		given string
		npm   string // a shell script that plays npm
		drill bool
		want  []string
	}{
		{"tests in TAP", `[ "$2" = test ] && printf 'ok 1 - a\nok 2 - b # SKIP needs Firefox\n'`, false,
			[]string{"failed npm run test:browser", "passed a", "skipped b"}},
		{"checks without tests", "exit 0", false, []string{"passed npm run test", "passed npm run test:browser"}},
		{"a long run", "exit 0", true, []string{"passed npm run drill", "passed npm run test", "passed npm run test:browser"}},
		{"a failed compiler", `[ "$1" = ci ] || { echo "TS5058: no such path"; exit 1; }`, false,
			[]string{"failed npm run test", "failed npm run test:browser"}},
		{"packages that cannot be installed", "exit 1", false, []string{"failed npm ci"}},
	} {
		t.Run(c.given, func(t *testing.T) {
			npm := c.npm
			if strings.HasPrefix(npm, `[ "$2"`) {
				npm = `[ "$1" = ci ] && exit 0; ` + npm
			}
			root := standIn(t, npm)
			var out bytes.Buffer
			var all []result
			for _, s := range nodeSuite(t.Context(), root, options{drill: c.drill}, &out) {
				all = append(all, s.results...)
			}
			if got := outcomes(all); !slices.Equal(got, c.want) {
				t.Errorf("counted %q\nwant    %q\n%s", got, c.want, out.String())
			}
			for _, r := range all {
				if c.given == "a failed compiler" && !strings.Contains(r.why, "TS5058") {
					t.Errorf("%s failed with the words %q", r.name, r.why)
				}
			}
		})
	}
}

func TestTheBrowserCodeIsSkippedByNameWhereItCannotRun(t *testing.T) {
	root := standIn(t, "exit 0")
	bareMachine(t, map[string]string{"node": "echo v20.1.0", "npm": "exit 0"}) // no Chromium
	var all []result
	for _, s := range nodeSuite(t.Context(), root, options{}, &bytes.Buffer{}) {
		all = append(all, s.results...)
	}
	if got, want := outcomes(all), []string{"passed npm run test", "skipped npm run test:browser"}; !slices.Equal(got, want) {
		t.Errorf("without Chromium: %q, want %q", got, want)
	}
	bareMachine(t, nil)
	s := nodeSuite(t.Context(), root, options{}, &bytes.Buffer{})
	if len(s) != 1 || s[0].count(skipped) != 1 || !strings.Contains(s[0].results[0].why, "Node.js") {
		t.Errorf("without Node.js: %+v", s)
	}
	if s := nodeSuite(t.Context(), t.TempDir(), options{}, &bytes.Buffer{}); len(s) != 0 {
		t.Errorf("without a frontend: %+v", s)
	}
}

func TestPackagesAreInstalledOnceForEachLock(t *testing.T) {
	dir := t.TempDir()
	if installed(dir) {
		t.Error("nothing is there, and counts as installed")
	}
	write(t, dir, "package-lock.json", "{}")
	if installed(dir) {
		t.Error("a lock alone counts as installed")
	}
	write(t, dir, "node_modules/.package-lock.json", "{}")
	if !installed(dir) {
		t.Error("a list newer than the lock does not count as installed")
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "package-lock.json"), later, later); err != nil {
		t.Fatal(err)
	}
	if installed(dir) {
		t.Error("a lock newer than the list counts as installed")
	}
}
