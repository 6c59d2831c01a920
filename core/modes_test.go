package idem

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func mode(m Mode) func(*Config) { return policy(func(p *Policy) { p.Mode = m }) }

// observed gathers what would have become of requests that Observe let run.
type observed struct {
	mu   sync.Mutex
	list []Verdict
}

func (o *observed) Chooses(kind StepKind) bool { return kind == StepObserve }

func (o *observed) Start(ctx context.Context, _ Step) (context.Context, func(StepResult)) {
	return ctx, func(r StepResult) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.list = append(o.list, r.Observed)
	}
}

func (o *observed) take() (list []Verdict) {
	o.mu.Lock()
	defer o.mu.Unlock()
	list, o.list = o.list, nil
	return list
}

func watchedBy(o *observed) func(*Config) { return func(c *Config) { c.Observer = o } }

// ran does an intent and says what became of it and whether fn ran.
func ran(t testing.TB, g *Guard, in Intent) (v Verdict, ran bool) {
	t.Helper()
	got, v, err := Do(context.Background(), g, in, JSON[string](), func(context.Context) (string, error) { ran = true; return "now", nil })
	if ran && (err != nil || got != "now") {
		t.Errorf("it ran, and Do returned %q, %v", got, err)
	}
	return v, ran
}

func TestS8_ObserveRefusesNothingAndReportsEverything(t *testing.T) {
	other := func(in Intent) Intent { in.Fingerprint.Sum[0]++; return in }
	for _, row := range []struct {
		would Verdict
		stage func(t *testing.T, s *shelf, g *Guard) Intent
	}{
		{Conflict, func(t *testing.T, _ *shelf, g *Guard) Intent {
			ran(t, g, testIntent("k"))
			return other(testIntent("k"))
		}},
		{Replayed, func(t *testing.T, _ *shelf, g *Guard) Intent { ran(t, g, testIntent("k")); return testIntent("k") }},
		{Used, func(t *testing.T, _ *shelf, g *Guard) Intent {
			_ = won(t, g, testIntent("k")).Complete(context.Background(), Payload{Partial: true})
			return testIntent("k")
		}},
		{InFlight, func(t *testing.T, _ *shelf, g *Guard) Intent {
			c := won(t, g, testIntent("k"))
			t.Cleanup(func() { c.End(context.Background()) })
			return testIntent("k")
		}},
		{Uncertain, func(t *testing.T, _ *shelf, g *Guard) Intent {
			_ = won(t, g, testIntent("k")).Doubt(context.Background())
			return testIntent("k")
		}},
		{Dead, func(t *testing.T, _ *shelf, g *Guard) Intent { return expired(t, g, time.Now()) }},
		{Forgotten, func(t *testing.T, _ *shelf, g *Guard) Intent { return expired(t, g, time.Now().Add(-24*time.Hour)) }},
		{Foreign, func(t *testing.T, _ *shelf, g *Guard) Intent {
			in := tokenIntent(issued(t, g, time.Now()))
			in.Scope = "eve"
			return in
		}},
		{Foreign, func(*testing.T, *shelf, *Guard) Intent { return Intent{Operation: testOperation, Key: "k"} }}, // nobody's
		{Missing, func(*testing.T, *shelf, *Guard) Intent { return Intent{Operation: testOperation, Scope: "alice"} }},
		{Malformed, func(*testing.T, *shelf, *Guard) Intent { return testIntent(strings.Repeat("k", maxIntentKey+1)) }},
		{Malformed, func(*testing.T, *shelf, *Guard) Intent {
			return Intent{Operation: testOperation, Refused: &RefusedError{Verdict: Malformed}}
		}},
		{Unavailable, func(_ *testing.T, s *shelf, _ *Guard) Intent {
			s.script(func(shelfCall) fault { return fault{refuse: true} })
			return testIntent("k")
		}},
		{Unavailable, func(_ *testing.T, s *shelf, _ *Guard) Intent { // won too late
			s.script(only("claim", fault{slow: 2 * time.Second}))
			return testIntent("k")
		}},
		{Unavailable, func(_ *testing.T, _ *shelf, g *Guard) Intent {
			_ = g.Close(context.Background())
			return testIntent("k")
		}},
	} {
		t.Run(row.would.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, o := newShelf(), &observed{}
				g := aged(t, s, mode(ModeObserve), waiting, watchedBy(o))
				in := row.stage(t, s, g)
				before, began := s.count("settle"), time.Now()
				was, _ := s.record(t)
				verdict, did := ran(t, g, in)
				if got := o.take(); verdict != Unprotected || !did || !slices.Equal(got, []Verdict{row.would}) {
					t.Errorf("%s, ran %v, observed %v; want unprotected, true, %s", verdict, did, got, row.would)
				}
				if took := time.Since(began); took > 3*time.Second || row.would == InFlight && took != 0 {
					t.Errorf("it waited for %v", took)
				}
				if n := g.Stats().Beside; n != 1 {
					t.Errorf("%d runs beside were counted", n)
				}
				s.script(nil)
				is, _ := s.record(t)
				wrote := s.count("settle") != before || is.state != was.state
				if wrote && row.would != Unavailable /* whose claim the janitor gives back */ || s.count("bury") != 0 {
					t.Errorf("the store was written to: the record was %s and is %s", was.state, is.state)
				}
			})
		})
	}
}

