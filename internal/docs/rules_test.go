package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// cited finds what a comment names as the source of a rule; a line of a comment
	// may break between the words.
	cited = regexp.MustCompile(`\bPROTOCOL\s+(?://\s+)?(?:(section)\s+(?://\s+)?(\d+)|([PTI]\d+)\b)`)
	// elsewhere finds sources that are not in this repository.
	elsewhere = regexp.MustCompile(`\b(?:design:\s+(?:HTTP|HOUSE|OPERATIONS|PERFORMANCE|FRONTEND|TESTBED|FAULTS)|(?:HTTP|HOUSE|OPERATIONS) section \d+)`)
)

// TestRulesThatAreCitedAreWrittenDown holds the sources to the page about the
// protocol: a reader of a comment finds there what it names.
func TestRulesThatAreCitedAreWrittenDown(t *testing.T) {
	pages := pagesOf(t)
	protocol := pages["docs/reference/protocol.md"].text + pages["docs/reference/invariants.md"].text
	named := 0
	err := walk(root, func(file string) error {
		if !strings.HasSuffix(file, ".go") || strings.HasPrefix(filepath.ToSlash(file), root+"/internal/docs/") {
			return nil
		}
		text, err := os.ReadFile(file)
		found, missing := uncited(string(text), protocol)
		named += found
		for _, what := range missing {
			t.Errorf("%s names %q, which docs/reference/protocol.md has not", file, what)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if named < 80 {
		t.Errorf("only %d mentions were found: the reading is broken", named)
	}
	const lost = "// PROTOCOL section 11, PROTOCOL P99 (design:\n// PROTOCOL\n// section 9, design: HTTP section 1)"
	if _, missing := uncited(lost, protocol); len(missing) != 3 {
		t.Errorf("of three sources that are not there these were found: %q", missing)
	}
}

// uncited returns how many rules a text names, and those that no page has.
func uncited(text, protocol string) (found int, missing []string) {
	for _, m := range cited.FindAllStringSubmatch(text, -1) {
		found++
		has := strings.Contains(protocol, "**"+m[3]+"** ") || strings.Contains(protocol, "| "+m[3]+" |")
		if m[1] != "" {
			has = strings.Contains(protocol, "\n## "+m[2]+". ")
		}
		if !has {
			missing = append(missing, strings.Join(strings.Fields(m[0]), " "))
		}
	}
	return found, append(missing, elsewhere.FindAllString(text, -1)...)
}
