package idem

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The rules of PROTOCOL section 5: what may be said of a token.

func TestT1_DeadIsSaidOnlyOfWhatIsBuried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := aged(t, s)
		in := tokenIntent(issued(t, g, time.Now().Add(-time.Hour)))
		wantVerdict(t, claimed(t, g, in), Dead)
		if r, _ := s.record(t); r.state != StateBuried {
			t.Fatalf("dead was said, and the record is %s", r.state)
		}
		wantVerdict(t, claimed(t, guardOn(t, s), in), Dead) // found, not written again
		if s.count("bury") != 2 {
			t.Errorf("%d burials were sent, want one each", s.count("bury"))
		}
	})
}

func TestT1_ARecordDecidesHoweverOldTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := aged(t, s)
		ran, corrected := tokenIntent(issued(t, g, time.Now())), tokenIntent(issued(t, g, time.Now()))
		_ = won(t, g, ran).Complete(context.Background(), Payload{Bytes: []byte("1")})
		_ = won(t, g, corrected).Release(context.Background())
		pass(23*time.Hour + 55*time.Minute) // past retention − slack
		wantVerdict(t, claimed(t, g, ran), Replayed)
		again := won(t, g, corrected)
		again.End(context.Background())
	})
}

func TestT1_WhatNobodyCanVouchForIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		pass(30 * time.Hour)
		for name, age := range map[string]time.Duration{
			"older than retention − slack": 24*time.Hour - slack,
			"issued before since":          30*time.Hour + time.Minute,
		} {
			calls := s.count("bury")
			wantVerdict(t, claimed(t, g, tokenIntent(issued(t, g, time.Now().Add(-age)))), Forgotten)
			if s.count("bury") != calls {
				t.Errorf("%s: something was buried that may have run", name)
			}
		}
	})
}

// Given a released token, when it runs again without a record, because the
// policy is open and the store away, then its discard is no death certificate:
// not while that run goes on, and not when Open has been left (found by
// TestScripts_InvariantsHold).
func TestT1_ADiscardedReleaseIsNotDeadUnderOpen(t *testing.T) {
	for name, leaves := range map[string]bool{"open": false, "left since": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				opened := policy(func(p *Policy) { p.OnOutage = Open })
				g, other := aged(t, s, opened), guardOn(t, s, opened)
				in := tokenIntent(issued(t, g, time.Now()))
				_ = won(t, g, in).Release(context.Background())
				s.script(only("claim", fault{refuse: true}))
				bare := won(t, other, in)
				s.script(nil)
				if leaves {
					pass(time.Second)
					closed := guardOn(t, s).operation(testOperation).policy
					if err := errors.Join(g.SetPolicy(*closed), other.SetPolicy(*closed)); err != nil {
						t.Fatal(err)
					}
					pass(2 * time.Minute) // everybody has read the card
				}
				if _, verdict, err := g.Discard(context.Background(), in); verdict != Forgotten || err != nil {
					t.Errorf("its discard says %q, %v; want forgotten", verdict, err)
				}
				bare.End(context.Background())
			})
		})
	}
}

func TestT1_ABurialOfUnknownOutcomeIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := aged(t, s)
		in := tokenIntent(issued(t, g, time.Now().Add(-time.Hour)))
		s.script(only("bury", fault{loseReply: true}))
		c, err := g.Claim(context.Background(), in)
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("verdict %s, %v; want unavailable", c.Verdict(), err)
		}
		s.first(2, "bury", fault{loseReply: true}) // asked again, its own burial is there
		wantVerdict(t, claimed(t, g, tokenIntent(issued(t, g, time.Now().Add(-time.Hour)))), Dead)
	})
}

// A claim that vanished with its lease would make a crashed run look like a
// token that was never used.
func TestT2_RecordsOutliveTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := aged(t, s)
		in := tokenIntent(issued(t, g, time.Now()))
		c := won(t, g, in)
		s.script(only("renew", fault{refuse: true})) // the process is as good as dead
		pass(time.Hour)
		s.script(nil)
		wantVerdict(t, claimed(t, guardOn(t, s), in), Uncertain)
		c.End(context.Background())
	})
	_, err := New(Config{Store: newShelf(), NameKey: testNameKey, Signer: guardSigner(t), Policies: []Policy{{Operation: testOperation, Retention: 25 * time.Minute}}})
	if err == nil || !strings.Contains(err.Error(), "retention") {
		t.Errorf("a retention shorter than token life + deadline + slack: %v", err)
	}
}

