package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-idem/idem/internal/broken"
)

func TestPagesAreWhatTheTestsSay(t *testing.T) {
	for _, p := range Made {
		want, err := p.Make(root)
		if err != nil {
			t.Errorf("%s: %v", p.Path, err)
			continue
		}
		got, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p.Path)))
		if err != nil || string(got) != want {
			t.Errorf("%s is not what its tests say (%v): run `go run ./internal/docs/write` at the root", p.Path, err)
		}
	}
}

// The reading itself, on files that are right and wrong.
func TestWhatTestsShowIsReadFromTheirComments(t *testing.T) {
	for _, c := range []struct {
		given, text string
		want        string // name and faults, or what the error says
	}{
		{"a test", "// It does.\n//\n// Faults: 1, 22.\nfunc TestA(t *testing.T) {", "TestA [1 22]"},
		{"a test without", "func TestA(t *testing.T) {", "TestA []"},
		{"a statement", "\t// Faults: 3.\n\t{name: \"Statement01_A\", play: nil", "Statement01_A [3]"},
		{"a test of idem.js", "// Faults: 62.\ntest('C6 one attempt', async () => {", "C6 one attempt [62]"},
		{"a line before nothing", "// Faults: 3.\nvar x = 1", "no test stands below"},
		{"no numbers", "// Faults: 3,,4.\nfunc TestA(t *testing.T) {", "no list of numbers"},
	} {
		tests, err := shownIn(c.text, "core")
		got := ""
		for _, s := range tests {
			got += s.name + " " + fmt.Sprint(s.faults)
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: read %q, want %q", c.given, got, c.want)
		}
	}
	if _, err := faultsPage(map[int][]string{1000: {"TestA"}}); err == nil {
		t.Error("a fault that nobody describes passes")
	}
	if _, err := invariantsPage([]shownBy{{name: "TestI1_A"}}, []broken.Entry{{Name: "P1-x", Test: "TestB"}}); err == nil {
		t.Error("an invariant without a switch passes")
	}
}
