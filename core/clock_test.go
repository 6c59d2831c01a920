package idem

import (
	"testing"
	"testing/synctest"
	"time"
)

// What is told of a moment that follows another at once is later than it by both
// clocks, as if both had been read.
func TestP5_AMomentAfterIsLaterByBothClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(nil)
		then := c.now()
		time.Sleep(3 * time.Second)
		after := c.after(then)
		if mono, wall := after.Sub(then), after.Round(0).Sub(then.Round(0)); mono != 3*time.Second || wall != mono {
			t.Errorf("%v and, by the wall, %v later: want 3s", mono, wall)
		}
		if took := c.ran(then); took != 3*time.Second {
			t.Errorf("it ran %v, want 3s", took)
		}
	})
}

// A clock that was given is read, whatever it says, and no run took less than nothing.
func TestP5_AGivenClockIsRead(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := newClock(func() time.Time { return now })
	then := c.now()
	now = now.Add(-time.Hour)
	if after, took := c.after(then), c.ran(then); !after.Equal(now) || took != 0 {
		t.Errorf("after is %v and it ran %v: want %v and 0s", after, took, now)
	}
}
