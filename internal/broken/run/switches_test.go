package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-idem/idem/internal/broken"
)

// TestEverySwitchHasARowAndIsRead: a switch without a row in broken.Rules would
// never be tried, and one that no code reads would break nothing.
func TestEverySwitchHasARowAndIsRead(t *testing.T) {
	declared := switchNames(t, "../rules.go")
	rows, rules, seen := map[broken.Rule]bool{}, map[string]broken.Rule{}, map[string]bool{}
	for _, e := range broken.Rules {
		if r, ok := rules[e.Name]; ok && r != e.Rule {
			t.Errorf("two switches are named %q: Set would only find the first", e.Name)
		}
		if row := e.Name + " " + e.Pkg + " " + e.Test; seen[row] {
			t.Errorf("the row %s is there twice", row)
		} else {
			seen[row] = true
		}
		rows[e.Rule], rules[e.Name] = true, e.Rule
		if e.Name == "" || e.Pkg == "" || e.Test == "" || e.What == "" {
			t.Errorf("the row of %q does not say package, test and what is broken", e.Name)
		}
	}
	if rows[broken.None] {
		t.Error("a row breaks nothing")
	}
	read := switchesRead(t, "../../..")
	for i, name := range declared {
		if i == 0 { // None
			continue
		}
		if !rows[broken.Rule(i)] {
			t.Errorf("the switch %s has no row in broken.Rules: no test is asked to notice it", name)
		}
		if !read[name] {
			t.Errorf("no code reads the switch %s: it breaks nothing", name)
		}
	}
}

// switchNames lists the constants of type broken.Rule in their order.
func switchNames(t *testing.T, path string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
			for _, s := range g.Specs {
				for _, n := range s.(*ast.ValueSpec).Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	if len(names) == 0 || names[0] != "None" {
		t.Fatalf("the switches of %s are %q: want None first", path, names)
	}
	return names
}

// switchesRead finds every broken.Is(broken.X) outside tests.
func switchesRead(t *testing.T, root string) map[string]bool {
	t.Helper()
	read := map[string]bool{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == ".git") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		for rest := string(src); ; {
			_, after, found := strings.Cut(rest, "broken.Is(broken.")
			if !found {
				return nil
			}
			name, _, _ := strings.Cut(after, ")")
			read[name], rest = true, after
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return read
}
