// Package broken holds the switches that break a rule of the protocol on
// purpose, so that the rule's test can be seen to fail. It is a leaf: constants
// and one variable, no imports. Only test programs call [Set]; `make broken`
// turns each rule off alone and expects the test named in [Rules] to fail.
package broken

// Rule names one switch. The zero value breaks nothing.
type Rule uint8

// on is written once, before any other code of a test program runs.
var on Rule

// Is tells whether rule r is broken in this process: one load, one compare.
func Is(r Rule) bool { return on == r }

// Set breaks the rule of that name for the life of the process and reports
// whether there is one; the empty name breaks nothing. Call it from TestMain
// (or a test server's main) only, before anything else.
func Set(name string) bool {
	if name == "" {
		return true
	}
	for _, e := range Rules {
		if e.Name == name {
			on = e.Rule
			return true
		}
	}
	return false
}

// Entry says which test must fail while a rule is broken.
type Entry struct {
	Rule Rule
	Name string // as given to Set and to `make broken RULE=name`
	Pkg  string // the package of the test, relative to the module root
	Test string // the exact name of the test, `Test/sub` allowed
	What string // what is broken, one line
}
