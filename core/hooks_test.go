package idem

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// diary is a set of hooks that write down what they are told.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) write(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// read returns what was written since it was read last.
func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

func (d *diary) hooks(c *Config) {
	c.Hooks = Hooks{
		BeforeClaim: func(_ context.Context, in HookIntent) context.Context {
			d.write("claim %s %s", in.Scope, in.Source)
			return nil
		},
		BeforeSettle: func(_ context.Context, p SettlePlan) SettleChange {
			d.write("plan %s %v %v", p.Outcome, p.Value, p.Err)
			return SettleChange{}
		},
		AfterSettle:  func(_ context.Context, s HookSettled) { d.write("settled %s %s %s", s.Outcome, s.Verdict, s.Result) },
		AfterVerdict: func(_ context.Context, v HookVerdict) { d.write("verdict %s %v %s", v.Verdict, v.Ran, v.State) },
	}
}

func TestS8_HooksAreToldOfEachIntentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := &diary{}, newShelf()
		g := guardOn(t, s, d.hooks)
		do := func(in Intent, err error) {
			in.Source = "header"
			_, _, _ = Do(context.Background(), g, in, JSON[int](), func(context.Context) (int, error) { return 7, err })
		}
		another := testIntent("k")
		another.Fingerprint.Sum[0]++
		nameless, forged := testIntent(""), tokenIntent(issued(t, guardOn(t, newShelf()), time.Now()))
		forged.Scope = "eve"
		for _, row := range []struct {
			name string
			act  func()
			want []string
		}{
			{"a run", func() { do(testIntent("k"), nil) }, []string{
				"claim alice header", "plan complete 7 <nil>", "settled complete executed ok", "verdict executed true succeeded",
			}},
			{"a replay", func() { do(testIntent("k"), nil) }, []string{"claim alice header", "verdict replayed false succeeded"}},
			{"a conflict", func() { do(another, nil) }, []string{"claim alice header", "verdict conflict false succeeded"}},
			{"an error", func() { do(testIntent("e"), errors.New("no room")) }, []string{
				"claim alice header", "plan release 7 no room", "settled release released ok", "verdict released true released",
			}},
			{"no key", func() { do(nameless, nil) }, nil},
			{"a forged token", func() { do(forged, nil) }, nil},
			{"a panic", func() {
				defer func() { _ = recover() }()
				_, _, _ = Do(context.Background(), g, testIntent("p"), JSON[int](), func(context.Context) (int, error) { panic("no") })
			}, []string{
				"claim alice ", "plan release <nil> " + errAbrupt.Error(), "settled release released ok", "verdict released true released",
			}},
			{"a claim by hand", func() {
				c := won(t, g, testIntent("h"))
				_ = c.Complete(context.Background(), Payload{})
				c.End(context.Background())
				_ = c.Doubt(context.Background())
				claimed(t, g, testIntent("h"))
			}, []string{
				"claim alice ", "plan complete <nil> <nil>", "settled complete executed ok", "verdict executed true succeeded",
				"claim alice ", "verdict replayed false succeeded",
			}},
			{"a settle that is not written yet", func() {
				s.first(1, "settle", fault{refuse: true})
				do(testIntent("s"), nil)
			}, []string{
				"claim alice header", "plan complete 7 <nil>", "settled complete executed retry", "verdict executed true succeeded",
			}},
			{"a store that is away", func() {
				s.script(only("claim", fault{refuse: true}))
				do(testIntent("away"), nil)
			}, []string{"claim alice header", "verdict unavailable false absent"}},
		} {
			row.act()
			if got := d.read(); !slices.Equal(got, row.want) {
				t.Errorf("%s:\n got %q\nwant %q", row.name, got, row.want)
			}
		}
		s.script(nil)
	})
}

func TestS8_HooksAreToldOfRunsBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		g := guardOn(t, newShelf(), d.hooks, policy(func(p *Policy) { p.Mode = ModeObserve }))
		for range 2 {
			_, _, _ = Do(context.Background(), g, testIntent("k"), JSON[int](), func(context.Context) (int, error) { return 7, nil })
		}
		if got, want := d.read(), []string{
			"claim alice ", "plan complete 7 <nil>", "settled complete executed ok", "verdict executed true succeeded",
			"claim alice ", "verdict unprotected true succeeded",
		}; !slices.Equal(got, want) {
			t.Errorf("\n got %q\nwant %q", got, want)
		}
		off := guardOn(t, newShelf(), d.hooks, policy(func(p *Policy) { p.Mode = ModeOff }))
		won(t, off, testIntent("k")).End(context.Background())
		if got := d.read(); got != nil {
			t.Errorf("where nothing is guarded they were told %q", got)
		}
	})
}

// spoilt are the hooks of which one does something else, where that is fn.
func spoilt(which string, fn func(context.Context)) func(*Config) {
	at := func(ctx context.Context, name string) {
		if name == which {
			fn(ctx)
		}
	}
	return func(c *Config) {
		c.Hooks = Hooks{
			BeforeClaim: func(ctx context.Context, _ HookIntent) context.Context {
				at(ctx, "before claim")
				return context.WithValue(ctx, spoilKey{}, "by the hook")
			},
			BeforeSettle: func(ctx context.Context, _ SettlePlan) SettleChange {
				at(ctx, "before settle")
				return SettleChange{Doubt: which == "before settle"}
			},
			AfterSettle:  func(ctx context.Context, _ HookSettled) { at(ctx, "after settle") },
			AfterVerdict: func(ctx context.Context, _ HookVerdict) { at(ctx, "after verdict") },
		}
	}
}

type spoilKey struct{}

var hookNames = []string{"before claim", "before settle", "after settle", "after verdict"}

func TestS8_WhatGoesWrongInAHookStaysThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, name := range hookNames {
			for how, fn := range map[string]func(context.Context){
				"panics":             func(context.Context) { panic("body of ann") },
				"ends its goroutine": func(context.Context) { runtime.Goexit() },
			} {
				var log bytes.Buffer
				g := guardOn(t, newShelf(), spoilt(name, fn), func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
				run := func(err error) (v int, verdict Verdict, raised any) {
					defer func() { raised = recover() }()
					v, verdict, _ = Do(context.Background(), g, testIntent(fmt.Sprint(err)), JSON[int](), func(context.Context) (int, error) { return 7, err })
					return v, verdict, nil
				}
				if v, verdict, raised := run(nil); v != 7 || verdict != Executed || raised != nil {
					t.Errorf("%s %s: the request got %d, %s and raised %v", name, how, v, verdict, raised)
				}
				// What it would have said of an error plays no part.
				if _, verdict, raised := run(errors.New("no room")); verdict != Released || raised != nil {
					t.Errorf("%s %s: an error ended %s and raised %v, want released", name, how, verdict, raised)
				}
				if st := g.Stats(); st.HookFailures != 2 || st.HooksHanging != 0 {
					t.Errorf("%s %s: %d failures, %d hanging; want 2 and 0", name, how, st.HookFailures, st.HooksHanging)
				}
				if text := log.String(); !strings.Contains(text, `hook="`+name+`"`) || strings.Contains(text, "of ann") || how == "panics" && !strings.Contains(text, "hooks_test.go") {
					t.Errorf("%s %s: the log: %s", name, how, text)
				}
			}
		}
	})
}

