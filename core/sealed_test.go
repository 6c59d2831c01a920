package idem

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func discarded() *slog.Logger { return slog.New(slog.DiscardHandler) }

// sealedWith has a guard seal, with the first of these test keys.
func sealedWith(t testing.TB, ids ...uint8) func(*Config) {
	return func(c *Config) { c.Sealer = sealerOf(t, ids...) }
}

// sealedRun is a run on a shelf of its own that has left a note and an answer,
// and the name of its record.
func sealedRun(t testing.TB, change ...func(*Config)) (*shelf, *Guard, string) {
	t.Helper()
	s := newShelf()
	g := guardOn(t, s, change...)
	c := won(t, g, testIntent("k"))
	if err := c.Note("order of ann"); err != nil {
		t.Fatal(err)
	}
	_ = c.Complete(context.Background(), Payload{Bytes: []byte(`"answer for ann"`)})
	return s, g, c.id.name
}

// put places a value under a name, as whoever can write to the store could.
func (s *shelf) put(name string, value []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items[name] = shelved{value, time.Now().Add(time.Hour)}
}

func (s *shelf) value(name string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, _ := s.at(name)
	return bytes.Clone(held.value)
}

// wantKept claims again and says which answer is replayed.
func wantKept(t testing.TB, g *Guard, in Intent, want string) {
	t.Helper()
	c := claimed(t, g, in)
	wantVerdict(t, c, Replayed)
	if kept, _ := c.Kept(); string(kept.Bytes) != want {
		t.Errorf("replayed %s, want %s", kept.Bytes, want)
	}
}

func TestS6_SealedAnswersAndNotesAreNotReadInTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, name := sealedRun(t, sealedWith(t, 1))
		if value := s.value(name); bytes.Contains(value, []byte("ann")) || len(value) == 0 {
			t.Errorf("the store has %q", value)
		}
		wantKept(t, g, testIntent("k"), `"answer for ann"`)
		if st, err := g.Status(context.Background(), testIntent("k")); st.Note != "order of ann" || err != nil {
			t.Errorf("the status has the note %q, %v", st.Note, err)
		}
		// A note is sealed while the run goes on, too.
		c := won(t, g, testIntent("running"))
		if err := MarkEffects(c.Context(), "charge of ann"); err != nil {
			t.Fatal(err)
		}
		if value := s.value(c.id.name); bytes.Contains(value, []byte("ann")) || len(value) != headSize+3+len("charge of ann")+sealOverhead+1 {
			t.Errorf("the store has %q", value)
		}
		other := guardOn(t, s, sealedWith(t, 1))
		if st, _ := other.Status(context.Background(), testIntent("running")); st.Note != "charge of ann" || st.State != StateProcessing {
			t.Errorf("another process reads the note %q of a %s record", st.Note, st.State)
		}
		_ = c.Doubt(context.Background())
		if st, _ := other.Status(context.Background(), testIntent("running")); st.Note != "charge of ann" || st.State != StateUncertain {
			t.Errorf("after it, the note is %q of a %s record", st.Note, st.State)
		}
	})
}

// Every bit of a record that keeps an answer is under its seal.
func TestS6_ABrokenSealIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, g, name := sealedRun(t, sealedWith(t, 1), func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		genuine := s.value(name)
		g = guardOn(t, s, sealedWith(t, 1), func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		damage := func(what string, value []byte) {
			s.put(name, value)
			c := claimed(t, g, testIntent("k"))
			if c.Verdict() != Uncertain || c.Won() {
				t.Errorf("%s: %q, won %v; want uncertain", what, c.Verdict(), c.Won())
				c.End(context.Background())
			}
			if st, _ := g.Status(context.Background(), testIntent("k")); st.State != StateUncertain || st.Note != "" {
				t.Errorf("%s: status %s, note %q", what, st.State, st.Note)
			}
		}
		for bit := range 8 * len(genuine) {
			value := bytes.Clone(genuine)
			value[bit/8] ^= 1 << (bit % 8)
			damage(fmt.Sprintf("bit %d of byte %d", bit%8, bit/8), value)
		}
		for n := headSize; n < len(genuine); n++ {
			damage(fmt.Sprintf("cut to %d bytes", n), genuine[:n:n])
		}
		damage("grown", append(bytes.Clone(genuine), 0))
		if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "its seal is broken") {
			t.Errorf("it was not said aloud: %.200s", log.String())
		}
		s.put(name, genuine)
		wantKept(t, g, testIntent("k"), `"answer for ann"`)
	})
}

