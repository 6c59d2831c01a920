package docs

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
)

const root = "../.."

func pagesOf(t *testing.T) map[string]page {
	t.Helper()
	list, err := readPages(root)
	if err != nil {
		t.Fatal(err)
	}
	pages := make(map[string]page, len(list))
	for _, p := range list {
		pages[p.path] = p
	}
	for _, must := range []string{"README.md", "docs/README.md", "docs/how-to/troubleshoot.md"} {
		if _, there := pages[must]; !there {
			t.Fatalf("%s is not among the %d pages read", must, len(pages))
		}
	}
	return pages
}

// link finds [words](target) and ![words](target).
var link = regexp.MustCompile(`\]\(([^()\s]+)\)`)

func TestLinksLeadSomewhere(t *testing.T) {
	pages := pagesOf(t)
	for _, p := range pages {
		_, prose := p.blocks()
		for _, what := range brokenLinks(p.path, prose, pages) {
			t.Error(what)
		}
	}
	// The control: what is wrong is found.
	lost := "[a](nowhere.md) [b](README.md#no-such-heading) [c](https://example.com/x) [d](README.md)"
	if found := brokenLinks("README.md", lost, pages); len(found) != 2 {
		t.Errorf("of two links that lead nowhere %d were found: %v", len(found), found)
	}
}

// brokenLinks returns the links of a page that lead to no file of the repository,
// or to no heading of a page; links out of it are not followed.
func brokenLinks(from, prose string, pages map[string]page) (faults []string) {
	for _, m := range link.FindAllStringSubmatch(prose, -1) {
		file, fragment, _ := strings.Cut(m[1], "#")
		if strings.Contains(file, ":") {
			continue
		}
		to := from
		if file != "" {
			to = path.Join(path.Dir(from), file)
		}
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(to))); err != nil {
			faults = append(faults, fmt.Sprintf("%s: a link leads to %s, which is not there", from, to))
			continue
		}
		if p, isPage := pages[to]; isPage && fragment != "" && !p.anchors()[fragment] {
			faults = append(faults, fmt.Sprintf("%s: a link leads to #%s of %s, which has no such heading", from, fragment, to))
		}
	}
	return faults
}

var (
	testFunc  = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	statement = regexp.MustCompile(`name: "(Statement\w+)"`)
	// named finds the name of a test in a page; an ellipsis behind it, or RUN=
	// before it, says that it stands for every test that begins so.
	named = regexp.MustCompile(`(RUN=)?\b((?:Test[A-Z]\w*)|(?:Statement\d\w*))(…)?`)
)

// TestNamedTestsExist holds "shown by" columns to the tests that there are.
func TestNamedTestsExist(t *testing.T) {
	tests := testNames(t)
	named := 0
	for _, p := range pagesOf(t) {
		found, missing := missingTests(p.text, tests)
		named += found
		for _, name := range missing {
			t.Errorf("%s names the test %s, which does not exist", p.path, name)
		}
	}
	if named < 30 || len(tests) < 200 {
		t.Errorf("%d mentions and %d tests were found: the reading is broken", named, len(tests))
	}
	const lost = "`TestThatNobodyWrote`, `Statement99_Nothing`, `TestNobody_…` and `TestMain`"
	if _, missing := missingTests(lost, tests); len(missing) != 3 {
		t.Errorf("of three tests that do not exist these were found: %v", missing)
	}
}

func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := walk(root, func(file string) error {
		inSuite := strings.Contains(filepath.ToSlash(file), "/adapters/adaptertest/")
		if !strings.HasSuffix(file, ".go") || !inSuite && !strings.HasSuffix(file, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(file)
		for _, m := range append(testFunc.FindAllSubmatch(text, -1), statement.FindAllSubmatch(text, -1)...) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func missingTests(text string, tests map[string]bool) (found int, missing []string) {
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		found++
		there := tests[m[2]]
		if m[1] != "" || m[3] != "" {
			for name := range tests {
				there = there || strings.HasPrefix(name, m[2])
			}
		}
		if !there {
			missing = append(missing, m[2])
		}
	}
	return found, missing
}

// TestProgramsCompile vets every whole program in a page, and parses every
// other piece of Go.
func TestProgramsCompile(t *testing.T) {
	programs := 0
	for _, p := range pagesOf(t) {
		list, _ := p.blocks()
		for _, b := range list {
			if b.kind != "go" {
				continue
			}
			where := fmt.Sprintf("%s:%d", p.path, b.line)
			if !strings.HasPrefix(b.text, "package main\n") {
				if err := parses(b.text); err != nil {
					t.Errorf("%s is no Go: %v", where, err)
				}
				continue
			}
			programs++
			t.Run(where, func(t *testing.T) {
				t.Parallel()
				if out, err := vet(t, b.text); err != nil {
					t.Errorf("does not compile: %v\n%s", err, out)
				}
			})
		}
	}
	if programs < 5 {
		t.Errorf("only %d programs were found in all pages", programs)
	}
	t.Run("the control", func(t *testing.T) {
		t.Parallel()
		if _, err := vet(t, "package main\n\nfunc main() { nobody.Wrote() }\n"); err == nil || parses("func {") == nil {
			t.Error("what is no Go passes")
		}
	})
}

// vet compiles a program as if it stood in this repository, without linking it.
func vet(t *testing.T, text string) ([]byte, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), "go", "vet", file)
	cmd.Dir = root
	return cmd.CombinedOutput()
}

