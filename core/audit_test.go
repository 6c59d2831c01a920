package idem

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// clerk is an auditor that writes down what it is told, and can be made to refuse.
type clerk struct {
	diary
	events []Transition
	refuse func(Transition) error
	shut   error
	panics bool
}

func (c *clerk) Audit(_ context.Context, t Transition) error {
	if c.panics {
		panic("no ink")
	}
	c.write("%s %s-%s %s ran=%v", t.Change, t.From, t.To, word(t.Verdict), t.Ran)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, t)
	if c.refuse != nil {
		return c.refuse(t)
	}
	return nil
}

func word(v Verdict) string {
	if v == 0 {
		return "-"
	}
	return v.String()
}

func (c *clerk) Open() error { return c.shut }

func (c *clerk) on(cfg *Config) { cfg.Auditor = c }

// refusesClaims is what a strict auditor does whose sink is down.
func refusesClaims(t Transition) error {
	if t.Ran || t.Change == ChangeMend {
		return nil
	}
	return errors.New("the sink is down")
}

func TestAuditTellsEveryTransitionOnce(t *testing.T) {
	background := context.Background()
	end := func(how func(*Claim) error) func(*testing.T, *shelf, *Guard) {
		return func(t *testing.T, _ *shelf, g *Guard) { _ = how(won(t, g, testIntent("k"))) }
	}
	held := func(t *testing.T, g *Guard) Record {
		_ = won(t, g, testIntent("k")).Doubt(background)
		rec, err := g.Record(background, g.RecordName(testOperation, "alice", KindKey, "k"))
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	claim := "claim absent-processing - ran=false"
	for _, row := range []struct {
		name   string
		change func(*Config)
		act    func(*testing.T, *shelf, *Guard)
		want   []string
	}{
		{"complete", nil, end(func(c *Claim) error { return c.Complete(background, Payload{}) }), []string{claim, "complete processing-succeeded executed ran=true"}},
		{"fail", nil, end(func(c *Claim) error { return c.Fail(background, Payload{}) }), []string{claim, "fail processing-failed executed ran=true"}},
		{"doubt", nil, end(func(c *Claim) error { return c.Doubt(background) }), []string{claim, "doubt processing-uncertain uncertain ran=true"}},
		{"release, and again", nil, func(t *testing.T, _ *shelf, g *Guard) {
			_ = won(t, g, testIntent("k")).Release(background)
			_ = won(t, g, testIntent("k")).Complete(background, Payload{})
		}, []string{claim, "release processing-released released ran=true", "claim released-processing - ran=false", "complete processing-succeeded executed ran=true"}},
		{"a replay changes nothing", nil, func(t *testing.T, _ *shelf, g *Guard) {
			_ = won(t, g, testIntent("k")).Complete(background, Payload{})
			claimed(t, g, testIntent("k"))
		}, []string{claim, "complete processing-succeeded executed ran=true"}},
		{"a renewal changes nothing", nil, func(t *testing.T, _ *shelf, g *Guard) {
			c := won(t, g, testIntent("k"))
			pass(2 * time.Second)
			_ = c.Complete(background, Payload{})
		}, []string{claim, "complete processing-succeeded executed ran=true"}},
		{"retake", policy(func(p *Policy) { p.OnCrash = Retake }), func(t *testing.T, s *shelf, g *Guard) {
			dead := guardOn(t, s, policy(func(p *Policy) { p.OnCrash = Retake }))
			won(t, dead, testIntent("k"))
			s.script(only("renew", fault{refuse: true}))
			pass(2 * time.Second)
			_ = won(t, g, testIntent("k")).Complete(background, Payload{})
		}, []string{"retake processing-processing - ran=false", "complete processing-succeeded executed ran=true"}},
		{"force", forceable, func(t *testing.T, _ *shelf, g *Guard) {
			_ = won(t, g, testIntent("k")).Complete(background, Payload{})
			_ = won(t, g, forced("k")).Complete(background, Payload{})
		}, []string{claim, "complete processing-succeeded executed ran=true", "force succeeded-processing - ran=false", "complete processing-succeeded executed ran=true"}},
		{"resolve", nil, func(t *testing.T, _ *shelf, g *Guard) {
			if _, err := g.Resolve(background, held(t, g), Resolution{Outcome: Completes}, By{"ann", "in the list"}); err != nil {
				t.Error(err)
			}
		}, []string{claim, "doubt processing-uncertain uncertain ran=true", "resolve uncertain-succeeded - ran=false"}},
		{"keep", nil, func(t *testing.T, _ *shelf, g *Guard) {
			if _, err := g.Keep(background, held(t, g)); err != nil {
				t.Error(err)
			}
		}, []string{claim, "doubt processing-uncertain uncertain ran=true", "keep uncertain-uncertain - ran=false"}},
		{"bury", nil, func(t *testing.T, _ *shelf, g *Guard) {
			in := tokenIntent(issued(t, g, time.Now()))
			pass(20 * time.Minute)
			claimed(t, g, in)
			claimed(t, g, in)
		}, []string{"bury absent-buried dead ran=false"}},
		{"discard", nil, func(t *testing.T, _ *shelf, g *Guard) {
			in := tokenIntent(issued(t, g, time.Now()))
			_, _, _ = g.Discard(background, in)
			_, _, _ = g.Discard(background, in)
		}, []string{"discard absent-buried - ran=false"}},
		{"a claim whose outcome stays unknown is mended", nil, func(t *testing.T, s *shelf, g *Guard) {
			s.script(only("claim", fault{loseReply: true}))
			_, _ = g.Claim(background, testIntent("k"))
			synctest.Wait()
		}, []string{"mend processing-released - ran=false"}},
		{"a settle that is lost is told when it is known", nil, func(t *testing.T, s *shelf, g *Guard) {
			c := won(t, g, testIntent("k"))
			s.first(1, "settle", fault{loseReply: true})
			_ = c.Complete(background, Payload{})
			pass(time.Second)
		}, []string{claim, "complete processing-succeeded executed ran=true"}},
		{"a burial of which the store does not say whether it was made", nil, func(t *testing.T, s *shelf, g *Guard) {
			in := tokenIntent(issued(t, g, time.Now()))
			pass(20 * time.Minute)
			s.script(only("bury", fault{loseReply: true}))
			if c, err := g.Claim(background, in); err == nil || c.Verdict() != Unavailable {
				t.Error("the burial is known")
			}
		}, []string{"bury absent-buried unavailable ran=false"}},
		{"a discard of which it does not say so", nil, func(t *testing.T, s *shelf, g *Guard) {
			s.script(only("bury", fault{loseReply: true}))
			_, _, _ = g.Discard(background, tokenIntent(issued(t, g, time.Now())))
		}, []string{"discard absent-buried unavailable ran=false"}},
		{"a resolve of which it does not say so", nil, func(t *testing.T, s *shelf, g *Guard) {
			rec := held(t, g)
			s.script(only("settle", fault{loseReply: true}))
			if _, err := g.Resolve(background, rec, Resolution{Outcome: Completes}, By{"ann", "in the list"}); !errors.Is(err, ErrUnavailable) {
				t.Error(err)
			}
		}, []string{claim, "doubt processing-uncertain uncertain ran=true", "resolve uncertain-succeeded unavailable ran=false"}},
		{"a claim that the store lost and a renewal made anew", nil, func(t *testing.T, s *shelf, g *Guard) {
			c := won(t, g, testIntent("k"))
			s.mu.Lock()
			clear(s.items)
			s.mu.Unlock()
			pass(2 * time.Second)
			_ = c.Complete(background, Payload{})
		}, []string{claim, "recreate absent-processing - ran=true", "complete processing-succeeded executed ran=true"}},
		{"an outcome whose record is gone", nil, func(t *testing.T, s *shelf, g *Guard) {
			c := won(t, g, testIntent("k"))
			s.mu.Lock()
			clear(s.items)
			s.mu.Unlock()
			_ = c.Complete(background, Payload{})
		}, []string{claim, "complete absent-succeeded executed ran=true"}},
		{"a run without a record", policy(func(p *Policy) { p.OnOutage = Open }), func(t *testing.T, s *shelf, g *Guard) {
			s.script(func(shelfCall) fault { return fault{refuse: true} })
			c := won(t, g, testIntent("k"))
			s.script(nil)
			_ = c.Complete(background, Payload{})
		}, []string{"open absent-absent unprotected ran=false", "complete absent-succeeded unprotected ran=true"}},
		{"Observe runs beside", policy(func(p *Policy) { p.Mode = ModeObserve }), func(t *testing.T, _ *shelf, g *Guard) {
			c := won(t, g, testIntent("k"))
			beside := won(t, g, testIntent("k"))
			_ = beside.Complete(background, Payload{})
			_ = c.Complete(background, Payload{})
		}, []string{claim, "complete processing-succeeded executed ran=true"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k, s := &clerk{}, newShelf()
				changes := []func(*Config){k.on}
				if row.change != nil {
					changes = append(changes, row.change)
				}
				row.act(t, s, aged(t, s, changes...))
				if got := k.read(); !slices.Equal(got, row.want) {
					t.Errorf("told\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(row.want, "\n  "))
				}
				for _, e := range k.events {
					if e.Time.IsZero() || e.Operation != testOperation || e.KeyHash() == "" || e.Fence == 0 || len(e.Owner) != 24 {
						t.Errorf("an event that says too little: %+v", e)
					}
					if said := fmt.Sprintf("%+v", e); strings.Contains(said, "alice") {
						t.Errorf("an event that says too much: %s", said)
					}
				}
			})
		})
	}
}