func TestS6_ASealBindsTheAnswerToItsRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s, sealedWith(t, 1), forceable)
		run := func(in Intent, answer string) string {
			c := won(t, g, in)
			_ = c.Note("note of " + answer)
			_ = c.Complete(context.Background(), Payload{Bytes: []byte(answer)})
			return c.id.name
		}
		anns, eves := run(testIntent("ann"), `"for ann"`), run(testIntent("eve"), `"for eve"`)
		first, second := s.value(anns), s.value(eves)
		s.put(eves, first)
		wantVerdict(t, claimed(t, guardOn(t, s, sealedWith(t, 1)), testIntent("eve")), Uncertain)

		// The answer alone, behind the head of the other record.
		r, _ := decodeRecord(first)
		head := len(first) - len(r.payload.Bytes)
		q, _ := decodeRecord(second)
		s.put(eves, append(bytes.Clone(second[:len(second)-len(q.payload.Bytes)]), first[head:]...))
		wantVerdict(t, claimed(t, guardOn(t, s, sealedWith(t, 1)), testIntent("eve")), Uncertain)

		// The answer of an earlier run of the same record, behind its present head.
		run(forced("ann"), `"for ann, again"`)
		now := s.value(anns)
		q, _ = decodeRecord(now)
		s.put(anns, append(bytes.Clone(now[:len(now)-len(q.payload.Bytes)]), first[head:]...))
		wantVerdict(t, claimed(t, guardOn(t, s, sealedWith(t, 1)), testIntent("ann")), Uncertain)

		// A note of another record, or of an earlier run, says nothing.
		r.note, r.sealed, r.answered, r.state = nil, false, false, StateUncertain
		if note := g.noteOf(anns, &r); string(note) != `note of "for ann"` {
			t.Errorf("the note is %q", note)
		}
		if note := g.noteOf(eves, &r); note != nil {
			t.Errorf("under another name it is %q", note)
		}
		if r.fence++; g.noteOf(anns, &r) != nil {
			t.Error("it passes for a later run's")
		}
	})
}

func TestS6_WhoCannotOpenItHoldsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := sealedRun(t, sealedWith(t, 1))
		opens := func(c *Config) { c.Sealer, _ = NewSealer(testSealingKey(1, true)) }
		for _, row := range []struct {
			name string
			with func(*Config)
			want Verdict
			says string
			note string
		}{
			{"the same ring", sealedWith(t, 1), Replayed, "", "order of ann"},
			{"a new key seals", sealedWith(t, 2, 1), Replayed, "", "order of ann"},
			{"only opens", opens, Replayed, "", "order of ann"},
			{"another ring", sealedWith(t, 2), Uncertain, "key s1, which is not in the ring", ""},
			{"no sealer", func(*Config) {}, Uncertain, "this guard has no sealer", ""},
			{"the id of another secret", func(c *Config) {
				c.Sealer, _ = NewSealer(SealingKey{ID: 1, Secret: bytes.Repeat([]byte("x"), 32)})
			}, Uncertain, "its seal is broken", ""},
		} {
			var log bytes.Buffer
			g := guardOn(t, s, row.with, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
			c := claimed(t, g, testIntent("k"))
			wantVerdict(t, c, row.want)
			if st, _ := g.Status(context.Background(), testIntent("k")); st.Note != row.note {
				t.Errorf("%s: the note is %q, want %q", row.name, st.Note, row.note)
			}
			if row.says != "" && !strings.Contains(log.String(), row.says) {
				t.Errorf("%s: the log does not say %q: %s", row.name, row.says, log.String())
			}
		}
	})
}

