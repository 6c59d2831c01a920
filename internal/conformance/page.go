package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-idem/idem/adapters/adaptertest"
)

// The columns of the page, and what has to have been played in each.
var (
	adapters = []struct{ name, title string }{{"stdhttp", "net/http"}, {"echo", "Echo"}, {"fiber", "Fiber"}}
	stores   = []string{"memory", "miniredis", "redis"}
)

const intro = `# Conformance

What the HTTP face of idem promises, statement by statement, and where it was seen to hold. Each statement is one test, played with real requests through a real server of the framework, on records in memory, in miniredis and in a redis-server. Run them with ` + "`make test`" + `; this page is written by ` + "`make conformance`" + ` from what the tests report.

Whoever writes an adapter for another framework runs the same statements: see the package ` + "`adapters/adaptertest`" + `.

| | statement | net/http | Echo | Fiber |
|---|---|---|---|---|
`

// pageOf renders the results. It is an error where one is missing or has failed.
func pageOf(statements []string, results []adaptertest.Result) (string, error) {
	type place struct{ statement, adapter, store string }
	seen := map[place]adaptertest.Result{}
	for _, r := range results {
		seen[place{r.Statement, r.Adapter, r.Backend}] = r
	}
	var b strings.Builder
	b.WriteString(intro)
	var errs []error
	notes := map[string]int{}
	var list []string
	for _, st := range slices.Sorted(slices.Values(statements)) {
		number, words := titleOf(st)
		fmt.Fprintf(&b, "| %s | %s |", number, words)
		for _, a := range adapters {
			cell := "holds"
			for _, store := range stores {
				r, played := seen[place{st, a.name, store}]
				switch {
				case !played:
					errs = append(errs, fmt.Errorf("%s was not played on %s with %s", st, a.name, store))
				case r.NotOfThis != "":
					if notes[r.NotOfThis] == 0 {
						list = append(list, r.NotOfThis)
						notes[r.NotOfThis] = len(list)
					}
					cell = fmt.Sprintf("not of this framework (%d)", notes[r.NotOfThis])
				case !r.Holds():
					errs = append(errs, errors.New(r.String()))
				}
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	for i, why := range list {
		fmt.Fprintf(&b, "%d. %s.\n", i+1, strings.ToUpper(why[:1])+why[1:])
	}
	return b.String(), errors.Join(errs...)
}

// titleOf makes words of a statement's name: Statement49a_TheHeadAloneDecides is
// 49a, "The head alone decides".
func titleOf(name string) (number, words string) {
	number, camel, _ := strings.Cut(strings.TrimPrefix(name, "Statement"), "_")
	var said []string
	for part := range strings.SplitSeq(camel, "_") {
		list := wordsOf(part)
		for i, w := range list {
			if len(w) == 1 || strings.ToUpper(w) != w {
				list[i] = strings.ToLower(w)
			}
		}
		said = append(said, strings.Join(list, " "))
	}
	words = strings.Join(said, "; ")
	return strings.TrimLeft(number, "0"), strings.ToUpper(words[:1]) + words[1:]
}

// wordsOf cuts a name at its capitals and numbers: JSONByMeaning is JSON, By,
// Meaning.
func wordsOf(name string) (list []string) {
	kind := func(i int) int {
		switch c := name[i]; {
		case c >= 'A' && c <= 'Z':
			return 1
		case c >= '0' && c <= '9':
			return 2
		}
		return 0
	}
	start := 0
	for i := 1; i < len(name); i++ {
		begins := kind(i) != 0 && kind(i) != kind(i-1) || // a capital or a number after something else
			kind(i) == 1 && i+1 < len(name) && kind(i+1) == 0 // the last capital of several
		if begins {
			list, start = append(list, name[start:i]), i
		}
	}
	return append(list, name[start:])
}
