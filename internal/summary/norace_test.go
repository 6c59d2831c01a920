package main

import (
	"bytes"
	"slices"
	"testing"
	"time"
)

func TestWhatSkipsForTheRaceDetectorIsRunAgainWithoutIt(t *testing.T) {
	o := options{timeout: time.Minute, pkgs: []string{"./testdata/counts"}}
	t.Setenv("SUMMARY_FIXTURE_RACE", "1")
	s := goSuite(t.Context(), ".", ".", false, o, &bytes.Buffer{})
	if got := s.count(skipped); got != 3 {
		t.Fatalf("the first run skipped %d, want 3: %q", got, outcomes(s.results))
	}
	t.Setenv("SUMMARY_FIXTURE_RACE", "")
	again := withoutRace(t.Context(), ".", ".", s, o, &bytes.Buffer{})
	if again == nil {
		t.Fatal("nothing was run again")
	}
	if got, want := outcomes(again.results), []string{"passed TestAllocations/of_one", "passed TestMore/below"}; !slices.Equal(got, want) {
		t.Errorf("run again: %q, want %q", got, want)
	}
	if got, want := outcomes(s.results), []string{"passed TestAllocations/of_another", "skipped TestOther"}; !slices.Equal(got, want) {
		t.Errorf("left with the first run: %q, want %q", got, want)
	}
	if withoutRace(t.Context(), ".", ".", s, o, &bytes.Buffer{}) != nil {
		t.Error("what skips for another reason was run again")
	}
}
