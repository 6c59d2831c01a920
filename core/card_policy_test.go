package idem

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

const strange = "operation runs under another policy elsewhere"

// told is a guard's log.
type told struct {
	*Guard
	log *bytes.Buffer
}

func (g told) strangers() int { return strings.Count(g.log.String(), strange) }

func toldGuard(t *testing.T, s Store, p Policy) told {
	t.Helper()
	var log bytes.Buffer
	p.Operation, p.Preset = testOperation, API
	g := guardOn(t, s, func(c *Config) {
		c.Policies, c.Logger = []Policy{p}, slog.New(slog.NewTextHandler(&log, nil))
	})
	return told{g, &log}
}

func (g told) look(t *testing.T) {
	t.Helper()
	if err := g.readCards(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Two services that use one operation's name are both told so, once, as is the
// rest of a deploy.
func TestT6_AnotherPolicyUnderTheNameIsSaidOnce(t *testing.T) {
	s := newShelf()
	first := toldGuard(t, s, Policy{})
	same := toldGuard(t, s, Policy{})
	first.look(t)
	if n := first.strangers() + same.strangers(); n > 0 {
		t.Fatalf("two of one policy are strangers %d times", n)
	}

	other := toldGuard(t, s, Policy{OnCrash: Retake})
	if other.strangers() != 1 || !strings.Contains(other.log.String(), "Prefix") {
		t.Errorf("who came second was told %d times, or not what to do: %s", other.strangers(), other.log)
	}
	for range 3 {
		for _, g := range []told{first, same, other} {
			g.look(t)
		}
	}
	for i, g := range []told{first, same, other} {
		if g.strangers() != 1 {
			t.Errorf("guard %d was told %d times, want once", i, g.strangers())
		}
	}

	third := toldGuard(t, s, Policy{OnOther4xx: Release})
	first.look(t)
	if third.strangers() != 1 || first.strangers() != 2 {
		t.Errorf("of one more policy the newcomer was told %d times, want 1, and the first one %d in all, want 2", third.strangers(), first.strangers())
	}
}

// A guard knows its own policies again.
func TestAPolicyThatWasOursIsNoStranger(t *testing.T) {
	s := newShelf()
	g := toldGuard(t, s, Policy{})
	for _, p := range []Policy{{OnCrash: Retake}, {Retention: 48 * time.Hour}, {}, {MaxRun: time.Minute}} { // the second writes the card
		p.Operation, p.Preset = testOperation, API
		if err := g.SetPolicy(p); err != nil {
			t.Fatal(err)
		}
		g.look(t)
	}
	if g.strangers() > 0 {
		t.Errorf("its own policies are strangers: %s", g.log)
	}
}

func TestNotesOfPoliciesAreBounded(t *testing.T) {
	var s cardState
	for i := range 100 {
		s.runs(strings.Repeat("o", i))
		if !s.isStrange(strings.Repeat("x", i+1)) || s.isStrange(strings.Repeat("x", i+1)) {
			t.Fatalf("policy %d was not told once", i)
		}
	}
	if len(s.policies.ours) > mostNotes || len(s.policies.told) > mostNotes {
		t.Errorf("%d and %d are kept", len(s.policies.ours), len(s.policies.told))
	}
	if s.isStrange("") {
		t.Error("a card without a hash names no policy")
	}
}

func TestPrefixesThatMakeNamesOfOthersAreRefused(t *testing.T) {
	for prefix, says := range map[string]string{
		"shop": "end in ':'", "idem:sho": "end in ':'", "{idem}:": "more than a name", "idem*:": "more than a name",
		"a b:": "without spaces", "é:": "ASCII", strings.Repeat("x", 64) + ":": "64 bytes",
	} {
		_, err := New(Config{Store: newShelf(), NameKey: testNameKey, Prefix: prefix, Policies: []Policy{{Operation: testOperation, Preset: API}}})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("prefix %q: %v, want an error that says %q", prefix, err, says)
		}
	}
	if err := validPrefix("idem:shop-1:"); err != nil {
		t.Error(err)
	}
}

func TestTheReportHasWhatTheStoreTells(t *testing.T) {
	g := guardOn(t, newShelf())
	if strings.Contains(g.Report(), "\n  pool of 7") {
		t.Fatal("a store that tells nothing has details")
	}
	g = guardOn(t, detailed{newShelf()})
	if report := g.Report(); !strings.Contains(report, "store detailed") || !strings.Contains(report, "\n  no retries\n  pool of 7\n") {
		t.Errorf("the report does not tell the store's details:\n%s", report)
	}
}

type detailed struct{ *shelf }

func (detailed) Describe() Description {
	return Description{Name: "detailed", WorstCall: time.Millisecond, Details: "no retries\npool of 7\n"}
}

// One name has one prefix and one operation: whatever two services choose, their
// records and cards are apart, or they are one operation in one place.
func TestANameHasOnePrefixAndOneOperation(t *testing.T) {
	for _, name := range []string{"a:b:c", "idem:a:b:c", "idem:shop:a:b:card", "a:a:a:a:a:a", "x-y:a.b:c_d:e-f", "card:card:card:card"} {
		whole, splits := name, 0
		for i := 1; i < len(whole); i++ {
			if validPrefix(whole[:i]) == nil && ValidOperation(whole[i:]) == nil {
				splits++
			}
		}
		if want := min(1, strings.Count(name, ":")-2); splits != want {
			t.Errorf("%q reads as a prefix and an operation in %d ways, want %d", name, splits, want)
		}
		if KeyHash(name+":card") != "" {
			t.Errorf("the card of %q reads as a record", name)
		}
	}
}
