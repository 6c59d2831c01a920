package main

import (
	"strings"
	"testing"

	"github.com/go-idem/idem/examples/internal/bookshop"
	"github.com/go-idem/idem/internal/leaktest"
)

// Nothing may be left running when all is closed.
func TestMain(m *testing.M) { leaktest.Main(m) }

// Every trouble ends as promised, and without the guard the same troubles do
// not: otherwise the self-check would check nothing.
func TestEveryTroubleEndsAsPromised(t *testing.T) {
	var out, errs strings.Builder
	if code := bookshop.Main([]string{"-selfcheck"}, &out, &errs, build); code != 0 {
		t.Errorf("exit code %d: %s\n%s", code, errs.String(), out.String())
	}
	if n := strings.Count(out.String(), " yes "); n != 8 {
		t.Errorf("%d troubles ended as promised, want 8", n)
	}
}

func TestWithoutTheGuardTheyDoNot(t *testing.T) {
	var out, errs strings.Builder
	if code := bookshop.Main([]string{"-selfcheck", "-without=guard"}, &out, &errs, build); code != 1 {
		t.Errorf("exit code %d, want 1: %s\n%s", code, errs.String(), out.String())
	}
	if n := strings.Count(out.String(), " NO "); n < 6 {
		t.Errorf("only %d troubles went wrong:\n%s", n, out.String())
	}
}

func TestWhatItCannotDoIsSaid(t *testing.T) {
	var out, errs strings.Builder
	if code := bookshop.Main([]string{"-without=tea"}, &out, &errs, build); code != 2 || !strings.Contains(errs.String(), "guard") {
		t.Errorf("exit code %d, said %q", code, errs.String())
	}
}
