package imports

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// Fault is one place where a rule is not kept.
type Fault struct {
	Rule  string // name of the rule
	Where string // file, with a line where one line is at fault
	What  string // what is wrong and what to do
}

// String is one line for a test's log.
func (f Fault) String() string { return f.Where + ": " + f.What + " (" + f.Rule + ")" }

// Rule is one sentence about the house that a machine can judge.
type Rule struct {
	Name  string // short, as in Fault.Rule
	Says  string // the sentence
	check func(*Tree) []Fault
}

// maxLines is the longest a Go file may be; one idea fits in 50 to 300.
const maxLines = 450

// maxAdapter bounds the packages that tie httpflow to one framework: no decision
// is made there, so there is little to write, and three copies cannot drift.
const maxAdapter = 81

// Rules are all of them.
var Rules = []Rule{
	{"direction", "imports follow the arrows between the rooms", direction},
	{"room", "every package is in a room", everyRoom},
	{"testing", "testing is imported only by tests and by packages whose name ends in test", noTesting},
	{"switch", "a rule is broken only by tests and by the mains of test servers under internal", setters},
	{"clock", "package idem reads the clock in one file", oneClock},
	{"length", fmt.Sprintf("a Go file has at most %d lines", maxLines), lengths},
	{"thin", fmt.Sprintf("an adapter has fewer than %d lines beside its doc.go and its tests", maxAdapter), thinAdapters},
	{"sleep", "a test does not sleep, save on the clock of a testing/synctest bubble (elsewhere than in synctest.Test itself, the line says so: // the bubble's clock), or in a poll with a bound, which is named eventually", sleepers},
	{"leak", "tests look for goroutines left behind through internal/leaktest, which knows whose stay", leaks},
	{"patience", "Fiber's App.Test is told how long to wait: by itself it gives up after a second", impatient},
	{"comment", "every package has a package comment", comments},
	{"name", "no package is named for having no purpose", names},
	{"place", "no file names a folder of one machine or the host of a package registry", places},
	{"link", "a link in a page leads to something that is there", links},
}

// Faults judges the tree by every rule, in the order of Rules.
func (t *Tree) Faults() []Fault {
	var all []Fault
	for _, r := range Rules {
		for _, f := range r.check(t) {
			f.Rule = r.Name
			all = append(all, f)
		}
	}
	return all
}

func direction(t *Tree) []Fault {
	var faults []Fault
	for _, f := range t.Files {
		r, ok := roomOf(f.Dir)
		if f.Test || !ok {
			continue
		}
		for _, imp := range f.Imports {
			if what := r.allows(imp); what != "" {
				faults = append(faults, Fault{Where: f.Path, What: what})
			}
		}
	}
	return faults
}

func everyRoom(t *Tree) []Fault {
	var faults []Fault
	for _, f := range t.Files {
		if _, ok := roomOf(f.Dir); !ok {
			faults = append(faults, Fault{Where: f.Path, What: "in no room: add the folder to Rooms with its arrows"})
		}
	}
	return faults
}

func noTesting(t *Tree) []Fault {
	var faults []Fault
	for _, f := range t.Files {
		if f.Test || strings.HasSuffix(f.AST.Name.Name, "test") {
			continue
		}
		for _, imp := range f.Imports {
			if within(imp, "testing") {
				faults = append(faults, Fault{Where: f.Path, What: imp + " would be linked into every program that uses this package"})
			}
		}
	}
	return faults
}

func setters(t *Tree) []Fault {
	var faults []Fault
	for _, f := range t.Files {
		if f.Test || within(f.Dir, "internal") && f.AST.Name.Name == "main" {
			continue
		}
		for _, at := range t.uses(f, Module+"/"+switches, nil, "Set") {
			faults = append(faults, Fault{Where: at.String(), What: "broken.Set outside a test: no program of a user may be able to break a rule"})
		}
	}
	return faults
}

func oneClock(t *Tree) []Fault {
	var readers []string
	for _, f := range t.Files {
		if f.Dir == "core" && !f.Test && len(t.uses(f, "time", nil, "Now", "Since", "Until")) > 0 {
			readers = append(readers, f.Path)
		}
	}
	if len(readers) < 2 {
		return nil
	}
	return []Fault{{Where: readers[1], What: "reads the clock, and so does " + readers[0] + ": ask the guard's clock instead"}}
}

