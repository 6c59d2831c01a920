package idem

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// issued is a token of this guard's, stamped at the time given.
func issued(t testing.TB, g *Guard, at time.Time) Token {
	t.Helper()
	tok, err := g.signer.issue(at, g.operation(testOperation).life, testOperation, "alice", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func tokenIntent(tok Token) Intent {
	in := testIntent("")
	in.Token = tok
	return in
}

// aged is a guard whose card is old enough to vouch for tokens.
func aged(t testing.TB, s *shelf, change ...func(*Config)) *Guard {
	t.Helper()
	g := guardOn(t, s, change...)
	pass(2 * time.Hour)
	return g
}

// Faults: 21.
func TestP8_AStoreThatFailsAtTheSettleFailsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		s.script(only("settle", fault{refuse: true}))
		runs := 0
		run := func(context.Context) (string, error) { runs++; return "answer", nil }
		got, verdict, err := Do(context.Background(), g, testIntent("k"), JSON[string](), run)
		if got != "answer" || verdict != Executed || err != nil {
			t.Errorf("the client got %q, %s, %v; want the handler's answer", got, verdict, err)
		}
		got, verdict, err = Do(context.Background(), g, testIntent("k"), JSON[string](), run)
		if got != "answer" || verdict != Replayed || err != nil {
			t.Errorf("the repeat got %q, %s, %v; want the outcome this process holds", got, verdict, err)
		}
		s.script(nil)
		pass(2 * time.Second)
		if r, _ := s.record(t); r.state != StateSucceeded {
			t.Errorf("the store is back and the record is %s, want succeeded", r.state)
		}
		if _, verdict, _ = Do(context.Background(), guardOn(t, s), testIntent("k"), JSON[string](), run); verdict != Replayed {
			t.Errorf("another process got %s, want replayed", verdict)
		}
		if runs != 1 || g.Stats().Pending != 0 {
			t.Errorf("%d runs, %d settles pending; want 1 and 0", runs, g.Stats().Pending)
		}
	})
}

// A claim from a release that is not written yet could be outrun by it, and land
// when the janitor has looked for it already (found by TestI10, seed 85).
func TestP8_NobodyClaimsFromAReleaseThatIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		c := won(t, g, testIntent("k"))
		s.script(only("settle", fault{refuse: true}))
		_ = c.Release(context.Background())
		wantVerdict(t, c, Released)
		swaps := s.count("claim")
		wantVerdict(t, claimed(t, g, testIntent("k")), InFlight)
		if n := s.count("claim") - swaps; n != 1 {
			t.Errorf("%d claims were sent, want the one that found the record", n)
		}
		s.script(nil)
		pass(2 * time.Second)
		won(t, g, testIntent("k")).End(context.Background())
	})
}