// A run that waits to be resolved keeps a note that nobody here can open: it is
// not read, an operator is told, and nothing else changes.
func TestS6_ANoteThatCannotBeOpenedHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		c := won(t, guardOn(t, s, sealedWith(t, 1)), testIntent("k"))
		_ = c.Note("order of ann")
		_ = c.Release(context.Background())
		var log bytes.Buffer
		g := guardOn(t, s, sealedWith(t, 2), func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		if st, err := g.Status(context.Background(), testIntent("k")); st.State != StateReleased || st.Note != "" || err != nil {
			t.Errorf("status %s, note %q, %v", st.State, st.Note, err)
		}
		if !strings.Contains(log.String(), "note cannot be read") || strings.Contains(log.String(), "of ann") {
			t.Errorf("the log: %s", log.String())
		}
		won(t, g, testIntent("k")).End(context.Background())
	})
}

func TestS6_WhatIsNotSealedIsReadByChoice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, name := sealedRun(t)
		for _, row := range []struct {
			name   string
			change []func(*Config)
			want   Verdict
			note   string
		}{
			{"no sealer", nil, Replayed, "order of ann"},
			{"a ring that opens only", []func(*Config){func(c *Config) { c.Sealer, _ = NewSealer(testSealingKey(1, true)) }}, Replayed, "order of ann"},
			{"sealing", []func(*Config){sealedWith(t, 1)}, Uncertain, ""},
			{"sealing, ReadUnsealed", []func(*Config){sealedWith(t, 1), func(c *Config) { c.ReadUnsealed = true }}, Replayed, "order of ann"},
		} {
			g := guardOn(t, s, row.change...)
			c := claimed(t, g, testIntent("k"))
			if st, _ := g.Status(context.Background(), testIntent("k")); c.Verdict() != row.want || st.Note != row.note && row.want == Replayed {
				t.Errorf("%s: %s, note %q; want %s, %q", row.name, c.Verdict(), st.Note, row.want, row.note)
			}
		}
		// One that says it is done, and keeps nothing at all, is not sealed either.
		value := s.value(name)[:headSize]
		value[1] = 0
		s.put(name, value)
		wantVerdict(t, claimed(t, guardOn(t, s), testIntent("k")), Used)
		wantVerdict(t, claimed(t, guardOn(t, s, sealedWith(t, 1)), testIntent("k")), Uncertain)
	})
	if _, err := New(Config{Store: newShelf(), NameKey: testNameKey, Policies: []Policy{{Operation: testOperation, Preset: API}}, ReadUnsealed: true}); err == nil || !strings.Contains(err.Error(), "ReadUnsealed") {
		t.Errorf("ReadUnsealed without a sealer: %v", err)
	}
}

// What has no outcome has no seal, which the documents say: who can write to the
// store can write a release, and the action runs again. Whatever says that it is an
// outcome needs the seal of that very outcome.
func TestS6_OnlyOutcomesAreSealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s, sealedWith(t, 1))
		doubt := func(c *Claim) error { return c.Doubt(context.Background()) }
		complete := func(c *Claim) error { return c.Complete(context.Background(), Payload{Bytes: []byte("1")}) }
		unkept := func(c *Claim) error { return c.Complete(context.Background(), Payload{Partial: true}) }
		for _, row := range []struct {
			made string
			end  func(*Claim) error
			to   State
			cut  bool
			want Verdict // 0: it runs again
		}{
			{"a doubt turned into a release", doubt, StateReleased, false, 0},
			{"a success cut down to a release", complete, StateReleased, true, 0},
			{"a doubt turned into a success", doubt, StateSucceeded, false, Uncertain},
			{"a success cut down to one that kept nothing", complete, StateSucceeded, true, Uncertain},
			{"a success turned into a release", complete, StateReleased, false, Uncertain},
			{"a success turned into a refusal", complete, StateFailed, false, Uncertain},
			{"one that kept nothing turned into a release", unkept, StateReleased, false, Uncertain},
		} {
			c := won(t, g, testIntent(row.made))
			if err := row.end(c); err != nil {
				t.Fatal(err)
			}
			value := s.value(c.id.name)
			if value[0] = recordVersion<<4 | byte(row.to); row.cut {
				value = value[:headSize]
				value[1] &^= flagTail
			}
			s.put(c.id.name, value)
			if got := claimed(t, guardOn(t, s, sealedWith(t, 1)), testIntent(row.made)).Verdict(); got != row.want {
				t.Errorf("%s: %q, want %q", row.made, got, row.want)
			}
		}
	})
}