// expired is the intent of a token that was issued long enough before now.
func expired(t *testing.T, g *Guard, at time.Time) Intent {
	t.Helper()
	in := tokenIntent(issued(t, g, at))
	pass(20 * time.Minute)
	return in
}

func TestS8_ObserveBuriesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := aged(t, s, mode(ModeObserve))
		in := expired(t, g, time.Now())
		if v, did := ran(t, g, in); v != Unprotected || !did {
			t.Errorf("%s, ran %v", v, did)
		}
		st, verdict, err := g.Discard(context.Background(), in)
		if err != nil || verdict != 0 || st.State != StateAbsent {
			t.Errorf("discard: %s, %s, %v; want that it is absent and no more", st.State, verdict, err)
		}
		if r, _ := s.record(t); r.state != StateAbsent {
			t.Errorf("there is a record, %s", r.state)
		}
	})
}

func TestUnderObserveRecordsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s, mode(ModeObserve))
		c := won(t, g, testIntent("k"))
		pass(5 * time.Second) // five leases
		if r, _ := s.record(t); r.state != StateProcessing || s.count("renew") == 0 || !c.Recorded() {
			t.Errorf("the claim is %s after %d renewals", r.state, s.count("renew"))
		}
		_ = c.Complete(context.Background(), Payload{Bytes: []byte(`"first"`)})
		wantVerdict(t, c, Executed)
		for range 2 {
			if v, did := ran(t, g, testIntent("k")); v != Unprotected || !did {
				t.Errorf("a repeat: %s, ran %v", v, did)
			}
		}
		// Enforced from here on, the record answers.
		if v, did := ran(t, guardOn(t, s), testIntent("k")); v != Replayed || did {
			t.Errorf("enforced: %s, ran %v", v, did)
		}
	})
}

func TestARunBesideIsBoundAndHasItsVocabulary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s, mode(ModeObserve))
		first := won(t, g, testIntent("k"))
		defer first.End(context.Background())
		ctx, leave := context.WithCancel(context.Background())
		c, err := g.Claim(ctx, testIntent("k"))
		if err != nil || !c.Won() || c.Recorded() {
			t.Fatalf("won %v, %v", c.Won(), err)
		}
		leave()
		run := c.Context()
		if run.Err() != nil {
			t.Error("it ended with its client")
		}
		if err := MarkEffects(run, "order 7"); err != nil {
			t.Errorf("mark: %v", err)
		}
		if err := Note(run, "order 7"); err != nil {
			t.Errorf("note: %v", err)
		}
		if Fence(run) == 0 {
			t.Error("it has no fence")
		}
		mine, _ := DownstreamKey(run, "bank")
		if its := first.DownstreamKey("bank"); mine != its {
			t.Error("the repeat of a request has another downstream key than the request")
		}
		pass(time.Minute + time.Second)
		if cause := context.Cause(run); !errors.Is(cause, ErrMaxRun) {
			t.Errorf("past MaxRun: %v", cause)
		}
		if err := c.Complete(context.Background(), Payload{}); err != nil {
			t.Error(err)
		}
		wantVerdict(t, c, Unprotected)
		if err := c.Release(context.Background()); !errors.Is(err, ErrNoClaim) {
			t.Errorf("ended twice: %v", err)
		}
	})
}

func TestI12_CloseEndsRunsBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guardOn(t, newShelf(), mode(ModeObserve))
		c := won(t, g, Intent{Operation: testOperation, Scope: "alice"})
		other := won(t, g, Intent{Operation: testOperation, Scope: "alice"})
		if a, b := c.DownstreamKey("bank"), other.DownstreamKey("bank"); a == b || a != c.DownstreamKey("bank") {
			t.Error("two requests without a key share a downstream key, or one has several")
		}
		other.End(context.Background())
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := g.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(context.Cause(c.Context()), ErrClosed) {
			t.Errorf("close: %v, the run ended with %v", err, context.Cause(c.Context()))
		}
		c.End(context.Background())
	})
}

func TestS8_OffMakesNoStoreCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s, mode(ModeOff))
		stale := tokenIntent(issued(t, g, time.Now().Add(-time.Hour)))
		for _, in := range []Intent{testIntent("k"), testIntent("k"), stale, {Operation: testOperation}} {
			if v, did := ran(t, g, in); v != Unguarded || !did {
				t.Errorf("%s, ran %v", v, did)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		c, err := g.Claim(ctx, testIntent("k"))
		if err != nil || !c.Won() || c.Recorded() {
			t.Fatalf("won %v, %v", c.Won(), err)
		}
		run := c.Context()
		if err := errors.Join(MarkEffects(run, "order 7"), Note(run, "order 7")); err != nil || Fence(run) == 0 {
			t.Errorf("the handler's vocabulary: %v, fence %d", err, Fence(run))
		}
		if key, ok := DownstreamKey(run, "bank"); !ok || key == "" {
			t.Error("there is no downstream key")
		}
		if cancel(); run.Err() == nil {
			t.Error("it outlives its caller, as if it were guarded")
		}
		c.End(context.Background())
		wantVerdict(t, c, Unguarded)
		for _, call := range s.calls {
			if !isCard(call.name) {
				t.Errorf("a call of the store: %+v", call)
			}
		}
		if g.Stats().Beside != 0 {
			t.Error("a run without a guard counts as one beside a record")
		}
	})
}

func TestT6_AChangeOfModeOrShareMovesSince(t *testing.T) {
	for name, change := range map[string]func(*Policy){
		"observed": func(p *Policy) { p.Mode = ModeObserve },
		"off":      func(p *Policy) { p.Mode = ModeOff },
		"share":    func(p *Policy) { p.Share = 0.5 },
	} {
		back := func(p *Policy) { p.Mode, p.Share = ModeEnforce, 1 }
		for _, way := range []string{"swapped", "in another process", "restarted"} {
			t.Run(name+" "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newShelf()
					g := aged(t, s)
					half := Policy{Share: 0.5}
					token := tokenIntent(issued(t, g, time.Now()))
					for half.inShare(g.names.tokenRecord(g.prefix, testOperation, token.Scope, token.Token)) {
						token = tokenIntent(issued(t, g, time.Now()))
					}
					pass(time.Minute)
					rolled := g
					if way != "swapped" {
						rolled = guardOn(t, s)
					}
					changed(t, rolled, change)
					if since := time.UnixMicro(s.cardOf(t).Since); since.Before(time.Now().Add(slack)) {
						t.Errorf("since is %v from now, want the slack", time.Until(since))
					}
					if v, did := ran(t, rolled, token); !did || name == "observed" != (v == Executed) {
						t.Errorf("%s, ran %v", v, did)
					}
					if name == "observed" { // the record is lost for good, as one of a run beside is from the start
						s.mu.Lock()
						for n := range s.items {
							if !isCard(n) {
								delete(s.items, n)
							}
						}
						s.mu.Unlock()
					}
					switch way {
					case "swapped":
						changed(t, rolled, back)
					case "restarted":
						_ = rolled.Close(context.Background())
					}
					pass(16 * time.Minute)
					wantVerdict(t, claimed(t, g, token), Forgotten) // dead would run it again
					if way == "in another process" {
						return // as long as they differ, since keeps moving
					}
					later := tokenIntent(issued(t, g, time.Now()))
					pass(16 * time.Minute)
					wantVerdict(t, claimed(t, g, later), Dead)
				})
			})
		}
	}
}

// A card that was written by a release that knew no modes says enforce.
func TestACardWithoutAModeIsOneThatEnforced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		_ = aged(t, s).Close(context.Background()) // two processes would each write their own mode
		c := s.cardOf(t)
		since := c.Since
		s.mu.Lock()
		held := s.items["idem:"+testOperation+":card"]
		held.value = []byte(strings.Replace(string(held.value), `"mode":"enforce","share":1,`, "", 1))
		s.items["idem:"+testOperation+":card"] = held
		s.mu.Unlock()
		if c := s.cardOf(t); c.Mode != "" || c.Share != 0 {
			t.Fatalf("the card says %q, %v", c.Mode, c.Share)
		}
		g := guardOn(t, s)
		if now := s.cardOf(t).Since; now != since {
			t.Error("since was moved")
		}
		changed(t, g, func(p *Policy) { p.Mode = ModeOff })
		if c := s.cardOf(t); c.Mode != ModeOff || c.Since <= since {
			t.Errorf("the card says %+v", c)
		}
	})
}

func TestDegradedSaysWhatIsNotEnforced(t *testing.T) {
	for m, want := range map[Mode]bool{ModeEnforce: false, ModeObserve: true, ModeOff: true} {
		g := guardOn(t, newShelf(), mode(m))
		token, err := g.Issue(context.Background(), TokenRequest{Operation: testOperation, Scope: "alice"})
		if err != nil {
			t.Fatal(err)
		}
		if a, b := g.Degraded(testOperation), g.DegradedToken(TokenRequest{Operation: testOperation, Scope: "alice"}, token); a != want || b != want {
			t.Errorf("%s: %v, %v, want %v", m, a, b, want)
		}
		if !strings.Contains(g.Report(), "mode "+string(m)+", share 1\n") || strings.Contains(g.Report(), "runs beside") != (m == ModeObserve) {
			t.Errorf("%s: the report says\n%s", m, g.Report())
		}
	}
}