func TestAuditSaysWhoAndWhose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &clerk{}
		g := guardOn(t, newShelf(), k.on)
		in := testIntent("k")
		in.Client, in.Trace = "192.0.2.7", []byte("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		_ = won(t, g, in).Doubt(context.Background())
		rec, _ := g.Record(context.Background(), g.RecordName(testOperation, "alice", KindKey, "k"))
		_, _ = g.Resolve(context.Background(), rec, Resolution{Outcome: Fails}, By{"ann", "refunded"})
		first, last := k.events[0], k.events[2]
		if first.Client != in.Client || string(first.Trace) != string(in.Trace) || first.Scope != g.ScopeHash("alice") || first.KeyHash() != rec.KeyHash() {
			t.Errorf("the claim is %+v", first)
		}
		if last.Actor != "ann" || last.Reason != "refunded" || last.Owner == first.Owner || last.Fence <= first.Fence {
			t.Errorf("the resolve is %+v", last)
		}
		if first.ID() == k.events[1].ID() || k.events[1].ID() == last.ID() {
			t.Error("two events have one ID")
		}
	})
}

func TestAuditClaimThatCannotBeWrittenIsNotStarted(t *testing.T) {
	for _, panics := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			k, s := &clerk{refuse: refusesClaims, panics: panics}, newShelf()
			g := guardOn(t, s, k.on)
			_, verdict, err := Do(context.Background(), g, testIntent("k"), JSON[int](), func(context.Context) (int, error) {
				t.Error("the handler ran")
				return 0, nil
			})
			if verdict != Unavailable || !errors.Is(err, ErrUnavailable) {
				t.Errorf("%v, %v", verdict, err)
			}
			synctest.Wait()
			if r, _ := s.record(t); r.state != StateReleased {
				t.Errorf("the claim is left %v", r.state)
			}
			k.refuse, k.panics = nil, false
			won(t, g, testIntent("k")) // the same key may run
		})
	}
}

// Given a claim that is refused by the auditor and was forced, then it is not
// released: what it was forced over may have had an effect.
func TestAuditForcedClaimThatIsNotStartedIsDoubted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, s := &clerk{}, newShelf()
		g := guardOn(t, s, k.on, forceable)
		_ = won(t, g, testIntent("k")).Complete(context.Background(), Payload{})
		k.refuse = refusesClaims
		if c, err := g.Claim(context.Background(), forced("k")); err == nil || c.Won() {
			t.Error("it was won")
		}
		synctest.Wait()
		if r, _ := s.record(t); r.state != StateUncertain {
			t.Errorf("the record is %v", r.state)
		}
	})
}

func TestAuditChangesNothingAboutARunThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &clerk{refuse: func(e Transition) error {
			if e.Ran {
				return errors.New("down")
			}
			return nil
		}}
		g := guardOn(t, newShelf(), k.on)
		v, verdict, err := Do(context.Background(), g, testIntent("k"), JSON[int](), func(context.Context) (int, error) { return 7, nil })
		if v != 7 || verdict != Executed || err != nil {
			t.Errorf("%v, %v, %v", v, verdict, err)
		}
		if v, verdict, _ = Do(context.Background(), g, testIntent("k"), JSON[int](), func(context.Context) (int, error) { return 8, nil }); v != 7 || verdict != Replayed {
			t.Errorf("the repeat: %v, %v", v, verdict)
		}
	})
}

// Given an auditor that says it cannot write, then nothing is claimed, buried,
// discarded or resolved, no value is written, and what is done is still replayed.
func TestAuditGateKeepsRecordsAsTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		background := context.Background()
		k, s := &clerk{}, newShelf()
		g := aged(t, s, k.on)
		expired := tokenIntent(issued(t, g, time.Now()))
		pass(20 * time.Minute)
		_ = won(t, g, testIntent("done")).Complete(background, Payload{})
		_ = won(t, g, testIntent("held")).Doubt(background)
		rec, _ := g.Record(background, g.RecordName(testOperation, "alice", KindKey, "held"))
		writes := func() int { return s.count("claim") + s.count("settle") + s.count("bury") }
		before := writes()
		k.shut = errors.New("down")
		if c, err := g.Claim(background, testIntent("new")); !errors.Is(err, ErrUnaudited) || c.Won() || c.Verdict() != Unavailable {
			t.Errorf("a new key: %v", err)
		}
		if c, err := g.Claim(background, expired); err == nil || c.Verdict() != Unavailable {
			t.Errorf("an expired token: %v", err)
		}
		if c := claimed(t, g, testIntent("done")); c.Verdict() != Replayed {
			t.Errorf("what is done: %v", c.Verdict())
		}
		if _, _, err := g.Discard(background, expired); !errors.Is(err, ErrUnavailable) {
			t.Errorf("a discard: %v", err)
		}
		if now, err := g.Resolve(background, rec, Resolution{Outcome: Releases}, By{"ann", "x"}); !errors.Is(err, ErrUnavailable) || now.State != StateUncertain {
			t.Errorf("a resolve: %v, %v", now.State, err)
		}
		if n := writes() - before; n != 0 {
			t.Errorf("%d calls wrote", n)
		}
		k.shut = nil
		won(t, g, testIntent("new"))
	})
}

func TestAuditCostsNothingWithoutAnAuditor(t *testing.T) {
	g := guardOn(t, newShelf())
	if g.audit != nil {
		t.Fatal("there is an auditor")
	}
	c := won(t, g, testIntent("k"))
	if c.audited != nil {
		t.Error("a claim carries an audit log's things")
	}
	_ = c.Complete(context.Background(), Payload{})
}

// Given batches, by themselves and all or nothing, then each item tells its own
// story, and what was only reserved did not run.
func TestAuditTellsOfEachItemOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		background := context.Background()
		k, s := &clerk{}, newShelf()
		g := guardOn(t, s, k.on)
		claims, err := g.ClaimBatch(background, []Intent{testIntent("a"), testIntent("b")})
		if err != nil {
			t.Fatal(err)
		}
		g.SettleBatch(background, []Settlement{{Claim: claims[0], Outcome: Completes}, {Claim: claims[1], Outcome: Releases}})
		claim := "claim absent-processing - ran=false"
		want := []string{claim, claim, "complete processing-succeeded executed ran=true", "release processing-released released ran=true"}
		if got := k.read(); !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
		claims, err = g.ClaimBatch(background, []Intent{testIntent("a"), testIntent("c")}, Atomic())
		if err != nil || claims[1].Won() {
			t.Fatalf("a batch with an item that is done was won: %v", err)
		}
		want = []string{claim, "release processing-released released ran=false"}
		if got := k.read(); !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}

// Given an auditor that refuses one item of an all-or-nothing batch, then none is
// run and nothing is left held.
func TestAuditRefusesABatchAsAWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, s := &clerk{}, newShelf()
		n := 0
		k.refuse = func(e Transition) error {
			if n++; e.Change == ChangeClaim && n == 2 {
				return errors.New("down")
			}
			return nil
		}
		g := guardOn(t, s, k.on)
		claims, err := g.ClaimBatch(context.Background(), []Intent{testIntent("a"), testIntent("b")}, Atomic())
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("%v", err)
		}
		for _, c := range claims {
			if c.Won() {
				t.Error("an item was won")
			}
		}
		pass(5 * time.Second)
		s.mu.Lock()
		defer s.mu.Unlock()
		for name, held := range s.items {
			if r, err := decodeRecord(held.value); !isCard(name) && (err != nil || r.state != StateReleased) {
				t.Errorf("%s is left %v, %v", name, r.state, err)
			}
		}
	})
}
