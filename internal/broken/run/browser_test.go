package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheBrowserCodeBreaksItsOwnRules(t *testing.T) {
	const with, without = `{"scripts": {"broken": "x"}}`, `{"scripts": {"test": "x"}}`
	for _, c := range []struct {
		given   string
		pkg     string // package.json; "" for none
		npm     string // a shell script that plays npm; "" for none on the PATH
		ci      string
		ok      bool
		printed string
	}{
		{"no page", "", "exit 1", "true", true, ""},
		{"no such script", without, "exit 1", "true", true, ""},
		{"every rule noticed", with, `[ "$1" = run ] && echo "C4 noticed"`, "true", true, "C4 noticed"},
		{"a rule not noticed", with, `[ "$1" = ci ]`, "true", false, "exit status 1"},
		{"packages that cannot be installed", with, "exit 1", "true", false, "npm ci"},
		{"no npm at home", with, "", "", true, "skipped: npm run broken"},
		{"no npm in CI", with, "", "true", false, "skipped: npm run broken"},
		{"a package.json that is none", "{", "exit 0", "", false, "package.json"},
	} {
		t.Run(c.given, func(t *testing.T) {
			root, bin := t.TempDir(), t.TempDir()
			if c.npm != "" {
				script := "#!/bin/sh\n" + c.npm + "\n"
				if c.given == "every rule noticed" {
					script = "#!/bin/sh\n[ \"$1\" = ci ] && exit 0\n" + c.npm + "\n"
				}
				if err := os.WriteFile(filepath.Join(bin, "npm"), []byte(script), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if c.pkg != "" {
				if err := os.Mkdir(filepath.Join(root, "frontend"), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, "frontend", "package.json"), []byte(c.pkg), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", bin)
			t.Setenv("CI", c.ci)
			var out bytes.Buffer
			if ok := browser(t.Context(), root, &out); ok != c.ok || !strings.Contains(out.String(), c.printed) {
				t.Errorf("counts as shown: %v, want %v; it printed %q, want %q", ok, c.ok, out.String(), c.printed)
			}
		})
	}
}
