package imports

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// purposeless are the names under which anything can be put.
var purposeless = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared"}

func names(t *Tree) []Fault {
	var faults []Fault
	for _, f := range t.Files {
		if name := f.AST.Name.Name; slices.Contains(purposeless, name) {
			faults = append(faults, Fault{Where: f.Path, What: "package " + name + ": name it for what it is about"})
		}
	}
	return faults
}

// placeNames are never written in the project, spelt here in two halves so that
// this file keeps the rule itself.
var placeNames = []string{
	"/wor" + "k/", "/tm" + "p/", "/roo" + "t/", "/hom" + "e/",
	"registry.npm" + "js", "proxy.go" + "lang", "deb.de" + "bian", "yarn" + "pkg.com",
}

func places(t *Tree) []Fault {
	var faults []Fault
	for _, text := range t.Texts {
		for _, p := range placeNames {
			if i := bytes.Index(text.Bytes, []byte(p)); i >= 0 {
				line := bytes.Count(text.Bytes[:i], []byte("\n")) + 1
				faults = append(faults, Fault{Where: fmt.Sprintf("%s:%d", text.Path, line), What: "names " + p + ": it is not there on another machine"})
			}
		}
	}
	return faults
}

// linked finds [words](target) and ![words](target) of Markdown.
var linked = regexp.MustCompile(`\]\(([^()\s]+)\)`)

// links judges the links of pages to other files of the repository; what leads
// out of it, or to a heading of the same page, is not looked at.
func links(t *Tree) []Fault {
	var faults []Fault
	for _, text := range t.Texts {
		if !strings.HasSuffix(text.Path, ".md") {
			continue
		}
		for _, m := range linked.FindAllSubmatchIndex(text.Bytes, -1) {
			target, _, _ := strings.Cut(string(text.Bytes[m[2]:m[3]]), "#")
			if target == "" || strings.Contains(target, ":") {
				continue
			}
			if p := path.Join(path.Dir(text.Path), target); !t.Paths[p] {
				line := bytes.Count(text.Bytes[:m[2]], []byte("\n")) + 1
				faults = append(faults, Fault{Where: fmt.Sprintf("%s:%d", text.Path, line), What: "leads to " + p + ", which is not there"})
			}
		}
	}
	return faults
}
