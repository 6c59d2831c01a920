// Package imports keeps the house in order: its tests read every Go file of
// every module and fail on an import against the direction of the rooms (see
// Rooms), on a file of more than 450 lines, on a test that sleeps, and on the
// other rules listed in Rules.
//
// The usual way to use it is to add a room or an arrow:
//
//	{Name: "audit", Uses: []string{"core"}},
//
// and beside it, in the tests, a control: a tree of one file that breaks the
// rule. A rule without a control that fails is itself a failure, so none of them
// can go blind unseen.
//
// It reads source, not the build list: a file counts whatever its build tags,
// and a package that does not compile today is judged all the same. What the
// compiler really pulls in is asked of the go command in a test of its own.
package imports

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Module is the path of the root module; the nested modules' paths begin with it.
const Module = "github.com/go-idem/idem"

// Tree is the source of the repository. It is not changed once loaded, and safe
// for concurrent use.
type Tree struct {
	Files []*File
	Texts []Text
	Paths map[string]bool // every file and folder that was met, read or not
	fset  *token.FileSet
}

// File is one Go file.
type File struct {
	Path    string // from the root, with slashes: "core/httpflow/keys.go"
	Dir     string // its folder: "core/httpflow"; "." is the root
	Test    bool   // ends in _test.go
	Lines   int
	Imports []string
	AST     *ast.File
}

// Text is any file small enough to be read whole, Go or not.
type Text struct {
	Path  string
	Bytes []byte
}

// maxText bounds what is read for the rules about text; longer files are built
// ones or data.
const maxText = 1 << 20

// Load reads the tree. Folders that hold no source of ours (node_modules,
// testdata, what begins with a dot) are passed over; a Go file that cannot be
// parsed is an error.
func Load(root fs.FS) (*Tree, error) {
	t := &Tree{Paths: map[string]bool{}, fset: token.NewFileSet()}
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if passedOver(d.Name()) {
				return fs.SkipDir
			}
			t.Paths[p] = true
			return nil
		}
		if p == ".git" { // in a second work tree it is a file that says where the first is
			return nil
		}
		t.Paths[p] = true
		if !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err != nil || info.Size() > maxText {
			return err
		}
		src, err := fs.ReadFile(root, p)
		if err != nil {
			return err
		}
		if !bytes.ContainsRune(src, 0) {
			t.Texts = append(t.Texts, Text{p, src})
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		f, err := t.parse(p, src)
		if err != nil {
			return err
		}
		t.Files = append(t.Files, f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the source: %w", err)
	}
	return t, nil
}

// passedOver tells whether a folder is no part of the house. ".ci" is.
func passedOver(name string) bool {
	switch name {
	case ".", ".ci":
		return false
	case "node_modules", "testdata", "bin":
		return true
	}
	return strings.HasPrefix(name, ".")
}

func (t *Tree) parse(p string, src []byte) (*File, error) {
	syntax, err := parser.ParseFile(t.fset, p, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &File{
		Path: p, Dir: path.Dir(p), Test: strings.HasSuffix(p, "_test.go"),
		Lines: bytes.Count(src, []byte("\n")), AST: syntax,
	}
	for _, spec := range syntax.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err == nil {
			f.Imports = append(f.Imports, name)
		}
	}
	return f, nil
}

// local is the name by which the file refers to an import, or "" if it does not
// import it.
func (f *File) local(importPath string) string {
	for _, spec := range f.AST.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err != nil || name != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

// uses yields the places where the file mentions one of the names of an import,
// as in time.Sleep; skip, if given, keeps it out of parts of the syntax.
func (t *Tree) uses(f *File, importPath string, skip func(ast.Node) bool, names ...string) []token.Position {
	local := f.local(importPath)
	if local == "" {
		return nil
	}
	var at []token.Position
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if n == nil || skip != nil && skip(n) {
			return false
		}
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == local && slices.Contains(names, sel.Sel.Name) {
				at = append(at, t.fset.Position(sel.Pos()))
			}
		}
		return true
	})
	return at
}

// inside returns the folder of a package of this repository.
func inside(importPath string) (string, bool) {
	if importPath == Module {
		return ".", true
	}
	return strings.CutPrefix(importPath, Module+"/")
}

// standard tells whether an import path is the standard library's: its first
// element has no dot.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// within tells whether folder or import path p is dir or lies below it.
func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }
