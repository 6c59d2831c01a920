package idem

import (
	"context"
	"strings"
	"testing"
	"time"
)

// clockless is a store whose clock answers as it is told to.
type clockless struct {
	*shelf
	err error
}

func (s clockless) Now(context.Context) (time.Time, error) { return time.Now(), s.err }

// wrapped is a decorator without a clock of its own.
type wrapped struct{ Store }

func (w wrapped) Unwrap() Store { return w.Store }

// Given a store that tells its clock, or has none, or has one that cannot be asked
// as it is set up, or does not answer yet, then the report says which clock goes.
func TestTheReportSaysWhoseClockGoes(t *testing.T) {
	for _, c := range []struct {
		name  string
		store Store
		says  string
	}{
		{"it tells its clock", clockless{newShelf(), nil}, ", its clock is used\n"},
		{"behind a decorator", wrapped{clockless{newShelf(), nil}}, ", its clock is used\n"},
		{"it has none", newShelf(), ", its clock is not told: hosts must agree within 10m0s\n"},
		{"it cannot be asked", clockless{newShelf(), ErrUnable}, ", its clock is not told: hosts must agree within 10m0s\n"},
		{"it does not answer yet", clockless{newShelf(), errShelf}, ", its clock is used as soon as it answers\n"},
	} {
		if report := guardOn(t, c.store).Report(); !strings.Contains(report, c.says) {
			t.Errorf("%s: the report does not say %q:\n%s", c.name, c.says, report)
		}
	}
}

// Given a policy whose duplicates wait, then the report says for how long; a Wait
// beside another choice plays no part and is not told.
func TestTheReportSaysHowLongADuplicateWaits(t *testing.T) {
	for _, c := range []struct {
		policy Policy
		says   string
	}{
		{Policy{Operation: testOperation, Preset: Form}, "  duplicate wait up to 5s, "},
		{Policy{Operation: testOperation, Preset: API, Wait: time.Minute}, "  duplicate reject, "},
	} {
		g := guardOn(t, newShelf(), func(cfg *Config) { cfg.Policies = []Policy{c.policy} })
		if report := g.Report(); !strings.Contains(report, c.says) {
			t.Errorf("the report does not say %q:\n%s", c.says, report)
		}
	}
}
