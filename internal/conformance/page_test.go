package main

import (
	"os"
	"strings"
	"testing"

	"github.com/go-idem/idem/adapters/adaptertest"
)

func TestNamesBecomeSentences(t *testing.T) {
	for name, want := range map[string]string{
		"Statement49a_TheHeadAloneDecides":                   "49a: The head alone decides",
		"Statement05_255BytesPass256DoNot":                   "5: 255 bytes pass 256 do not",
		"Statement14_JSONByMeaningNumbersAsWritten":          "14: JSON by meaning numbers as written",
		"Statement18_ARefreshedLoginReplays":                 "18: A refreshed login replays",
		"Statement03_RequiredAndMissing_OptionalAndAbsent":   "3: Required and missing; optional and absent",
		"Statement52_EarlyDataWithoutAKeyIsAPlain425":        "52: Early data without a key is a plain 425",
		"Statement58b_TheJanitorTakesThePlaceOfALateClaim":   "58b: The janitor takes the place of a late claim",
		"Statement32_AfterRetentionAKeyIsNewATokenForgotten": "32: After retention a key is new a token forgotten",
	} {
		if number, words := titleOf(name); number+": "+words != want {
			t.Errorf("%s reads %q, want %q", name, number+": "+words, want)
		}
	}
}

// The page is what was seen: one result that failed or is missing, and there is
// no page.
func TestThePageHoldsOnlyWhatWasSeen(t *testing.T) {
	statements := []string{"Statement01_One", "Statement02_Two"}
	var all []adaptertest.Result
	for _, st := range statements {
		for _, a := range adapters {
			for _, store := range stores {
				r := adaptertest.Result{Statement: st, Adapter: a.name, Backend: store}
				if a.name == "fiber" && st == "Statement02_Two" {
					r.NotOfThis = "it cannot"
				}
				all = append(all, r)
			}
		}
	}
	page, err := pageOf(statements, all)
	if err != nil || !strings.Contains(page, "| 2 | Two | holds | holds | not of this framework (1) |") || !strings.Contains(page, "1. It cannot.") {
		t.Errorf("%v in\n%s", err, page)
	}
	if _, err := pageOf(statements, all[1:]); err == nil || !strings.Contains(err.Error(), "Statement01_One was not played on stdhttp with memory") {
		t.Errorf("one missing: %v", err)
	}
	all[0].Failures = []string{"it broke"}
	if _, err := pageOf(statements, all); err == nil || !strings.Contains(err.Error(), "it broke") {
		t.Errorf("one failed: %v", err)
	}
}

// The page in docs names every statement of the suite, and no other.
func TestThePageIsOfThisSuite(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	for _, st := range adaptertest.Statements() {
		number, words := titleOf(st)
		if row := "| " + number + " | " + words + " |"; !strings.Contains(text, row) {
			t.Errorf("the page lacks %q: make conformance writes it anew", row)
		}
	}
	if rows, want := strings.Count(text, "\n| ")-1, len(adaptertest.Statements()); rows != want {
		t.Errorf("the page has %d rows, the suite %d statements: make conformance writes it anew", rows, want)
	}
}
