package idem

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Given a run that ends in doubt while the store is away, when its outcome is
// written at last, then the log says that a record is UNCERTAIN now, once.
func TestADoubtThatIsWrittenLateIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logbook
		s := newShelf()
		g := guardOn(t, s, loggedIn(&log))
		s.first(1, "settle", fault{refuse: true})
		if err := won(t, g, testIntent("k")).Doubt(context.Background()); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Second)
		if n := log.count(`level=ERROR msg="run left in doubt"`); n != 1 {
			t.Errorf("it stands %d times in the log, want once", n)
		}
	})
}

// Given outcomes that were not written before the guard was closed, then each is
// told to the observer as abandoned and to the log as not kept.
func TestAnOutcomeThatIsGivenUpIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logbook
		seen, s := &stepper{kind: StepSettle}, newShelf()
		g := guardOn(t, s, loggedIn(&log), steppedBy(seen))
		s.script(only("settle", fault{refuse: true}))
		for i := range 3 {
			_ = won(t, g, testIntent(fmt.Sprint(i))).Complete(context.Background(), Payload{})
		}
		late := won(t, g, testIntent("late"))
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := g.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closed with %v", err)
		}
		_ = late.Complete(context.Background(), Payload{}) // a run that does not listen to its context
		given := 0
		_, ended := seen.told()
		for _, r := range ended {
			if r.Result == "abandoned" {
				given++
			}
		}
		if n := log.count(`level=ERROR msg="outcome not kept"`); given != 4 || n != 4 || g.Stats().Pending != 0 {
			t.Errorf("%d were told as abandoned, %d stand in the log, %d are pending; want 4, 4, 0", given, n, g.Stats().Pending)
		}
	})
}

// spilling is a value whose marshalling fails with a text of its own.
type spilling struct{}

func (spilling) MarshalJSON() ([]byte, error) { return nil, errors.New("no room for 4111-1111") }

// Given answers that cannot be kept or read, then the log says so and quotes no
// piece of them, and no panic of an auditor either.
func TestNoAnswerIsQuotedInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logbook
		k := &clerk{}
		g := guardOn(t, newShelf(), loggedIn(&log), k.on)
		in := testIntent("k")
		_, _, _ = Do(context.Background(), g, in, JSON[int](), func(context.Context) (int, error) { return 41111111, nil })
		if _, v, _ := Do(context.Background(), g, in, JSON[int8](), func(context.Context) (int8, error) { return 0, nil }); v != Uncertain {
			t.Errorf("an answer that cannot be read: %v", v)
		}
		_, _, _ = Do(context.Background(), g, testIntent("m"), JSON[spilling](), func(context.Context) (spilling, error) { return spilling{}, nil })
		_, _, _ = Do(context.Background(), g, testIntent("n"), JSON[int](), func(context.Context) (int, error) { k.panics = true; return 1, nil })
		if n := log.count("4111"); n != 0 {
			t.Errorf("a piece of an answer stands in the log:\n%s", log.text.String())
		}
		for line, want := range map[string]int{
			"kept answer cannot be read": 1, "there is a number, which is no int8": 1, "answer cannot be kept": 1,
			`level=ERROR msg="audit event was not written"`: 1, "panicked with a string": 1, "no ink": 0,
		} {
			if got := log.count(line); got != want {
				t.Errorf("%q stands %d times in the log, want %d:\n%s", line, got, want, log.text.String())
			}
		}
	})
}

// Every decision is a line at level Debug, a worker's and a batch's, too.
func TestEachDecisionIsALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logbook
		g := guardOn(t, newShelf(), func(c *Config) {
			c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		for range 2 {
			ran(t, g, testIntent("k"))
		}
		_, err := DoBatch(context.Background(), g, []Intent{testIntent("k"), testIntent("l")}, JSON[string](), func(context.Context, []Item) []Answer[string] {
			return []Answer[string]{{Value: "now"}}
		})
		if err != nil {
			t.Fatal(err)
		}
		_, _, _ = Do(context.Background(), g, Intent{Operation: "made:up", Scope: "a", Key: "k"}, JSON[int](), func(context.Context) (int, error) { return 1, nil })
		for line, want := range map[string]int{"request judged": 4, "idem.verdict=executed": 2, "idem.verdict=replayed": 2, "made:up": 0} {
			if got := log.count(line); got != want {
				t.Errorf("%q stands %d times in the log, want %d", line, got, want)
			}
		}
	})
}

