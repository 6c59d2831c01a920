package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-idem/idem/internal/broken"
)

// invariants are those of the protocol, in short.
var invariants = []string{
	"a record never has two owners whose leases run, save by force",
	"the fence of a record only grows",
	"what is settled is left by its own doors only: SUCCEEDED and FAILED by force, UNCERTAIN by its owner, a resolver or force, RELEASED by the next claim or a discard, BURIED by nothing; all of them by expiry",
	"a replay is the first answer, byte for byte",
	"`dead` is never said of a token that may have had an effect, or that can run",
	"a request that is judged ends with exactly one verdict",
	"no record is written without a time to live",
	"no refusal writes, save the burial behind the first `dead`",
	"a key runs once, and once more for each release, retake, force and run without a record",
	"all of this holds with faults at every store call: refused, timed out, slow, applied without a reply, applied late",
	"a handler starts only with at least the margin of its lease left",
	"nothing is left after Close: no goroutine, no claim",
	"a claim of unknown outcome is settled or released a lease and a janitor's period after the store is back",
	"no claim outlives MaxRun and one lease",
}

// models are the protocol's models: every order of a few events, tried out. Each
// is ported on top of the functions that decide in a running guard, with variants
// that leave one rule out and must be found wrong.
var models = [][2]string{
	{"an owner that renews and settles over a wire that delays and loses, and one that takes over", "TestModelLease"},
	{"a store's value and time left, read in two steps", "TestModelLoadOrder"},
	{"a claim of unknown outcome, late packets, and the janitor", "TestModelJanitor"},
	{"the same where the claim was a swap", "TestModelJanitorSwap"},
	{"the same under an open policy, with the outcome of the run without a record", "TestModelJanitorOpen"},
	{"a release that this process holds and has not written", "TestModelJanitorHeldRelease"},
	{"a resolver that settles what another may still settle", "TestModelResolver"},
	{"all orders of claim, renewal, lapse, take-over and settle, with a broken variant for each rule, by the model checker spin", "TestSpin_TheProtocolHoldsInEveryOrder"},
	{"the contract of a store, call by call, against a map", "TestStoreThatKeepsTheContractPasses"},
}

// checkOf finds the number of the invariant in a test's name.
var checkOf = regexp.MustCompile(`^TestI([0-9]+)_`)

// Invariants is the page that names, for each invariant, the tests that check it
// and the switches under which these fail; made from the tests below root.
func Invariants(root string) (string, error) {
	tests, err := readShown(root)
	if err != nil {
		return "", err
	}
	return invariantsPage(tests, broken.Rules)
}

func invariantsPage(tests []shownBy, rules []broken.Entry) (string, error) {
	var b strings.Builder
	b.WriteString(`# Invariants, and the tests that check them

Made from the names of the tests and from ` + "`internal/broken/rules.go`" + `; a test of ` + "`internal/docs`" + ` fails while this page says anything else, or while an invariant has no test or no switch. To make it anew: ` + "`go run ./internal/docs/write`" + `.

A switch breaks one rule on purpose. ` + "`make broken RULE=name`" + ` turns it on and sees the tests beside it fail ([why](../adr/0004-switches-that-break-rules.md)).

| | invariant | tests | fail with |
|---|---|---|---|
`)
	for i, says := range invariants {
		var names, switches []string
		for _, t := range tests {
			if m := checkOf.FindStringSubmatch(t.name); m != nil && m[1] == fmt.Sprint(i+1) {
				names = append(names, t.name)
			}
		}
		for _, r := range rules {
			if slices.Contains(names, r.Test) && !slices.Contains(switches, r.Name) {
				switches = append(switches, r.Name)
			}
		}
		if len(names) == 0 || len(switches) == 0 {
			return "", fmt.Errorf("invariant I%d has the tests %v, and they fail with %v: both have to be something", i+1, names, switches)
		}
		slices.Sort(names)
		slices.Sort(switches)
		fmt.Fprintf(&b, "| I%d | %s | %s | %s |\n", i+1, says, code(names), code(switches))
	}
	b.WriteString(`
` + "`TestScripts_InvariantsHold`" + ` holds I1 to I9 and I13 after every step of scripts that are drawn at random, for three processes over one store: requests, forces, discards, marks, endings, crashes, changes of policy, time, and store calls that are refused, slow, late, or applied without a reply. A script that breaks one is shown as short as it can be made. ` + "`TestProof_EveryHistoryIsLegal`" + ` and ` + "`TestCrash_EveryKeyEndsAsTheTableSays`" + ` ask the same of real processes that are killed, over a real server that loses replies.

` + "`" + `make broken` + "`" + ` without a name walks all switches, those of the other rules too. The rules of idem.js (C1 to C14, T3, T4) have theirs: ` + "`npm run broken`" + ` in ` + "`frontend/`" + `.

## Models

A model draws one part of the protocol so small that every order of its events can be tried. The decisions are the code's own; each has variants with a rule left out, which must be found wrong. The models of the browser's half (client, wire, server, faults) are in ` + "`frontend/test/model/`" + `.

| model of | test |
|---|---|
`)
	for _, m := range models {
		if !slices.ContainsFunc(tests, func(t shownBy) bool { return t.name == m[1] }) {
			return "", fmt.Errorf("the model of %s is %s, which is not there", m[0], m[1])
		}
		fmt.Fprintf(&b, "| %s | `%s` |\n", m[0], m[1])
	}
	return b.String(), nil
}
