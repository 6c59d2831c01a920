package idem

import (
	"bytes"
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// logbook keeps what is logged at Warn and above.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logbook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logbook) count(what string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.text.String(), what)
}

func loggedIn(b *logbook) func(*Config) {
	return func(c *Config) {
		c.Logger = slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
}

// stepper counts how often a kind of step began and ended.
type stepper struct {
	kind StepKind
	mu   sync.Mutex
	list []StepResult
	runs int
}

func (s *stepper) Chooses(kind StepKind) bool { return kind == s.kind }

func (s *stepper) Start(ctx context.Context, _ Step) (context.Context, func(StepResult)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs++
	return ctx, func(r StepResult) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.list = append(s.list, r)
	}
}

func (s *stepper) told() (begun int, ended []StepResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs, s.list
}

func steppedBy(s *stepper) func(*Config) { return func(c *Config) { c.Observer = s } }

// A store that is away is told once, counted each half minute, and told once
// when it is back, however many requests it cost.
func TestAnOutageIsToldOnceAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logbook
		seen := &stepper{kind: StepDegraded}
		s := newShelf()
		g := guardOn(t, s, loggedIn(&log), steppedBy(seen))
		s.script(func(shelfCall) fault { return fault{refuse: true} })
		for range 70 { // one request a second
			if _, v, _ := Do(context.Background(), g, testIntent("k"), JSON[int](), func(context.Context) (int, error) { return 1, nil }); v != Unavailable {
				t.Fatalf("the store is away, and the verdict is %s", v)
			}
			pass(time.Second)
		}
		if begun, ended := seen.told(); !g.InOutage() || begun != 1 || len(ended) != 0 {
			t.Errorf("in an outage: %v; the observer was told %d times that one began, %d times that it ended", g.InOutage(), begun, len(ended))
		}
		s.script(nil)
		for range 10 {
			ran(t, g, testIntent("another"))
			pass(time.Second)
		}
		if _, ended := seen.told(); g.InOutage() || len(ended) != 1 {
			t.Errorf("the store is back: in an outage: %v, ended %d times", g.InOutage(), len(ended))
		}
		for line, want := range map[string]int{"store does not answer": 1, "store still does not answer": 2, "store answers again": 1, "refused=70": 1} {
			if got := log.count(line); got != want {
				t.Errorf("%q stands %d times in the log, want %d", line, got, want)
			}
		}
	})
}

// A store that fails now and then is one outage, not one for each failure.
func TestAStoreThatFailsNowAndThenIsOneOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &stepper{kind: StepDegraded}
		s := newShelf()
		g := guardOn(t, s, steppedBy(seen))
		for n := range 40 {
			s.script(nil)
			if n%3 == 0 {
				s.script(only("claim", fault{refuse: true}))
			}
			ran(t, g, testIntent(strings.Repeat("k", n+1)))
			pass(time.Second)
		}
		if begun, _ := seen.told(); begun != 1 {
			t.Errorf("%d outages, want 1", begun)
		}
	})
}

// A lease that is more than four fifths over and not renewed is told once, before
// the claim is lost; the loss is a step.
func TestALeaseThatIsNotRenewedIsToldBeforeItIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logbook
		seen := &stepper{kind: StepLost}
		s := newShelf()
		g := guardOn(t, s, loggedIn(&log), steppedBy(seen))
		_, _, _ = Do(context.Background(), g, testIntent("k"), JSON[int](), func(ctx context.Context) (int, error) {
			s.script(only("renew", fault{refuse: true}))
			<-ctx.Done()
			if n := log.count("lease is nearly over and not renewed"); n != 1 {
				t.Errorf("the lease was over, and that was told %d times before", n)
			}
			s.script(nil)
			return 0, ctx.Err()
		})
		if begun, _ := seen.told(); begun != 1 {
			t.Errorf("a loss was told %d times", begun)
		}
	})
}

// Why a run was released is told, and how much of its answer is kept.
func TestASettleTellsItsReason(t *testing.T) {
	for _, row := range []struct {
		why  string
		want string
		run  func(context.Context, *Guard) (int, error)
	}{
		{"by hand", "validation", nil},
		{"an error", "error", func(context.Context, *Guard) (int, error) { return 0, errShelf }},
		{"a panic", "panic", func(context.Context, *Guard) (int, error) { panic("x") }},
		{"its time was over", "canceled", func(ctx context.Context, _ *Guard) (int, error) { <-ctx.Done(); return 0, NoEffects(ctx.Err()) }},
		{"kept", "", func(context.Context, *Guard) (int, error) { return 1234, nil }},
	} {
		synctest.Test(t, func(t *testing.T) {
			seen := &stepper{kind: StepSettle}
			g := guardOn(t, newShelf(), steppedBy(seen), policy(func(p *Policy) { p.Preset = API }))
			if row.run == nil {
				c, _ := g.Claim(context.Background(), testIntent("k"))
				_ = c.Release(context.Background())
			} else {
				func() {
					defer func() { _ = recover() }()
					_, _, _ = Do(context.Background(), g, testIntent("k"), JSON[int](), func(ctx context.Context) (int, error) { return row.run(ctx, g) })
				}()
			}
			_, ended := seen.told()
			if len(ended) != 1 || ended[0].Reason != row.want || row.want == "" && ended[0].Kept != 4 {
				t.Errorf("%s: told %+v, want the reason %q", row.why, ended, row.want)
			}
		})
	}
}

// cannotSay is a codec of answers that cannot be written down.
type cannotSay struct{ Codec[int] }

func (cannotSay) Encode(int) (Payload, error) { return Payload{}, errShelf }

// leavesOut is a codec that keeps nothing.
type leavesOut struct{ Codec[int] }

func (leavesOut) Encode(int) (Payload, error) { return Payload{Partial: true}, nil }

// andSays is one that says why.
type andSays struct{ leavesOut }

func (andSays) Skipped(int) string { return "too_large" }

// Why nothing of an answer is kept is told in one word.
func TestASettleTellsWhyNothingIsKept(t *testing.T) {
	for want, row := range map[string]struct {
		codec Codec[int]
		run   func(context.Context) (int, error)
	}{
		"":            {JSON[int](), func(context.Context) (int, error) { return 1, nil }},
		"error":       {JSON[int](), func(context.Context) (int, error) { return 0, errShelf }},
		"unencodable": {cannotSay{JSON[int]()}, func(context.Context) (int, error) { return 1, nil }},
		"not_kept":    {leavesOut{JSON[int]()}, func(context.Context) (int, error) { return 1, nil }},
		"too_large":   {andSays{leavesOut{JSON[int]()}}, func(context.Context) (int, error) { return 1, nil }},
	} {
		synctest.Test(t, func(t *testing.T) {
			seen := &stepper{kind: StepSettle}
			g := guardOn(t, newShelf(), steppedBy(seen), policy(func(p *Policy) { p.Preset, p.On5xx = API, Keep }))
			for range 2 { // a claim that is used again has forgotten
				_, _, _ = Do(context.Background(), g, testIntent(rand.Text()), row.codec, row.run)
			}
			_, ended := seen.told()
			if len(ended) != 2 || ended[0].Skipped != want || ended[1].Skipped != want {
				t.Errorf("told %+v, want %q", ended, want)
			}
		})
	}
}

// A census counts records by how a request would read them.
func TestACensusCountsByWhatIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guardOn(t, newShelf())
		if _, _, err := g.Census(context.Background(), 10); err == nil {
			t.Error("a store that cannot be walked was counted")
		}
	})
}
