package idem

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestDoRunsOnceAndAnswersEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guardOn(t, newShelf())
		type receipt struct {
			Number int
			Empty  string
		}
		runs := 0
		for i, want := range []Verdict{Executed, Replayed, Replayed} {
			got, verdict, err := Do(context.Background(), g, testIntent("k"), JSON[receipt](), func(context.Context) (receipt, error) {
				runs++
				return receipt{Number: 7}, nil
			})
			if got.Number != 7 || verdict != want || err != nil {
				t.Errorf("call %d: %+v, %s, %v", i, got, verdict, err)
			}
		}
		if runs != 1 {
			t.Errorf("%d runs", runs)
		}
	})
}

func TestDoHandsBackTheRunsOwnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for on5xx, want := range map[Choice][2]Verdict{
			Release: {Released, Executed}, Doubt: {Uncertain, Uncertain}, Keep: {Executed, Used},
		} {
			g := guardOn(t, newShelf(), policy(func(p *Policy) { p.On5xx = on5xx }))
			_, verdict, err := Do(context.Background(), g, testIntent("k"), JSON[int](), func(context.Context) (int, error) { return 0, errShelf })
			if verdict != want[0] || err != errShelf {
				t.Errorf("%s: %s, %v", on5xx, verdict, err)
			}
			_, verdict, err = Do(context.Background(), g, testIntent("k"), JSON[int](), func(context.Context) (int, error) { return 1, nil })
			var refused *RefusedError
			if verdict != want[1] || (verdict != Executed) != errors.As(err, &refused) {
				t.Errorf("%s, the repeat: %s, %v; want %s", on5xx, verdict, err, want[1])
			}
		}
	})
}

func TestAnAnswerThatCannotBeReadIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guardOn(t, newShelf())
		_ = won(t, g, testIntent("k")).Complete(context.Background(), Payload{Bytes: []byte("{not json")})
		_, verdict, err := Do(context.Background(), g, testIntent("k"), JSON[int](), func(context.Context) (int, error) {
			t.Error("it ran again")
			return 0, nil
		})
		if verdict != Uncertain || !errors.Is(err, ErrUncertain) {
			t.Errorf("%s, %v", verdict, err)
		}
	})
}

// Faults: 35.
func TestAnAnswerThatIsTooLargeIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guardOn(t, newShelf())
		_ = won(t, g, testIntent("k")).Complete(context.Background(), Payload{Bytes: make([]byte, 1<<20)})
		wantVerdict(t, claimed(t, g, testIntent("k")), Used)
	})
}

func TestARefusalNamesItsSentinel(t *testing.T) {
	for _, v := range Verdicts() {
		err := error(&RefusedError{Verdict: v, Operation: testOperation})
		if sentinel := verdictErrors[v]; sentinel != nil && !errors.Is(err, sentinel) {
			t.Errorf("%s does not match its sentinel", v)
		}
		if !strings.Contains(err.Error(), testOperation) {
			t.Errorf("%s: %v does not name the operation", v, err)
		}
	}
}

// Faults: 19, 28.
func TestOutcomeOfEveryStatus(t *testing.T) { // statement 26
	release := map[int]bool{400: true, 401: true, 403: true, 408: true, 409: true, 413: true, 415: true, 422: true, 425: true, 428: true, 429: true}
	form, payment := Policy{Preset: Form}.withDefaults(), Policy{}.withDefaults()
	keep := Policy{On4xx: Keep, OnOther4xx: Release, On5xx: Keep}.withDefaults()
	for status := 200; status < 600; status++ {
		want := [3]Outcome{Completes, Completes, Completes}
		switch {
		case status >= 500:
			want = [3]Outcome{Releases, Doubts, Fails}
		case release[status]:
			want = [3]Outcome{Releases, Releases, Fails}
		case status >= 400:
			want = [3]Outcome{Fails, Fails, Releases}
		}
		if got := [3]Outcome{form.OutcomeOf(status), payment.OutcomeOf(status), keep.OutcomeOf(status)}; got != want {
			t.Errorf("%d: %v, want %v", status, got, want)
		}
	}
}

func TestEverythingWrongIsReportedAtOnce(t *testing.T) {
	_, err := New(Config{
		Store: newShelf(),
		Policies: []Policy{
			{Operation: "Shop"},
			{Operation: "shop:order:create", Lease: 150 * time.Millisecond, OnCrash: "pray", Key: []string{"cookie"}},
			{Operation: "shop:order:cancel", Retention: time.Hour, TokenLife: 2 * time.Hour, Methods: []string{"GET"}},
			{Operation: "shop:order:pay"}, {Operation: "shop:order:pay"},
		},
	})
	if err == nil {
		t.Fatal("a guard was built")
	}
	for _, part := range []string{"Shop", "lease", "onCrash", "pray", "cookie", "retention", "GET", "there are two", "NameKey", "Signer"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the report does not speak of %q:\n%v", part, err)
		}
	}
}

func TestVerifyJudgesFromTheHeadAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s, policy(func(p *Policy) { p.Context = "path:id" }))
		tok, err := g.Issue(context.Background(), TokenRequest{Operation: testOperation, Scope: "alice", Context: "cart:1"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the guard has read its card
		calls := len(s.calls)
		for name, row := range map[string]struct {
			change func(*Intent)
			want   error
		}{
			"as issued":         {func(in *Intent) {}, nil},
			"another context":   {func(in *Intent) { in.Context = "cart:2" }, nil}, // the record decides
			"another scope":     {func(in *Intent) { in.Scope = "mallory" }, ErrForeign},
			"no scope":          {func(in *Intent) { in.Scope = "" }, ErrNoScope},
			"unknown operation": {func(in *Intent) { in.Operation = "a:b:c" }, ErrUnknownOperation},
			"neither":           {func(in *Intent) { in.Token = Token{} }, ErrMissing},
			"a forged token":    {func(in *Intent) { in.Token.raw[5]++ }, ErrForeign},
		} {
			in := tokenIntent(tok)
			in.Context = "cart:1"
			row.change(&in)
			if _, err := g.Verify(context.Background(), in); !errors.Is(err, row.want) {
				t.Errorf("%s: %v, want %v", name, err, row.want)
			}
		}
		synctest.Wait()
		if len(s.calls) != calls {
			t.Errorf("%d store calls", len(s.calls)-calls)
		}
	})
}

func TestATokenOfAnotherContextRunsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guardOn(t, newShelf(), policy(func(p *Policy) { p.Context = "path:id" }))
		pass(2 * time.Second)
		tok, err := g.Issue(context.Background(), TokenRequest{Operation: testOperation, Scope: "alice", Context: "cart:1"})
		if err != nil {
			t.Fatal(err)
		}
		right, wrong := tokenIntent(tok), tokenIntent(tok)
		right.Context, wrong.Context = "cart:1", "cart:2"
		wantVerdict(t, claimed(t, g, wrong), Foreign)
		_ = won(t, g, right).Complete(context.Background(), Payload{})
		wantVerdict(t, claimed(t, g, wrong), Replayed) // a run it had already is answered
	})
}

func TestDiscard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		pass(2 * time.Second)
		fresh := func() Intent { return tokenIntent(issued(t, g, time.Now())) }
		want := func(in Intent, verdict Verdict, state State) {
			t.Helper()
			st, got, err := g.Discard(context.Background(), in)
			if got != verdict || st.State != state || err != nil {
				t.Errorf("discard says %q, %s, %v; want %q, %s", got, st.State, err, verdict, state)
			}
		}
		unused := fresh()
		want(unused, Dead, StateBuried)
		want(unused, Dead, StateBuried) // its own burial
		wantVerdict(t, claimed(t, g, unused), Foreign)

		refused := fresh()
		_ = won(t, g, refused).Release(context.Background())
		want(refused, Dead, StateBuried)

		done := fresh()
		_ = won(t, g, done).Complete(context.Background(), Payload{})
		want(done, 0, StateSucceeded)

		running := fresh()
		c := won(t, g, running)
		want(running, 0, StateProcessing)
		c.End(context.Background())

		old := tokenIntent(issued(t, g, time.Now().Add(-time.Hour))) // older than the card
		want(old, Forgotten, StateBuried)

		if _, _, err := g.Discard(context.Background(), testIntent("k")); !errors.Is(err, ErrMalformed) {
			t.Errorf("a client's key was discarded: %v", err)
		}
	})
}

func TestStatusTellsAndWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		look := func(want State) Status {
			t.Helper()
			st, err := guardOn(t, s).Status(context.Background(), testIntent("k"))
			if err != nil || st.State != want || st.Operation != testOperation {
				t.Errorf("status %+v, %v; want %s", st, err, want)
			}
			return st
		}
		look(StateAbsent)
		c := won(t, g, testIntent("k"))
		pass(100 * time.Millisecond)
		if st, err := g.Status(context.Background(), testIntent("k")); err != nil || st.LeaseLeft != 900*time.Millisecond {
			t.Errorf("the process that runs it says %+v, %v", st, err)
		}
		if st := look(StateProcessing); st.LeaseLeft != 900*time.Millisecond || time.Since(st.Since) != 100*time.Millisecond {
			t.Errorf("a claim made now: %+v", st)
		}
		_ = c.Release(context.Background())
		look(StateReleased)
	})
}

func TestReportNamesEveryPolicyAndItsCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guardOn(t, newShelf(), policy(func(p *Policy) { p.OnCrash = Retake }))
		report := g.Report()
		for _, part := range []string{testOperation, "lease 1s", "idem:" + testOperation + ":", "undone", "crash cut short", "hosts must agree"} {
			if !strings.Contains(report, part) {
				t.Errorf("the report does not say %q:\n%s", part, report)
			}
		}
	})
}