// Sealed twice, a record is two values; sent again, it must be one.
func TestP2_ASealedOutcomeIsSentAgainAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s, sealedWith(t, 1))
		c := won(t, g, testIntent("k"))
		s.first(2, "renew", fault{loseReply: true})
		if err := MarkEffects(c.Context(), "order 7"); err != nil {
			t.Fatal(err)
		}
		s.first(2, "settle", fault{loseReply: true})
		_ = c.Complete(context.Background(), Payload{Bytes: []byte(`"answer"`)})
		wantKept(t, g, testIntent("k"), `"answer"`) // from the outcome this process holds
		pass(3 * time.Second)
		wantKept(t, guardOn(t, s, sealedWith(t, 1)), testIntent("k"), `"answer"`)
		if st := g.Stats(); st.Stale != 0 || st.Recreated != 0 || st.Pending != 0 {
			t.Errorf("%+v", st)
		}
	})
}

func TestS6_TheLargestAnswerLeavesRoomForItsSeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 1<<20 - headSize - 1 // the shelf's largest value
		for _, row := range []struct {
			size   int
			change []func(*Config)
			want   Verdict
		}{
			{most, nil, Replayed},
			{most, []func(*Config){sealedWith(t, 1)}, Used},
			{most - sealOverhead, []func(*Config){sealedWith(t, 1)}, Replayed},
		} {
			s := newShelf()
			g := guardOn(t, s, row.change...)
			c := won(t, g, testIntent("k"))
			_ = c.Complete(context.Background(), Payload{Bytes: make([]byte, row.size)})
			if n := len(s.value(c.id.name)); n > 1<<20 {
				t.Errorf("%d bytes were written", n)
			}
			wantVerdict(t, claimed(t, g, testIntent("k")), row.want)
		}
	})
}

func TestTheReportSaysWhatIsSealed(t *testing.T) {
	for says, change := range map[string]func(*Config){
		"answers and notes are kept in the clear: sealer(none)":                    func(*Config) {},
		"answers and notes are kept in the clear: sealer(seals nothing, opens s1)": func(c *Config) { c.Sealer, _ = NewSealer(testSealingKey(1, true)) },
		"answers and notes are sealed: sealer(seals with s2, opens s1 s2)\n":       sealedWith(t, 2, 1),
		"answers and notes are sealed: sealer(seals with s1, opens s1); what is not sealed is read all the same\n": func(c *Config) {
			c.Sealer, c.ReadUnsealed = sealerOf(t, 1), true
		},
	} {
		if report := guardOn(t, newShelf(), change).Report(); !strings.Contains(report, says) {
			t.Errorf("the report does not say %q:\n%s", says, report)
		}
	}
}

// Given a sealed outcome on its way to the store, when a repeat here is answered from
// it, which opens its answer, then nobody reads what another is writing (the race
// detector sees it).
func TestARepeatMayOpenAnAnswerWhileItIsSettled(t *testing.T) {
	s := newShelf()
	g := guardOn(t, s, sealedWith(t, 1), policy(func(p *Policy) { p.Lease = time.Minute }))
	c := won(t, g, testIntent("k"))
	s.first(1, "settle", fault{refuse: true})
	_ = c.Complete(context.Background(), Payload{Bytes: []byte(`"answer for ann"`)}) // it is held, and told here
	var repeats sync.WaitGroup
	s.script(func(call shelfCall) fault { // on its way again
		if call.step == "settle" {
			repeats.Go(func() {
				if f, have := c.view(); !have || string(f.rec.payload.Bytes) != `"answer for ann"` {
					t.Errorf("%v, %s", have, f.rec.payload.Bytes)
				}
			})
			return fault{slow: 5 * time.Millisecond}
		}
		return fault{}
	})
	if _, err := c.attempt(context.Background(), &c.final, time.Minute); err != nil {
		t.Error(err)
	}
	repeats.Wait()
}