// Given an outcome that cannot be written, when the lease of its claim is over, then
// who comes is told what the store says: another process may have run and answered
// meanwhile. Where nobody has, the outcome stands, and nothing runs again (found by
// TestProof_EveryHistoryIsLegal).
func TestP8_WhatIsHeldBeyondItsLeaseIsForTheStoreToSay(t *testing.T) {
	retake := func(p *Policy) { p.OnCrash = Retake }
	for name, tc := range map[string]struct {
		policy         func(*Policy)
		end            Outcome
		followed, lost bool // by a run elsewhere; by the store
		silent         bool
		want           string
		verdict        Verdict
		runs           int
	}{
		"another has run":                  {retake, Completes, true, false, false, "there", Replayed, 0},
		"another has run, ours is a doubt": {retake, Doubts, true, false, false, "there", Replayed, 0},
		"nobody came":                      {retake, Completes, false, false, false, "here", Replayed, 0},
		"nobody came, ours is a doubt":     {retake, Doubts, false, false, false, "", Uncertain, 0},
		"nobody came, and it may be held":  {func(*Policy) {}, Completes, false, false, false, "here", Replayed, 0},
		"the store lost it":                {retake, Completes, false, true, false, "here", Replayed, 0},
		"the store is silent":              {retake, Completes, false, false, true, "", Unavailable, 0},
		"silent, and nobody may come":      {func(*Policy) {}, Completes, false, false, true, "here", Replayed, 0},
		"silent, and it would run":         {func(p *Policy) { p.OnCrash, p.OnOutage = Retake, Open }, Completes, false, false, true, "here", Replayed, 0},
		"given back, and nobody came":      {retake, Releases, false, false, false, "again", Executed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				here, there := guardOn(t, s, policy(tc.policy)), guardOn(t, s, policy(tc.policy))
				c := won(t, here, testIntent("k"))
				s.script(only("renew", fault{refuse: true}))
				pass(c.policy().Lease + time.Second)
				if tc.followed {
					if _, v, err := Do(context.Background(), there, testIntent("k"), JSON[string](), func(context.Context) (string, error) { return "there", nil }); v != Executed {
						t.Fatal(v, err)
					}
				}
				if tc.lost {
					clear(s.items)
				}
				fails := only("settle", fault{refuse: true})
				if tc.silent {
					fails = func(shelfCall) fault { return fault{refuse: true} }
				}
				s.script(fails)
				kept, _ := JSON[string]().Encode("here")
				c.undone(t, tc.end, kept)
				runs := 0
				ask := func(g *Guard) (string, Verdict) {
					got, v, _ := Do(context.Background(), g, testIntent("k"), JSON[string](), func(context.Context) (string, error) { runs++; return "again", nil })
					return got, v
				}
				if got, v := ask(here); got != tc.want || v != tc.verdict {
					t.Errorf("told %q, %s; want %q, %s", got, v, tc.want, tc.verdict)
				}
				st, err := here.Status(context.Background(), testIntent("k"))
				if want := map[Verdict]State{Replayed: StateSucceeded, Uncertain: StateUncertain, Executed: StateSucceeded}[tc.verdict]; !tc.silent && (st.State != want || err != nil) {
					t.Errorf("its status is %s, %v; want %s", st.State, err, want)
				}
				s.script(nil)
				pass(time.Minute)
				if tc.verdict == Unavailable {
					tc.want, tc.verdict = "here", Replayed
				} else if tc.verdict == Executed {
					tc.verdict = Replayed
				}
				for _, g := range []*Guard{here, there} {
					if got, v := ask(g); got != tc.want || v != tc.verdict {
						t.Errorf("in the end told %q, %s; want %q, %s", got, v, tc.want, tc.verdict)
					}
				}
				if runs != tc.runs {
					t.Errorf("%d runs more, want %d", runs, tc.runs)
				}
			})
		})
	}
}

// undone ends a claim whose lease is over, as its handler would.
func (c *Claim) undone(t *testing.T, out Outcome, p Payload) {
	t.Helper()
	if err := c.settle(context.Background(), out, p, out == Releases); err != nil {
		t.Fatal(err)
	}
}

func TestP8_AnAnswerIsHeldBackNoLongerThanSettleWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		s.script(only("settle", fault{slow: time.Second}))
		start := time.Now()
		_, verdict, err := Do(context.Background(), g, testIntent("k"), JSON[int](), func(context.Context) (int, error) { return 1, nil })
		if took := time.Since(start); took > 250*time.Millisecond || verdict != Executed || err != nil {
			t.Errorf("answered %s after %v (%v), want executed within 250ms", verdict, took, err)
		}
		pass(3 * time.Second)
		if r, _ := s.record(t); r.state != StateSucceeded {
			t.Errorf("a settle of 1s was not written in the background: %s", r.state)
		}
	})
}

func TestP12_AnUnreadableRecordIsNeverRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s, policy(func(p *Policy) { p.OnCrash = Retake }))
		s.put(RecordName(testNameKey, "idem:", testOperation, "alice", KindKey, "k"), []byte("garbage"))
		c := claimed(t, g, testIntent("k"))
		wantVerdict(t, c, Uncertain)
	})
}

