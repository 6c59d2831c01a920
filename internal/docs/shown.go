package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// shownBy is a test and what it says that it shows.
type shownBy struct {
	name   string
	folder string // relative to the root, with forward slashes
	faults []int
}

var (
	// A line of a comment before a test, a statement of a suite, or a test of
	// idem.js.
	faultsLine = regexp.MustCompile(`^\s*// Faults: ([0-9, ]+)\.$`)
	testLine   = regexp.MustCompile("^(?:func ((?:Test|Fuzz)\\w+)\\(|\\s*\\{name: \"(Statement\\w+)\"|(?:test|run)\\(['\"`](.+?)['\"`],)")
	comment    = regexp.MustCompile(`^\s*//`)
)

// readShown reads every test below root. It is an error if a line that names
// faults stands before nothing.
func readShown(root string) (tests []shownBy, err error) {
	err = walk(root, func(file string) error {
		slashed := filepath.ToSlash(file)
		inSuite := strings.Contains("/"+slashed, "/adapters/adaptertest/") && strings.HasSuffix(file, ".go")
		if !inSuite && !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(file, ".test.mjs") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		found, err := shownIn(string(text), filepath.ToSlash(folder))
		if err != nil {
			return fmt.Errorf("%s: %w", slashed, err)
		}
		tests = append(tests, found...)
		return nil
	})
	return tests, err
}

// shownIn reads the tests of one file.
func shownIn(text, folder string) (tests []shownBy, err error) {
	var faults []int
	for i, line := range strings.Split(text, "\n") {
		if m := faultsLine.FindStringSubmatch(line); m != nil {
			for word := range strings.SplitSeq(m[1], ",") {
				n, err := strconv.Atoi(strings.TrimSpace(word))
				if err != nil {
					return nil, fmt.Errorf("line %d: %q is no list of numbers", i+1, m[1])
				}
				faults = append(faults, n)
			}
			continue
		}
		if m := testLine.FindStringSubmatch(line); m != nil {
			tests = append(tests, shownBy{m[1] + m[2] + m[3], folder, faults})
			faults = nil
		} else if len(faults) > 0 && !comment.MatchString(line) {
			return nil, fmt.Errorf("line %d: no test stands below the faults %v", i+1, faults)
		}
	}
	return tests, nil
}

// byFault sorts the tests by the faults that they show, each by its name.
func byFault(tests []shownBy) map[int][]string {
	list := map[int][]string{}
	for _, t := range tests {
		for _, n := range t.faults {
			if !slices.Contains(list[n], t.name) {
				list[n] = append(list[n], t.name)
			}
		}
	}
	for _, names := range list {
		slices.Sort(names)
	}
	return list
}

// Faults is the page about faults, made from the tests below root.
func Faults(root string) (string, error) {
	tests, err := readShown(root)
	if err != nil {
		return "", err
	}
	return faultsPage(byFault(tests))
}

func faultsPage(shown map[int][]string) (string, error) {
	var b strings.Builder
	b.WriteString(`# Faults, and what happens instead

Made from the tests: each says in its comment which faults it shows (` + "`Faults: 9, 21.`" + `), and a test of ` + "`internal/docs`" + ` fails while this page says anything else. To change it, change a test or ` + "`internal/docs/faults.go`" + ` and run ` + "`go run ./internal/docs/write`" + `.

The kinds of trouble were reported by users of some thirty libraries and services that do what this one does. A number without a row has no test yet.
`)
	known := map[int]bool{}
	for _, group := range faultGroups {
		fmt.Fprintf(&b, "\n## %s\n\n| | fault | instead | shown by |\n|---|---|---|---|\n", group.title)
		for _, f := range group.faults {
			if known[f.number] {
				return "", fmt.Errorf("fault %d is described twice", f.number)
			}
			known[f.number] = true
			if len(shown[f.number]) == 0 {
				return "", fmt.Errorf("no test shows fault %d: %s", f.number, f.what)
			}
			fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", f.number, f.what, f.instead, code(shown[f.number]))
		}
	}
	for n, names := range shown {
		if !known[n] {
			return "", fmt.Errorf("%v show fault %d, which internal/docs/faults.go does not describe", names, n)
		}
	}
	return b.String(), nil
}

// code lists names as a page shows them.
func code(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }
