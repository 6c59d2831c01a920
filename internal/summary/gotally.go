package main

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is one line of `go test -json` (go doc test2json; build events as in
// go help buildjson).
type event struct {
	Action      string
	Package     string
	ImportPath  string // build events only
	Test        string
	Output      string
	FailedBuild string
	Elapsed     float64 // seconds
}

// tally turns events into results, package by package. It is used by one
// goroutine.
type tally struct {
	module string // cut off the front of package paths
	open   map[string]*pkgRun
	builds map[string]*keep // compiler output by import path
	suite  *suite
	ended  func(pkgEnd) // called once for each package as it ends
}

// pkgRun is a package whose tests are running.
type pkgRun struct {
	tests map[string]*testRun
	order []string
	out   keep // output that belongs to no test
	now   string
}

// testRun is one test, at any depth, of a running package.
type testRun struct {
	ended   bool
	outcome outcome
	took    time.Duration
	out     keep
	parent  bool // has subtests
	blamed  bool // has a subtest that failed
}

// pkgEnd is what is said about a package as it ends.
type pkgEnd struct {
	pkg                     string
	passed, failed, skipped int
	took                    time.Duration
	empty                   bool
	names                   []string // of the failed
}

func newTally(module string, s *suite, ended func(pkgEnd)) *tally {
	return &tally{module: module, open: map[string]*pkgRun{}, builds: map[string]*keep{}, suite: s, ended: ended}
}

// feed takes one event.
func (t *tally) feed(e event) {
	switch e.Action {
	case "build-output":
		b := t.builds[e.ImportPath]
		if b == nil {
			b = &keep{}
			t.builds[e.ImportPath] = b
		}
		b.add(e.Output)
		return
	case "build-fail":
		return
	}
	p := t.open[e.Package]
	if p == nil {
		p = &pkgRun{tests: map[string]*testRun{}}
		t.open[e.Package] = p
	}
	if e.Test == "" {
		t.feedPackage(p, e)
		return
	}
	r := p.test(e.Test)
	switch e.Action {
	case "run", "cont":
		p.now = e.Test
	case "output":
		r.out.add(e.Output)
	case "pass", "fail", "skip":
		r.ended, r.took = true, seconds(e.Elapsed)
		r.outcome = map[string]outcome{"pass": passed, "fail": failed, "skip": skipped}[e.Action]
	}
}

// test finds or opens the test of that name and marks those above it as parents.
func (p *pkgRun) test(name string) *testRun {
	if r := p.tests[name]; r != nil {
		return r
	}
	r := &testRun{}
	p.tests[name] = r
	p.order = append(p.order, name)
	for up := range above(name) {
		if q := p.tests[up]; q != nil {
			q.parent = true
		}
	}
	return r
}

// above yields "A/b" and "A" for "A/b/c". Not each need be a test: a subtest
// may have a slash in its own name.
func above(name string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i := strings.LastIndexByte(name, '/'); i > 0; i = strings.LastIndexByte(name[:i], '/') {
			if !yield(name[:i]) {
				return
			}
		}
	}
}

// feedPackage takes an event of the package itself.
func (t *tally) feedPackage(p *pkgRun, e event) {
	switch e.Action {
	case "output":
		p.out.add(e.Output)
	case "pass", "fail", "skip":
		t.close(p, e)
		delete(t.open, e.Package)
	}
}

// close counts a package that ended.
func (t *tally) close(p *pkgRun, e event) {
	end := pkgEnd{pkg: t.short(e.Package), took: seconds(e.Elapsed)}
	for _, name := range p.order {
		if r := p.tests[name]; !r.ended {
			// The process died (panic, os.Exit, time limit) with this test open.
			r.outcome = failed
			if e.Action != "fail" {
				r.outcome = passed
			}
			r.out.add("did not finish\n")
		}
	}
	p.blame()
	before := len(t.suite.results)
	for _, name := range p.order {
		if res, ok := counted(end.pkg, name, p.tests[name]); ok {
			res.path = e.Package
			t.suite.results = append(t.suite.results, res)
		}
	}
	mine := t.suite.results[before:]
	if e.Action == "fail" && !slices.ContainsFunc(mine, func(r result) bool { return r.outcome == failed }) {
		why := p.out.String()
		if b := t.builds[e.FailedBuild]; e.FailedBuild != "" && b != nil {
			why = b.String() + why
		}
		t.suite.results = append(t.suite.results, result{pkg: end.pkg, outcome: failed, took: end.took, why: why})
		mine = t.suite.results[before:]
	} else if e.Action == "fail" {
		// A panic or a data race prints beside the tests: hand it to the first.
		i := before + slices.IndexFunc(mine, func(r result) bool { return r.outcome == failed })
		t.suite.results[i].why += noise(p.out.String())
	}
	for _, r := range mine {
		switch r.outcome {
		case passed:
			end.passed++
		case failed:
			end.failed++
			end.names = append(end.names, r.name)
		case skipped:
			end.skipped++
		}
	}
	if end.empty = len(mine) == 0; end.empty {
		t.suite.empty = append(t.suite.empty, end.pkg)
	} else {
		t.suite.packages++
	}
	t.ended(end)
}

// blame marks every test above a failed one.
func (p *pkgRun) blame() {
	for _, name := range p.order {
		if p.tests[name].outcome != failed {
			continue
		}
		for up := range above(name) {
			if q := p.tests[up]; q != nil {
				q.blamed = true
			}
		}
	}
}

// counted makes the result of a test, or says that its subtests stand for it. A
// parent that failed beside a subtest is counted only if it has words of its own.
func counted(pkg, name string, r *testRun) (result, bool) {
	res := result{pkg: pkg, name: name, outcome: r.outcome, took: r.took}
	switch r.outcome {
	case failed:
		if res.why = r.out.spoken(); r.blamed && strings.TrimSpace(res.why) == "" {
			return res, false
		}
	case skipped:
		res.why = reason(r.out.String())
	case passed:
		if r.parent {
			return res, false
		}
	}
	return res, true
}

var placed = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: (.*)$`)

// reason finds in a skipped test's output what t.Skip said: its last line with
// a file and a line number in front.
func reason(out string) string {
	why := "no reason given"
	for line := range strings.Lines(out) {
		if m := placed.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			why = m[1]
		}
	}
	return why
}

// noise is a package's own output without its closing lines.
func noise(out string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		if l := strings.TrimSpace(line); l == "PASS" || l == "FAIL" || strings.HasPrefix(l, "FAIL\t") || strings.HasPrefix(l, "ok  \t") {
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

// short cuts the module's path off a package path; "." is the module itself.
func (t *tally) short(pkg string) string {
	if rest, ok := strings.CutPrefix(pkg, t.module); ok {
		if rest = strings.TrimPrefix(rest, "/"); rest == "" {
			return "."
		}
		return rest
	}
	return pkg
}

// running names the packages that have not ended, each with the test that last
// started or went on.
func (t *tally) running() []string {
	var names []string
	for pkg, p := range t.open {
		n := t.short(pkg)
		if p.now != "" {
			n += " (" + p.now + ")"
		}
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