// What an all-or-nothing batch gives back unstarted was no run: its release has no
// reason, and is counted as nobody's failure.
func TestWhatABatchGivesBackIsNoReleasedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &stepper{kind: StepSettle}
		g := guardOn(t, newShelf(), steppedBy(seen))
		held := won(t, g, testIntent("a"))
		claims, err := g.ClaimBatch(context.Background(), []Intent{testIntent("a"), testIntent("b"), testIntent("c")}, Atomic())
		if err != nil || claims[1].Won() {
			t.Fatal("the batch was won", err)
		}
		_, ended := seen.told()
		for _, r := range ended {
			if r.State != StateReleased || r.Reason != "" {
				t.Errorf("given back as %s, %q", r.State, r.Reason)
			}
		}
		if len(ended) == 0 {
			t.Error("nothing was given back: this test looks at nothing")
		}
		held.End(context.Background())
	})
}

// What a duplicate waited for another's run is told apart from our own time.
func TestAWaitIsToldApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &stepper{kind: StepAnswer}
		g := guardOn(t, newShelf(), steppedBy(seen), policy(func(p *Policy) { p.OnDuplicate, p.Wait = Wait, 10*time.Second }))
		slow := func(context.Context) (int, error) { pass(3 * time.Second); return 1, nil }
		go func() { _, _, _ = Do(context.Background(), g, testIntent("k"), JSON[int](), slow) }()
		synctest.Wait()
		pass(time.Second)
		_, v, err := Do(context.Background(), g, testIntent("k"), JSON[int](), slow)
		synctest.Wait()
		_, ended := seen.told()
		if v != Replayed || err != nil || len(ended) != 2 {
			t.Fatalf("%v, %v, %d answers", v, err, len(ended))
		}
		for _, r := range ended {
			want := time.Duration(0)
			if r.Verdict == Replayed {
				want = 2 * time.Second
			}
			if r.Waited != want || r.Elapsed-r.Handler-r.Waited != 0 {
				t.Errorf("%s: waited %v of %v, the handler took %v; want %v", r.Verdict, r.Waited, r.Elapsed, r.Handler, want)
			}
		}
		ends, err := DoBatch(context.Background(), g, []Intent{testIntent("k"), testIntent("fresh")}, JSON[int](), func(context.Context, []Item) []Answer[int] {
			return []Answer[int]{{Value: 1}}
		})
		if err != nil || ends[0].Verdict != Replayed {
			t.Error(err, ends)
		}
	})
}

// A store that does not answer in time is told from one that refuses, whatever the
// clock that was running: the context's, or the connection's.
func TestAnOutageSaysHowTheStoreFails(t *testing.T) {
	for _, row := range []struct {
		err  error
		want string
	}{
		{context.DeadlineExceeded, "timeout"}, {connectionSlow{}, "timeout"}, {fmt.Errorf("redis: %w", connectionSlow{}), "timeout"},
		{errors.New("OOM key=alice"), "store"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log logbook
			s := &failing{shelf: newShelf()}
			g := guardOn(t, s, loggedIn(&log))
			s.err = row.err
			_, _, _ = Do(context.Background(), g, testIntent("k"), JSON[int](), func(context.Context) (int, error) { return 1, nil })
			synctest.Wait()
			if log.count("store does not answer") != 1 || log.count("error.type="+row.want) != 1 || log.count("alice") != 0 {
				t.Errorf("%v: want error.type=%s in\n%s", row.err, row.want, strings.TrimSpace(log.text.String()))
			}
			s.err = nil
		})
	}
}

// connectionSlow is what package net says of a deadline of the connection.
type connectionSlow struct{}

func (connectionSlow) Error() string { return "i/o timeout" }
func (connectionSlow) Timeout() bool { return true }

// failing is a shelf whose claims fail with an error of the test's.
type failing struct {
	*shelf
	err error
}

func (f *failing) Create(ctx context.Context, name string, value []byte, ttl time.Duration) (Result, error) {
	if f.err != nil && !isCard(name) {
		return Result{}, f.err
	}
	return f.shelf.Create(ctx, name, value, ttl)
}
