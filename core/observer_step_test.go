package idem

import "testing"

// Given the list of the kinds of steps, then each knows its own place, and a word
// that is none has no place.
func TestEachKindOfStepKnowsItsPlace(t *testing.T) {
	for i, kind := range stepKinds {
		if kind.place() != i {
			t.Errorf("%q is at %d and says %d", kind, i, kind.place())
		}
	}
	if n := StepKind("none").place(); n < len(stepKinds) {
		t.Errorf("a word that is no kind has place %d", n)
	}
}
