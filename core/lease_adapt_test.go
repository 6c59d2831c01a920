package idem

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheAdaptedLeaseHasItsBounds(t *testing.T) {
	for _, row := range []struct {
		says        string
		preset      Preset
		p99, worst  time.Duration
		maxRun      time.Duration
		lease, want time.Duration
	}{
		{"half as long again", API, 8 * time.Second, 40 * time.Millisecond, 10 * time.Minute, 30 * time.Second, 12 * time.Second},
		{"twice as long", Payment, 8 * time.Second, 40 * time.Millisecond, 2 * time.Minute, time.Minute, 16 * time.Second},
		{"no preset is no payment", "", 8 * time.Second, 40 * time.Millisecond, 10 * time.Minute, 30 * time.Second, 12 * time.Second},
		{"in whole tenths, rounded up", API, 4010 * time.Millisecond, 40 * time.Millisecond, 10 * time.Minute, 30 * time.Second, 6100 * time.Millisecond},
		{"at least 5s", API, time.Millisecond, 40 * time.Millisecond, 10 * time.Minute, 30 * time.Second, 5 * time.Second},
		{"at least three worst claims", API, time.Millisecond, time.Second, 10 * time.Minute, 30 * time.Second, 9 * time.Second},
		{"at most a minute", API, time.Hour, 40 * time.Millisecond, 2 * time.Hour, 30 * time.Second, time.Minute},
		{"no longer than a run", API, time.Hour, 40 * time.Millisecond, 20_050 * time.Millisecond, 10 * time.Second, 20 * time.Second},
		{"a longer start is no bound", API, 2 * time.Second, 40 * time.Millisecond, 10 * time.Minute, 2 * time.Minute, 5 * time.Second},
	} {
		p := Policy{Operation: testOperation, Preset: row.preset, Lease: row.lease, AdaptiveLease: true, MaxRun: row.maxRun}.withDefaults()
		store := Description{WorstCall: row.worst}
		if err := p.check(store); err != nil {
			t.Errorf("%s: %v", row.says, err)
		}
		if got := p.adapted(row.p99, leastLease(store)); got != row.want {
			t.Errorf("%s: %v, want %v", row.says, got, row.want)
		}
	}
}

func TestS8_AClaimKeepsTheLeaseItWasMadeWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		g := guardOn(t, s, policy(func(p *Policy) { p.Lease, p.AdaptiveLease = 6*time.Second, true }))
		op := g.operation(testOperation)
		c := won(t, g, testIntent("k"))
		for range learnFrom {
			op.usual.add(20*time.Second, true)
		}
		if other := won(t, g, testIntent("l")); recordOf(other).leaseTime() != 30*time.Second {
			t.Errorf("the next claim has a lease of %v", recordOf(other).leaseTime())
		} else {
			defer other.End(context.Background())
		}
		pass(5 * time.Second) // two renewals
		if r := recordOf(c); r.leaseTime() != 6*time.Second || r.counter == 0 {
			t.Errorf("its record says %v after %d renewals", r.leaseTime(), r.counter)
		}
		// Its own deadline ends it, before anybody may take it for lapsed.
		s.script(only("renew", fault{refuse: true}))
		pass(6 * time.Second)
		if cause := context.Cause(c.Context()); !errors.Is(cause, ErrClaimLost) {
			t.Errorf("6s after its last renewal: %v, want that it is lost", cause)
		}
		s.script(nil)
		c.End(context.Background())
	})
}

func TestDurationsAreLearnedByManyAtOnce(t *testing.T) {
	var d durations
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 1000 {
				d.add(time.Duration(1+i%100)*time.Millisecond, true)
			}
		})
	}
	all.Wait()
	if p := d.p90(); p < 50*time.Millisecond || p > 100*time.Millisecond {
		t.Errorf("p90 is %v", p)
	}
	if p := d.p99(); p < 90*time.Millisecond || p > 100*time.Millisecond {
		t.Errorf("p99 is %v", p)
	}
	if n := testing.AllocsPerRun(1000, func() { d.add(time.Second, true) }); n != 0 {
		t.Errorf("%v allocations a run", n)
	}
}

// Every run counts until enough is known, and where leases follow; else those whose
// nonce happens to say so.
func TestAQuarterOfTheRunsIsEnough(t *testing.T) {
	var d durations
	wanted := func(adapts bool) (n int) {
		for chance := range 256 {
			if d.wants(adapts, byte(chance)) {
				n++
			}
		}
		return n
	}
	if n := wanted(false); n != 256 {
		t.Errorf("%d of 256 while nothing is known", n)
	}
	for range shortWindow {
		d.add(time.Second, false)
	}
	if usual, adaptive := wanted(false), wanted(true); usual != 64 || adaptive != 256 {
		t.Errorf("%d of 256, with an adaptive lease %d: want 64 and 256", usual, adaptive)
	}
}

func BenchmarkDurations(b *testing.B) {
	for name, adapts := range map[string]bool{"usual": false, "adaptive": true} {
		b.Run(name, func(b *testing.B) {
			var d durations
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					d.add(time.Duration(i*7919%1000), adapts)
				}
			})
		})
	}
}
