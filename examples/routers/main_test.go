package main

import (
	"strings"
	"testing"

	"github.com/go-idem/idem/internal/leaktest"
)

// Nothing may be left running when all is closed.
func TestMain(m *testing.M) { leaktest.Main(m) }

func TestBothRoutersAnswerAsPromised(t *testing.T) {
	var out, errs strings.Builder
	if code := run([]string{"-selfcheck"}, &out, &errs); code != 0 {
		t.Errorf("exit code %d: %s\n%s", code, errs.String(), out.String())
	}
	if n := strings.Count(out.String(), " yes\n"); n != len(steps) {
		t.Errorf("%d of %d requests were answered as promised", n, len(steps))
	}
}

func TestAnotherRouterIsRefused(t *testing.T) {
	var out, errs strings.Builder
	if code := run([]string{"-router", "mux"}, &out, &errs); code != 2 || !strings.Contains(errs.String(), "neither chi nor gin") {
		t.Errorf("exit code %d, said %q", code, errs.String())
	}
}
