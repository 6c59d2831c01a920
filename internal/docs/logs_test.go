package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// loggers are the methods whose first constant string is a log line: slog's, and
// the few of ours that hand one on.
var loggers = map[string]bool{"LogAttrs": true, "Debug": true, "Info": true, "Warn": true, "Error": true, "trouble": true, "warnOutage": true}

// rooms are the folders that log on behalf of users.
var rooms = []string{"core", "stores", "adapters", "telemetry", "audit", "console"}

// TestEveryLogLineHasARow holds the sources to the table of log lines, which
// TestLogLinesAreThoseOfTheCode holds to the sources: messages are constant,
// in lower case, and explained.
func TestEveryLogLineHasARow(t *testing.T) {
	rows := map[string]bool{}
	for _, row := range logRow.FindAllStringSubmatch(pagesOf(t)["docs/how-to/troubleshoot.md"].text, -1) {
		rows[row[1]] = true
	}
	found := 0
	for _, room := range rooms {
		if _, err := os.Stat(filepath.Join(root, room)); err != nil {
			continue
		}
		err := walk(filepath.Join(root, room), func(file string) error {
			if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.Contains(file, "test"+string(filepath.Separator)) {
				return nil
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, line := range logLines(parsed) {
				found++
				switch {
				case line != strings.ToLower(line[:1])+line[1:]:
					t.Errorf("%s: the log line %q begins with a capital", file, line)
				case !rows[line]:
					t.Errorf("%s: the log line %q has no row in docs/how-to/troubleshoot.md", file, line)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 30 {
		t.Errorf("only %d log lines were found: the reading is broken", found)
	}
	if rows["store went for a walk"] {
		t.Error("a line that nobody explained has a row")
	}
}

// logLines returns the messages that a file logs. One that is put together of
// pieces is none of them as it stands, and has no row.
func logLines(file *ast.File) (lines []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !loggers[method.Sel.Name] {
			return true
		}
		for _, arg := range call.Args {
			if sum, ok := arg.(*ast.BinaryExpr); ok {
				if text, ok := sum.X.(*ast.BasicLit); ok && text.Kind == token.STRING {
					lines = append(lines, "put together: "+text.Value)
				}
				break
			}
			if text, ok := arg.(*ast.BasicLit); ok && text.Kind == token.STRING {
				if line, err := strconv.Unquote(text.Value); err == nil {
					lines = append(lines, line)
				}
				break
			}
		}
		return true
	})
	return lines
}