func TestS8_AHookThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, name := range hookNames {
			s, ended := newShelf(), make(chan error, 10)
			g := guardOn(t, s, spoilt(name, func(ctx context.Context) {
				<-ctx.Done()
				ended <- ctx.Err()
				pass(9 * time.Second)
			}))
			start, attached := time.Now(), any(nil)
			_, verdict, err := Do(context.Background(), g, testIntent("k"), JSON[int](), func(ctx context.Context) (int, error) {
				attached = ctx.Value(spoilKey{})
				return 0, errors.New("no room")
			})
			if took := time.Since(start); took != time.Second || verdict != Released || err == nil {
				t.Errorf("%s: %s after %v (%v), want released after 1s", name, verdict, took, err)
			}
			if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: its context ended with %v", name, err)
			}
			if (attached != nil) != (name != "before claim") {
				t.Errorf("%s: the run has the value %v", name, attached)
			}
			// The lease of a second was renewed meanwhile, and nobody took over.
			if st := g.Stats(); st.HookFailures != 1 || st.HooksHanging != 1 || st.Stale != 0 || st.Recreated != 0 {
				t.Errorf("%s: %+v", name, st)
			}
			pass(10 * time.Second)
			if st := g.Stats(); st.HooksHanging != 0 {
				t.Errorf("%s: it returned, and %d are said to hang", name, st.HooksHanging)
			}
		}
	})
}

// Hooks that never return cost a second a request for so long only.
func TestS8_HooksThatHangAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		g := guardOn(t, newShelf(), spoilt("after verdict", func(context.Context) { <-release }))
		var all sync.WaitGroup
		for i := range mostHanging {
			all.Go(func() { claimed(t, g, testIntent(fmt.Sprint(i))).End(context.Background()) })
		}
		all.Wait()
		start := time.Now()
		won(t, g, testIntent("one more")).End(context.Background())
		if st := g.Stats(); st.HooksHanging != mostHanging || st.HookFailures != mostHanging+int64(len(hookNames)) || time.Since(start) != 0 {
			t.Errorf("%+v, and one more took %v", st, time.Since(start))
		}
		// Close waits for them as long as it may, and then says so.
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := g.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closing with hooks that hang: %v", err)
		}
		close(release)
	})
}

func TestI12_CloseWaitsForHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		returned := false
		g := guardOn(t, newShelf(), spoilt("after verdict", func(ctx context.Context) {
			<-ctx.Done()
			pass(3 * time.Second)
			returned = true
		}))
		go func() {
			_, _, _ = Do(context.Background(), g, testIntent("k"), JSON[int](), func(context.Context) (int, error) { pass(time.Second); return 1, nil })
		}()
		synctest.Wait()
		if err := g.Close(context.Background()); err != nil || !returned {
			t.Errorf("closed with %v, the hook returned: %v", err, returned)
		}
		d := &diary{}
		g = guardOn(t, newShelf(), d.hooks)
		_ = g.Close(context.Background())
		if c, _ := g.Claim(context.Background(), testIntent("late")); c.Verdict() != Unavailable || d.read() != nil {
			t.Errorf("a claim after Close is %s, and hooks were called", c.Verdict())
		}
	})
}

func TestS8_AHookTurnsAnErrorIntoDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gateway := errors.New("502 from the provider")
		doubting := func(c *Config) {
			c.Hooks.BeforeSettle = func(_ context.Context, p SettlePlan) SettleChange {
				return SettleChange{Doubt: p.Value == 502 || errors.Is(p.Err, gateway)}
			}
		}
		keeps := policy(func(p *Policy) { p.On5xx = Keep })
		for _, row := range []struct {
			name   string
			change []func(*Config)
			value  int
			err    error
			want   Verdict
			state  State
		}{
			{"an error that would be released", nil, 0, gateway, Uncertain, StateUncertain},
			{"one that says it had no effect", nil, 0, NoEffects(gateway), Uncertain, StateUncertain},
			{"one that would be kept", []func(*Config){keeps}, 0, gateway, Uncertain, StateUncertain},
			{"another error", nil, 0, errors.New("no room"), Released, StateReleased},
			{"a run that completed", nil, 502, nil, Executed, StateSucceeded},
		} {
			s := newShelf()
			g := guardOn(t, s, append(row.change, doubting)...)
			_, verdict, err := Do(context.Background(), g, testIntent("k"), JSON[int](), func(context.Context) (int, error) { return row.value, row.err })
			if r, _ := s.record(t); verdict != row.want || r.state != row.state || !errors.Is(err, row.err) {
				t.Errorf("%s: %s, %s, %v; want %s, %s", row.name, verdict, r.state, err, row.want, row.state)
			}
		}
		// By hand: what is in doubt stays there.
		for how, end := range map[string]func(*Claim) error{
			"doubt":   func(c *Claim) error { return c.Doubt(context.Background()) },
			"release": func(c *Claim) error { return c.Release(context.Background()) },
			"fail":    func(c *Claim) error { return c.Fail(context.Background(), Payload{}) },
		} {
			s := newShelf()
			g := guardOn(t, s, func(c *Config) {
				c.Hooks.BeforeSettle = func(_ context.Context, p SettlePlan) SettleChange { return SettleChange{Doubt: p.Outcome != Doubts} }
			})
			c := won(t, g, testIntent("k"))
			if err := end(c); err != nil {
				t.Errorf("%s: %v", how, err)
			}
			wantVerdict(t, c, Uncertain)
		}
	})
}

func TestAHookLeavesANoteAndEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		var noted, completed error
		g := guardOn(t, s, func(c *Config) {
			c.Hooks.BeforeSettle = func(ctx context.Context, _ SettlePlan) SettleChange {
				noted = Note(ctx, "seen by the hook")
				claim, _ := ClaimFrom(ctx)
				completed = claim.Complete(ctx, Payload{})
				return SettleChange{Doubt: true}
			}
		})
		c := won(t, g, testIntent("k"))
		_ = c.Release(context.Background())
		if r, _ := s.record(t); string(r.note) != "seen by the hook" || r.state != StateUncertain {
			t.Errorf("the record is %s with the note %q", r.state, r.note)
		}
		if noted != nil || !errors.Is(completed, ErrNoClaim) {
			t.Errorf("the note: %v; completing: %v", noted, completed)
		}
	})
}

func TestOnlyTheValuesOfAHooksContextGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key string
		g := guardOn(t, newShelf(), policy(func(p *Policy) { p.OnDisconnect = Cancel }), func(c *Config) {
			c.Hooks.BeforeClaim = func(ctx context.Context, _ HookIntent) context.Context {
				ctx, cancel := context.WithCancelCause(context.WithValue(ctx, key("tenant"), "of the hook"))
				cancel(errors.New("by the hook"))
				return context.WithValue(ctx, key("shard"), 3)
			}
		})
		cause := errors.New("by the client")
		ctx, leave := context.WithCancelCause(context.WithValue(context.WithValue(context.Background(), key("user"), "ann"), key("tenant"), "of the request"))
		_, _, _ = Do(ctx, g, testIntent("k"), JSON[int](), func(ctx context.Context) (int, error) {
			if got := fmt.Sprintf("%v %v %v %v", ctx.Value(key("tenant")), ctx.Value(key("shard")), ctx.Value(key("user")), ctx.Err()); got != "of the hook 3 ann <nil>" {
				t.Errorf("the run's context has %s", got)
			}
			leave(cause)
			<-ctx.Done()
			if got := context.Cause(ctx); got != cause {
				t.Errorf("it ended with %v, want %v", got, cause)
			}
			return 1, nil
		})
	})
}

func TestNoHookCostsNothing(t *testing.T) {
	if hooksOf(&Guard{}, Hooks{}) != nil {
		t.Error("hooks that are not there are called")
	}
	if report := guardOn(t, newShelf()).Report(); strings.Contains(report, "hooks") {
		t.Errorf("the report tells of hooks that are not there:\n%s", report)
	}
	all := guardOn(t, newShelf(), spoilt("", nil))
	if want := "hooks: before claim, before settle, after settle, after verdict\n"; !strings.Contains(all.Report(), want) {
		t.Errorf("the report does not say %q:\n%s", want, all.Report())
	}
	if n := testing.AllocsPerRun(100, func() {
		var none *hookRunner
		if none.enter() {
			t.Error("entered")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
