package idem

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// patchy is a shelf that is out of reach for some calls, cards included, and notes
// when the janitor tried.
type patchy struct {
	*shelf
	mu    sync.Mutex
	down  func(step string) bool
	begin time.Time
	at    []time.Duration
}

func (s *patchy) reach(down func(step string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

func (s *patchy) up(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	step := StoreStep(ctx)
	if step == "settle" {
		s.at = append(s.at, time.Since(s.begin).Round(time.Second))
	}
	if s.down != nil && s.down(step) {
		return errShelf
	}
	return nil
}

func (s *patchy) Create(ctx context.Context, name string, value []byte, ttl time.Duration) (Result, error) {
	if err := s.up(ctx); err != nil {
		return Result{}, err
	}
	return s.shelf.Create(ctx, name, value, ttl)
}

func (s *patchy) Load(ctx context.Context, name string) (Result, error) {
	if err := s.up(ctx); err != nil {
		return Result{}, err
	}
	return s.shelf.Load(ctx, name)
}

func all(string) bool { return true }

func claimsAndSettles(step string) bool { return step == "claim" || step == "settle" }

// openOn leaves one claim of unknown outcome open.
func openOn(t *testing.T, s *patchy) *Guard {
	t.Helper()
	g := guardOn(t, s)
	s.begin, s.at = time.Now(), nil
	s.reach(claimsAndSettles)
	if _, err := g.Claim(context.Background(), testIntent("k")); !errors.Is(err, ErrUnavailable) {
		t.Fatal(err)
	}
	return g
}

func seconds(list ...int) (out []time.Duration) {
	for _, n := range list {
		out = append(out, time.Duration(n)*time.Second)
	}
	return out
}

// Given a claim of unknown outcome and a store that stays away, then the janitor
// tries at once, after a second, and less and less often, but twice a minute at
// least; and anew once the store has answered anybody.
func TestS8_TheJanitorBacksOff(t *testing.T) {
	for _, c := range []struct {
		name string
		does func(t *testing.T, s *patchy, g *Guard)
		want []time.Duration
	}{
		{"the store is away", func(_ *testing.T, s *patchy, _ *Guard) {
			s.reach(all)
			pass(155 * time.Second)
		}, seconds(0, 1, 3, 7, 15, 31, 61, 91, 121, 151)},
		{"its record alone is, and others are answered", func(t *testing.T, _ *patchy, g *Guard) {
			for range 310 {
				pass(500 * time.Millisecond)
				answersAnybody(t, g)
			}
		}, seconds(0, 1, 3, 7, 15, 31, 61, 91, 121, 151)},
		{"the store is back, and answers somebody", func(t *testing.T, s *patchy, g *Guard) {
			s.reach(all)
			pass(96 * time.Second)
			s.reach(nil)
			answersAnybody(t, g)
			pass(60 * time.Second)
		}, seconds(0, 1, 3, 7, 15, 31, 61, 91, 96)},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &patchy{shelf: newShelf()}
				c.does(t, s, openOn(t, s))
				s.mu.Lock()
				got := slices.Clone(s.at)
				s.mu.Unlock()
				if !slices.Equal(got, c.want) {
					t.Errorf("it tried at %v, want %v", got, c.want)
				}
				s.reach(nil)
			})
		})
	}
}

// Given a guard that is closed in an outage, then its janitor goes on trying each
// second, because whoever closes does not wait for long.
func TestS8_WhoClosesIsNotPutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &patchy{shelf: newShelf()}
		g := openOn(t, s)
		s.reach(all)
		pass(100 * time.Second)
		begun := time.Now()
		closed := make(chan error)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			closed <- g.Close(ctx)
		}()
		pass(10 * time.Second)
		s.reach(nil)
		if err := <-closed; err != nil || time.Since(begun) > 12*time.Second {
			t.Errorf("closed after %v: %v", time.Since(begun), err)
		}
	})
}
