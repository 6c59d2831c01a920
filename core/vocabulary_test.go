package idem

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestNoEffectsReleasesOverMarkAndEndedContext(t *testing.T) {
	for name, run := range map[string]func(context.Context) error{
		"after a mark": func(ctx context.Context) error {
			if err := MarkEffects(ctx); err != nil {
				t.Error(err)
			}
			return NoEffects(errShelf)
		},
		"after MaxRun":                     func(ctx context.Context) error { <-ctx.Done(); return NoEffects(ctx.Err()) },
		"wrapped once more by the handler": func(context.Context) error { return errors.Join(errors.New("order"), NoEffects(errShelf)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				g := guardOn(t, s, policy(func(p *Policy) { p.MaxRun, p.On5xx = 2*time.Second, Doubt }))
				_, verdict, err := Do(context.Background(), g, testIntent("k"), JSON[int](), func(ctx context.Context) (int, error) { return 0, run(ctx) })
				if r, _ := s.record(t); verdict != Released || r.state != StateReleased || err == nil {
					t.Errorf("%s, record %s, %v; want it released", verdict, r.state, err)
				}
				won(t, g, testIntent("k")).End(context.Background())
			})
		})
	}
	if NoEffects(nil) != nil {
		t.Error("nil became an error")
	}
	if err := NoEffects(errShelf); !errors.Is(err, errShelf) || err.Error() != errShelf.Error() {
		t.Errorf("the cause is hidden: %v", err)
	}
}

// The key for others is the same for every run of a request, a retake's too,
// and another for another request, label or record.
func TestDownstreamKeyIsThatOfTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s)
		keyOf := func(in Intent, label string) string {
			c := won(t, g, in)
			defer c.Release(context.Background())
			key, ok := DownstreamKey(c.Context(), label)
			if !ok || len(key) != 32 {
				t.Fatalf("%q, %v", key, ok)
			}
			return key
		}
		first := keyOf(testIntent("k"), "stripe")
		if again := keyOf(testIntent("k"), "stripe"); again != first {
			t.Error("a repeat of the same request has another key")
		}
		changed := testIntent("k")
		changed.Fingerprint.Sum[3]++
		for name, other := range map[string]string{
			"another request": keyOf(changed, "stripe"), "another label": keyOf(testIntent("k"), "mail"), "another record": keyOf(testIntent("l"), "stripe"),
		} {
			if other == first {
				t.Errorf("%s has the same key", name)
			}
		}
		if _, ok := DownstreamKey(context.Background(), "stripe"); ok {
			t.Error("a key outside a run")
		}
	})
}

func TestFenceOrdersTheRunsOfARecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guardOn(t, newShelf())
		last := uint64(0)
		for range 5 {
			c := won(t, g, testIntent("k"))
			fence := Fence(c.Context())
			if found, ok := ClaimFrom(c.Context()); !ok || found != c || fence <= last {
				t.Errorf("fence %d after %d, claim found %v", fence, last, ok)
			}
			last = fence
			_ = c.Release(context.Background())
		}
		if _, ok := ClaimFrom(context.Background()); ok || Fence(context.Background()) != 0 {
			t.Error("a claim outside a run")
		}
	})
}
