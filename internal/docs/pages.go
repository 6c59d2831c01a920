// Package docs holds the pages of this repository to what is there: its tests
// read every Markdown page and fail on a link that leads nowhere, a test that is
// named and does not exist, a program that does not compile, or prints something
// else than the page shows, a command that is answered with something else, and a
// sentence of the start-up report that no page explains.
//
// A page that was right when it was written goes wrong in silence. A reader finds
// that out by trusting it; these tests find it out first, in a few seconds.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

// page is one Markdown page; its path is relative to the root of the repository
// and has forward slashes.
type page struct {
	path string
	text string
}

// block is one fenced piece of a page: what stands behind the opening fence, the
// text between the fences, and the line of its first line.
type block struct {
	kind string
	text string
	line int
}

// skipped are folders whose pages are not ours.
var skipped = map[string]bool{".git": true, "node_modules": true, "testdata": true, "bin": true}

// walk calls visit with the path of every file below root that is ours.
func walk(root string, visit func(path string) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipped[d.Name()]:
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		return visit(path)
	})
}

// readPages reads every Markdown page below root.
func readPages(root string) (pages []page, err error) {
	err = walk(root, func(path string) error {
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		pages = append(pages, page{filepath.ToSlash(name), string(text)})
		return err
	})
	return pages, err
}

// blocks returns the fenced pieces of a page, and the page without them.
func (p page) blocks() (list []block, prose string) {
	var rest strings.Builder
	var open *block
	for i, line := range strings.Split(p.text, "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && open == nil:
			open = &block{kind: strings.TrimSpace(fence), line: i + 2}
		case isFence:
			list = append(list, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
			continue
		default:
			rest.WriteString(line)
		}
		rest.WriteByte('\n') // line numbers stay those of the page
	}
	return list, rest.String()
}

// heading finds the headings of a page.
var heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)

// anchors returns the fragments by which a page's headings are reached, as
// GitHub makes them: lower case, spaces to hyphens, everything else but letters,
// digits, hyphens and underscores left out.
func (p page) anchors() map[string]bool {
	_, prose := p.blocks()
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(prose, -1) {
		var b strings.Builder
		for _, r := range strings.ToLower(m[1]) {
			switch {
			case r == ' ':
				b.WriteByte('-')
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				b.WriteRune(r)
			}
		}
		found[b.String()] = true
	}
	return found
}