// parses reads text as declarations, or else as statements.
func parses(text string) error {
	for _, whole := range []string{text, "package p\n" + text, "package p\nfunc _() {\n" + text + "\n}"} {
		if _, err := parser.ParseFile(token.NewFileSet(), "", whole, parser.SkipObjectResolution); err == nil {
			return nil
		} else if whole != text && strings.HasPrefix(whole, "package p\nfunc") {
			return err
		}
	}
	return nil
}

// logRow finds the first cell of a row of the table of log lines.
var logRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (?:debug|info|warning|error) \\|")

// TestLogLinesAreThoseOfTheCode holds the table of log lines to the sources.
func TestLogLinesAreThoseOfTheCode(t *testing.T) {
	var sources strings.Builder
	for _, dir := range []string{"core", "audit"} {
		err := walk(filepath.Join(root, dir), func(file string) error {
			if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return nil
			}
			text, err := os.ReadFile(file)
			sources.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	rows := logRow.FindAllStringSubmatch(pagesOf(t)["docs/how-to/troubleshoot.md"].text, -1)
	if len(rows) < 10 {
		t.Fatalf("%d rows were found", len(rows))
	}
	for _, row := range rows {
		if !strings.Contains(sources.String(), strconv.Quote(row[1])) {
			t.Errorf("docs/how-to/troubleshoot.md explains the log line %q, which nothing writes", row[1])
		}
	}
}

// TestEveryCostIsExplained holds the page about policies to the sentences that
// the start-up report prints about risky choices.
func TestEveryCostIsExplained(t *testing.T) {
	text := strings.Join(strings.Fields(pagesOf(t)["docs/how-to/choose-a-policy.md"].text), " ")
	costs := costsOf(t)
	if len(costs) < 6 {
		t.Fatalf("the report names %d costs: the reading is broken", len(costs))
	}
	for cost := range costs {
		if !strings.Contains(text, strings.Join(strings.Fields(cost), " ")) {
			t.Errorf("docs/how-to/choose-a-policy.md does not say what the start-up report says: %s", cost)
		}
	}
}

// costsOf returns the sentences that the report prints for any choice of a
// policy, taken alone. Choices that this build refuses cost nothing.
func costsOf(t *testing.T) map[string]bool {
	t.Helper()
	costs := map[string]bool{}
	cost := func(set func(*idem.Policy)) {
		policy := idem.Policy{Operation: "shop:order:create"}
		set(&policy)
		guard, err := idem.New(idem.Config{Store: memstore.New(memstore.Options{}), Policies: []idem.Policy{policy}})
		if err != nil {
			return
		}
		for line := range strings.Lines(guard.Report()) {
			if cost, is := strings.CutPrefix(strings.TrimSpace(line), "in writing: "); is {
				costs[cost] = true
			}
		}
		if err := guard.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for _, choice := range choicesOf(t) {
		for _, set := range []func(*idem.Policy){
			func(p *idem.Policy) { p.OnDuplicate = choice }, func(p *idem.Policy) { p.On4xx = choice },
			func(p *idem.Policy) { p.OnOther4xx = choice }, func(p *idem.Policy) { p.On5xx = choice },
			func(p *idem.Policy) { p.OnCrash = choice }, func(p *idem.Policy) { p.OnOutage = choice },
			func(p *idem.Policy) { p.OnDisconnect = choice },
		} {
			cost(set)
		}
	}
	for _, mode := range []idem.Mode{idem.ModeObserve, idem.ModeOff} {
		cost(func(p *idem.Policy) { p.Mode = mode })
	}
	cost(func(p *idem.Policy) { p.Share = 0.5 })
	return costs
}

// choicesOf reads the constants of type Choice from the sources, so that a new
// one is not overlooked here.
func choicesOf(t *testing.T) (choices []idem.Choice) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "core", "policy.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, isConst := n.(*ast.ValueSpec)
		if !isConst || len(spec.Values) != 1 {
			return true
		}
		kind, isNamed := spec.Type.(*ast.Ident)
		value, isText := spec.Values[0].(*ast.BasicLit)
		if isNamed && isText && kind.Name == "Choice" {
			choices = append(choices, idem.Choice(strings.Trim(value.Value, `"`)))
		}
		return true
	})
	if len(choices) < 9 {
		t.Fatalf("%d choices were read from core/policy.go", len(choices))
	}
	return choices
}