func lengths(t *Tree) []Fault {
	var faults []Fault
	for _, f := range t.Files {
		if f.Lines > maxLines && !ast.IsGenerated(f.AST) {
			faults = append(faults, Fault{Where: f.Path, What: fmt.Sprintf("%d lines, at most %d: it holds more than one idea", f.Lines, maxLines)})
		}
	}
	return faults
}

func thinAdapters(t *Tree) []Fault {
	lines := map[string]int{}
	for _, f := range t.Files {
		if within(f.Dir, "adapters") && f.Dir != "adapters/adaptertest" && !f.Test && !strings.HasSuffix(f.Path, "/doc.go") {
			lines[f.Dir] += f.Lines
		}
	}
	var faults []Fault
	for _, dir := range slices.Sorted(maps.Keys(lines)) {
		if n := lines[dir]; n >= maxAdapter {
			faults = append(faults, Fault{Where: dir, What: fmt.Sprintf("%d lines: a decision belongs in core/httpflow, teaching in doc.go", n)})
		}
	}
	return faults
}

func sleepers(t *Tree) []Fault {
	var faults []Fault
	for _, f := range t.Files {
		if !f.Test {
			continue
		}
		apart := func(n ast.Node) bool {
			poll, ok := n.(*ast.FuncDecl)
			return ok && poll.Name.Name == "eventually" || callOf(n, f.local("testing/synctest"), "Test")
		}
		said := t.linesThatSay(f, "bubble")
		for _, at := range t.uses(f, "time", apart, "Sleep") {
			if said[at.Line] {
				continue
			}
			faults = append(faults, Fault{Where: at.String(), What: "a sleep that hopes: wait for a channel, poll with a bound (in a function named eventually), or inject the clock (in a synctest bubble: say so on the line)"})
		}
	}
	return faults
}

func leaks(t *Tree) []Fault {
	var faults []Fault
	for _, f := range t.Files {
		if f.Dir != "internal/leaktest" && slices.Contains(f.Imports, "go.uber.org/goleak") {
			faults = append(faults, Fault{Where: f.Path, What: "goleak by itself does not know whose goroutines outlive a server: use internal/leaktest"})
		}
	}
	return faults
}

func impatient(t *Tree) []Fault {
	var faults []Fault
	for _, f := range t.Files {
		if !f.Test || f.local("github.com/gofiber/fiber/v2") == "" {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 1 {
				if called, ok := call.Fun.(*ast.SelectorExpr); ok && called.Sel.Name == "Test" {
					faults = append(faults, Fault{Where: t.fset.Position(call.Pos()).String(), What: "a busy machine takes longer than a second: app.Test(request, -1)"})
				}
			}
			return true
		})
	}
	return faults
}

// linesThatSay finds the lines of a file with a comment that holds the word.
func (t *Tree) linesThatSay(f *File, word string) map[int]bool {
	at := map[int]bool{}
	for _, group := range f.AST.Comments {
		for _, c := range group.List {
			if strings.Contains(c.Text, word) {
				at[t.fset.Position(c.Pos()).Line] = true
			}
		}
	}
	return at
}

// callOf tells whether n is a call pkg.name(…).
func callOf(n ast.Node, pkg, name string) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok || pkg == "" {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == pkg
}

func comments(t *Tree) []Fault {
	first, said := map[string]*File{}, map[string]bool{}
	var order []string
	for _, f := range t.Files {
		key := f.Dir + " " + strings.TrimSuffix(f.AST.Name.Name, "_test")
		if first[key] == nil {
			first[key] = f
			order = append(order, key)
		}
		said[key] = said[key] || f.AST.Doc != nil && strings.TrimSpace(f.AST.Doc.Text()) != ""
	}
	var faults []Fault
	for _, key := range order {
		if !said[key] {
			faults = append(faults, Fault{Where: first[key].Path, What: "package " + first[key].AST.Name.Name + " has no package comment in any file"})
		}
	}
	return faults
}
