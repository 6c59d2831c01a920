package idem

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestAChoiceReadsBackWhatItTells(t *testing.T) {
	for _, c := range []FingerprintChoice{
		{}, {Mode: FingerprintNone}, {Mode: FingerprintCanonical}, {Only: []string{"/b", "/a", "/a"}}, {Ignore: []string{"/csrf", `/with "quotes" and spaces`}},
	} {
		got, ok := parseChoice(c.String())
		if !ok || got.String() != c.String() || got.Version() != c.Version() {
			t.Errorf("%s reads back as %s, %v", c, got, ok)
		}
	}
	for _, text := range []string{"", "canonical/2", "canonical/1 only", `canonical/1 only ["/b","/a"]`, `canonical/1 but ["/a"]`, "raw/1", "none/1 only [\"/a\"]"} {
		if c, ok := parseChoice(text); ok {
			t.Errorf("%q was read as %s", text, c)
		}
	}
}

// A deploy that changes how fingerprints are made does not make every retry of
// the last hour a conflict, nor let a changed request pass (PROTOCOL section 7).
//
// Faults: 45.
func TestRecordsOfTheChoiceBeforeAreStillCompared(t *testing.T) {
	for _, restart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newShelf()
			g := guardOn(t, s)
			content := func(body string) Content {
				return Content{Method: "POST", Path: "/orders", ContentType: "application/json", Body: []byte(body)}
			}
			ask := func(body string) Intent {
				in := testIntent("k")
				p, _ := g.Policy(testOperation)
				in.Fingerprint = g.Fingerprint(p, content(body))
				in.Refingerprint = func(by FingerprintChoice) (Fingerprint, error) {
					return g.Fingerprint(&Policy{Fingerprint: by}, content(body)), nil
				}
				return in
			}
			_ = won(t, g, ask(`{"amount":1,"csrf":"a"}`)).Complete(context.Background(), Payload{})
			changed := FingerprintChoice{Ignore: []string{"/csrf"}}
			if restart {
				g = guardOn(t, s, policy(func(p *Policy) { p.Fingerprint = changed }))
			} else {
				p, _ := g.Policy(testOperation)
				next := *p
				next.Fingerprint = changed
				if err := g.SetPolicy(next); err != nil {
					t.Fatal(err)
				}
			}
			wantVerdict(t, claimed(t, g, ask(`{"csrf":"a","amount":1}`)), Replayed)
			wantVerdict(t, claimed(t, g, ask(`{"amount":2,"csrf":"a"}`)), Conflict)
			if n := g.Stats().Strange; n != 0 {
				t.Errorf("%d records could not be compared", n)
			}
			without := ask(`{"amount":2,"csrf":"a"}`)
			without.Refingerprint = nil // nobody can tell: it is replayed, and counted
			wantVerdict(t, claimed(t, g, without), Replayed)
			if n := g.Stats().Strange; n != 1 {
				t.Errorf("%d records counted as not compared, want 1", n)
			}
		})
	}
}
