package idem_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
)

// paced is a guard whose handler takes as long as it is told to.
type paced struct {
	*testing.T
	guard *idem.Guard
	keys  int
}

// run runs the action once and returns the lease that its record says it has.
func (p *paced) run(takes time.Duration) (lease time.Duration) {
	p.Helper()
	p.keys++
	in := idem.Intent{Operation: "shop:order:create", Scope: "alice", Key: fmt.Sprint(p.keys)}
	_, verdict, err := idem.Do(context.Background(), p.guard, in, idem.JSON[int](), func(ctx context.Context) (int, error) {
		st, err := p.guard.Status(context.Background(), in)
		lease = st.LeaseLeft
		<-time.After(takes)
		if ctx.Err() != nil {
			p.Errorf("a run of %v under a lease of %v was ended: %v", takes, lease, context.Cause(ctx))
		}
		return 1, err
	})
	if verdict != idem.Executed || err != nil {
		p.Fatalf("a run of %v: %s, %v", takes, verdict, err)
	}
	return lease
}

// runs are runs of which every fiftieth takes long, so that this is their p99.
func (p *paced) runs(n int, long time.Duration) (lease time.Duration) {
	p.Helper()
	for i := range n {
		takes := long / 10
		if i%50 == 25 {
			takes = long
		}
		lease = p.run(takes)
	}
	return lease
}

func (p *paced) wants(said string, lease, want time.Duration) {
	p.Helper()
	if lease != want {
		p.Errorf("%s: the lease is %v, want %v", said, lease, want)
	}
}

func TestS8_TheAdaptiveLeaseFollowsItsHandler(t *testing.T) {
	for preset, factor := range map[idem.Preset]float64{idem.API: 1.5, idem.Payment: 2} {
		t.Run(string(preset), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				guard, err := idem.New(idem.Config{Store: memstore.New(memstore.Options{}), Policies: []idem.Policy{{
					Operation: "shop:order:create", Preset: preset, Lease: 20 * time.Second, AdaptiveLease: true,
				}}})
				if err != nil {
					t.Fatal(err)
				}
				defer guard.Close(context.Background())
				times := func(d time.Duration) time.Duration { return time.Duration(factor * float64(d)) }
				p := &paced{T: t, guard: guard}
				p.wants("199 runs are known", p.runs(200, time.Second), 20*time.Second)
				p.wants("p99 is 1s", p.run(time.Second/10), 5*time.Second)
				p.wants("p99 has moved to 8s", p.runs(201, 8*time.Second), times(8*time.Second))
				p.wants("and on to 50s", p.runs(201, 50*time.Second), time.Minute)
				p.wants("back to 8s", p.runs(201, 8*time.Second), times(8*time.Second))
				p.wants("back to 1s", p.runs(201, time.Second), 5*time.Second)
				// One that takes long once in a while does not count.
				p.run(30 * time.Second)
				p.wants("one of 200 took 30s", p.runs(100, time.Second), 5*time.Second)
				if st := guard.Stats(); st.Stale != 0 || st.Recreated != 0 || st.Unknown != 0 {
					t.Errorf("leases were lost: %+v", st)
				}
			})
		})
	}
}