// Faults: 14.
func TestP13_ALapsedClaimUnderHoldReadsAsUncertain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		crashed := guardOn(t, s)
		c := won(t, crashed, testIntent("k"))
		s.script(only("renew", fault{refuse: true}))
		pass(1100 * time.Millisecond)
		s.script(nil)
		before, _ := s.record(t)
		other := guardOn(t, s)
		wantVerdict(t, claimed(t, other, testIntent("k")), Uncertain)
		if after, _ := s.record(t); string(after.append(nil)) != string(before.append(nil)) {
			t.Error("a reader wrote what it read")
		}
		if st, err := other.Status(context.Background(), testIntent("k")); err != nil || st.State != StateUncertain {
			t.Errorf("status %v, %v; want uncertain", st.State, err)
		}
		if err := c.Complete(context.Background(), Payload{}); err != nil { // its owner may still settle it
			t.Errorf("the owner's late settle: %v", err)
		}
		wantVerdict(t, claimed(t, other, testIntent("k")), Replayed)
	})
}

func TestP13_MarkedEffectsAreHeldUnderRetakeToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		retake := policy(func(p *Policy) { p.OnCrash = Retake })
		c := won(t, guardOn(t, s, retake), testIntent("k"))
		if err := MarkEffects(c.Context(), "order 7"); err != nil {
			t.Fatal(err)
		}
		s.script(only("renew", fault{refuse: true}))
		pass(1100 * time.Millisecond)
		s.script(nil)
		wantVerdict(t, claimed(t, guardOn(t, s, retake), testIntent("k")), Uncertain)
		if r, _ := s.record(t); string(r.note) != "order 7" {
			t.Errorf("the note is %q", r.note)
		}
		c.End(context.Background())
	})
}

// Faults: 20.
func TestMarkEffects(t *testing.T) {
	run := func(t *testing.T, mark func(*shelf), end func(ctx context.Context, c *Claim) error) (verdict Verdict, got record) {
		synctest.Test(t, func(t *testing.T) {
			s := newShelf()
			g := guardOn(t, s)
			_, verdict, _ = Do(context.Background(), g, testIntent("k"), JSON[int](), func(ctx context.Context) (int, error) {
				mark(s)
				c, _ := ClaimFrom(ctx)
				return 1, end(ctx, c)
			})
			s.script(nil)
			got, _ = s.record(t)
		})
		return verdict, got
	}
	nothing := func(*shelf) {}
	for _, row := range []struct {
		name    string
		mark    func(*shelf)
		end     func(context.Context, *Claim) error
		verdict Verdict
		state   State
	}{
		{"marked, then an error: doubt", nothing, func(ctx context.Context, _ *Claim) error {
			_ = MarkEffects(ctx)
			return errShelf
		}, Uncertain, StateUncertain},
		{"marked, then done", nothing, func(ctx context.Context, _ *Claim) error { return MarkEffects(ctx) }, Executed, StateSucceeded},
		{"failed mark, its error returned: no effect", func(s *shelf) { s.script(only("renew", fault{refuse: true})) }, func(ctx context.Context, _ *Claim) error {
			err := MarkEffects(ctx)
			if !errors.Is(err, ErrUnavailable) {
				return nil
			}
			return err
		}, Released, StateReleased},
		{"mark without a reply, its error returned: no effect, over the flag", func(s *shelf) {
			s.script(only("renew", fault{loseReply: true}))
		}, func(ctx context.Context, _ *Claim) error { return MarkEffects(ctx) }, Released, StateReleased},
		{"failed mark, and on all the same: doubt", func(s *shelf) { s.script(only("renew", fault{refuse: true})) }, func(ctx context.Context, _ *Claim) error {
			_ = MarkEffects(ctx)
			return nil
		}, Uncertain, StateUncertain},
		{"marked on a lost claim", func(s *shelf) { s.script(only("renew", fault{refuse: true})) }, func(ctx context.Context, _ *Claim) error {
			<-ctx.Done()
			if err := MarkEffects(ctx); !errors.Is(err, ErrClaimLost) {
				return nil
			}
			return errShelf
		}, Uncertain, StateUncertain},
	} {
		t.Run(row.name, func(t *testing.T) {
			verdict, got := run(t, row.mark, row.end)
			if verdict != row.verdict || got.state != row.state {
				t.Errorf("verdict %s, record %s; want %s, %s", verdict, got.state, row.verdict, row.state)
			}
		})
	}
	if err := MarkEffects(context.Background()); !errors.Is(err, ErrNoClaim) {
		t.Errorf("outside a run: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		c := won(t, guardOn(t, newShelf()), testIntent("k"))
		if err := MarkEffects(c.Context(), strings.Repeat("x", 257)); err == nil || errors.Is(err, ErrClaimLost) {
			t.Errorf("a note of 257 bytes: %v", err)
		}
		c.End(context.Background())
	})
}