// Faults: 12.
func TestT6_DataThatWasLostMakesTokensForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := aged(t, s)
		in := tokenIntent(issued(t, g, time.Now()))
		_ = won(t, g, in).Complete(context.Background(), Payload{})
		pass(time.Hour)
		s.mu.Lock()
		clear(s.items) // the store lost its data, the run's record with it
		s.mu.Unlock()
		wantVerdict(t, claimed(t, g, in), Forgotten)
		wantVerdict(t, claimed(t, guardOn(t, s), in), Forgotten)
	})
}

func TestT6_TheCardIsReadBeforeADeathIsCertified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := aged(t, s)
		in := tokenIntent(issued(t, g, time.Now()))
		pass(30*time.Minute + 30*time.Second) // half a minute after the card was read last
		s.mu.Lock()
		clear(s.items)
		s.mu.Unlock()
		_ = guardOn(t, s) // another process has made the card anew
		wantVerdict(t, claimed(t, g, in), Forgotten)
	})
}

func TestT6_BeforeTheCardWasReadNothingIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		_ = aged(t, s)
		down := &downStore{shelf: s, down: true}
		g := guardOn(t, down)
		in := tokenIntent(issued(t, g, time.Now().Add(-time.Hour)))
		if err := g.Ready(context.Background()); err == nil || !g.Degraded(testOperation) {
			t.Error("ready without a store")
		}
		down.set(false)
		wantVerdict(t, claimed(t, g, in), Forgotten)
		pass(2 * time.Second)
		if err := g.Ready(context.Background()); err != nil {
			t.Errorf("the store is back: %v", err)
		}
		wantVerdict(t, claimed(t, g, in), Dead)
	})
}

// A card outlives its 100 days as long as somebody reads it: one that expired
// would read as a store that lost its data, and every token as forgotten.
func TestT6_TheCardIsRenewedWhenHalfOfItsLifeIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		first := guardOn(t, s)
		name := first.cardName(first.operation(testOperation))
		left := func() time.Duration {
			s.mu.Lock()
			defer s.mu.Unlock()
			held, _ := s.at(name)
			return time.Until(held.expires)
		}
		var before card
		if err := json.Unmarshal(s.value(name), &before); err != nil {
			t.Fatal(err)
		}
		if err := first.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		pass(40 * 24 * time.Hour)
		_ = guardOn(t, s).Close(context.Background())
		if got := left(); got > 61*24*time.Hour {
			t.Errorf("with 60 days left it was written: %v", got)
		}
		pass(15 * 24 * time.Hour)
		_ = guardOn(t, s).Close(context.Background())
		if got := left(); got < 99*24*time.Hour {
			t.Errorf("with 45 days left it was left alone: %v", got)
		}
		var after card
		_ = json.Unmarshal(s.value(name), &after)
		if after.Since != before.Since || after.Counter <= before.Counter {
			t.Errorf("%+v became %+v: want the counter moved on and nothing else", before, after)
		}
	})
}

func TestT6_AnotherNameKeyDoesNotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		_ = guardOn(t, s)
		cfg := Config{Store: s, NameKey: NameKey("another name key of thirty-two b"), Policies: []Policy{{Operation: testOperation, Preset: API}}}
		if g, err := New(cfg); !errors.Is(err, errNameKey) {
			t.Errorf("a guard with another name key: %v", err)
			_ = g.Close(context.Background())
		}
		down := &downStore{shelf: s, down: true}
		cfg.Store = down
		g, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		defer g.Close(ctx)
		down.set(false)
		pass(2 * time.Second)
		if _, err := g.Claim(context.Background(), testIntent("k")); !errors.Is(err, ErrUnavailable) {
			t.Errorf("once the card was read: %v, want every request unavailable", err)
		}
		if g.Ready(context.Background()) == nil {
			t.Error("ready with another name key")
		}
	})
}

// downStore is a shelf that can be out of reach altogether.
type downStore struct {
	*shelf
	down bool
}

func (d *downStore) set(down bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = down
}

func (d *downStore) isDown() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.down
}

func (d *downStore) Create(ctx context.Context, name string, value []byte, ttl time.Duration) (Result, error) {
	if d.isDown() {
		return Result{}, errShelf
	}
	return d.shelf.Create(ctx, name, value, ttl)
}

func (d *downStore) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (Result, error) {
	if d.isDown() {
		return Result{}, errShelf
	}
	return d.shelf.Swap(ctx, name, old, value, ttl)
}

func (d *downStore) Load(ctx context.Context, name string) (Result, error) {
	if d.isDown() {
		return Result{}, errShelf
	}
	return d.shelf.Load(ctx, name)
}