// A run whose context ended before it returned may have stopped half-way.
func TestAnEndedRunIsNeverReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s, policy(func(p *Policy) { p.MaxRun = 2 * time.Second }))
		_, verdict, _ := Do(context.Background(), g, testIntent("k"), JSON[int](), func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		if r, _ := s.record(t); verdict != Uncertain || r.state != StateUncertain {
			t.Errorf("verdict %s, record %s; want it left in doubt", verdict, r.state)
		}
	})
}

func TestS9_TheJanitorWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		s.first(3, "claim", fault{late: 3 * time.Second}) // refused for us, and applied long after
		c, err := g.Claim(context.Background(), testIntent("k"))
		if !errors.Is(err, ErrUnavailable) || c.Verdict() != Unavailable {
			t.Fatalf("verdict %s, %v", c.Verdict(), err)
		}
		pass(10 * time.Second)
		if r, _ := s.record(t); r.state != StateReleased {
			t.Fatalf("a claim that landed seconds after its time-out left %s, want the place taken", r.state)
		}
		if st := g.Stats(); st.Unknown != 1 || st.Mended != 1 {
			t.Errorf("%+v, want one unknown claim, mended", st)
		}
		won(t, g, testIntent("k")).End(context.Background())
		s.late.Wait()
	})
}

func TestS9_TheJanitorMovesATombstoneOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		_ = won(t, g, testIntent("k")).Release(context.Background())
		s.script(func(c shelfCall) fault {
			if c.step == "claim" && c.do == "swap" {
				return fault{late: 3 * time.Second}
			}
			return fault{}
		})
		if _, err := g.Claim(context.Background(), testIntent("k")); !errors.Is(err, ErrUnavailable) {
			t.Fatal(err)
		}
		pass(10 * time.Second)
		if r, _ := s.record(t); r.state != StateReleased {
			t.Errorf("a take-over that landed late left %s", r.state)
		}
		s.late.Wait()
	})
}

func TestS9_AnUnknownClaimIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		s.first(2, "claim", fault{refuse: true})
		c, err := g.Claim(context.Background(), testIntent("k"))
		if err != nil || !c.Won() {
			t.Fatalf("two calls without an answer: %v, won %v", err, c.Won())
		}
		if n := s.count("claim"); n != 3 {
			t.Errorf("%d calls, want 3", n)
		}
		c.End(context.Background())
	})
}

func TestI12_NothingIsLeftAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the bubble itself fails if a goroutine is left
		s := newShelf()
		g := guardOn(t, s)
		ended := make(chan error, 1)
		go func() {
			_, _, _ = Do(context.Background(), g, testIntent("k"), JSON[int](), func(ctx context.Context) (int, error) {
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return 0, ctx.Err()
			})
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := g.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close with a run that does not end: %v", err)
		}
		if cause := <-ended; cause != ErrClosed {
			t.Errorf("the run's context ended by %v", cause)
		}
		synctest.Wait()
		if _, err := g.Claim(context.Background(), testIntent("new")); !errors.Is(err, ErrClosed) {
			t.Errorf("a claim after close: %v", err)
		}
	})
}
