package idem_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/storetest"
	"github.com/go-idem/idem/stores/memstore"
)

const keptOperation = "test:keep:run"

func keptGuard(t testing.TB, s idem.Store, lease time.Duration) *idem.Guard {
	t.Helper()
	signer, err := idem.NewSigner(idem.SigningKey{ID: 1, Secret: []byte("fedcba9876543210fedcba9876543210")})
	if err != nil {
		t.Fatal(err)
	}
	g, err := idem.New(idem.Config{
		Store: s, Signer: signer, NameKey: []byte("0123456789abcdef0123456789abcdef"),
		Policies: []idem.Policy{{Operation: keptOperation, Preset: idem.API, Lease: lease, MaxRun: time.Hour}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = g.Close(ctx)
	})
	return g
}

func keep(t testing.TB, g *idem.Guard, n int) []*idem.Claim {
	t.Helper()
	return keepMore(t, g, 0, n)
}

func keepMore(t testing.TB, g *idem.Guard, from, n int) []*idem.Claim {
	t.Helper()
	claims := make([]*idem.Claim, n)
	for i := range claims {
		c, err := g.Claim(context.Background(), idem.Intent{Operation: keptOperation, Scope: "alice", Key: fmt.Sprint("k", from+i)})
		if err != nil || !c.Won() {
			t.Fatalf("claim %d: %v", from+i, err)
		}
		claims[i] = c
	}
	return claims
}

// Renewals that are due leave together: a thousand claims that began at a
// thousand different moments cost a few exchanges for each third of a lease.
func TestP4_RenewalsLeaveTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := storetest.NewFaults()
		g := keptGuard(t, faults.Wrap(memstore.New(memstore.Options{})), 3*time.Second)
		claims := make([]*idem.Claim, 0, 1000)
		for range cap(claims) / 10 {
			claims = append(claims, keepMore(t, g, len(claims), 10)...)
			<-time.After(9 * time.Millisecond) // they begin over nine tenths of a second
		}
		faults.Reset()
		const periods = 20
		<-time.After(periods * time.Second)
		for i, c := range claims {
			if err := c.Context().Err(); err != nil {
				t.Fatalf("claim %d: %v after 20 s of a lease of 3 s", i, context.Cause(c.Context()))
			}
		}
		renewals, trips := faults.Calls("renew", ""), faults.Trips()
		if renewals < len(claims)*(periods-1) || renewals > len(claims)*(periods+3) {
			t.Errorf("%d renewals of %d claims in %d thirds of a lease", renewals, len(claims), periods)
		}
		if trips > 15*periods {
			t.Errorf("%d renewals took %d exchanges, want at most 15 for each third of a lease", renewals, trips)
		}
		t.Logf("%d renewals in %d exchanges", renewals, trips)
	})
}

// deaf is a store that does not come back from a renewal, whatever its context
// says, until it is let go.
type deaf struct {
	idem.Store
	heard atomic.Int64
	let   chan struct{}
}

func (d *deaf) UsesStoreStep() bool { return true }

func (d *deaf) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (idem.Result, error) {
	if idem.StoreStep(ctx) == "renew" {
		d.heard.Add(1)
		<-d.let
		return idem.Result{}, errors.New("deaf: no answer")
	}
	return d.Store.Swap(ctx, name, old, value, ttl)
}

// However long a store keeps renewals, every owner stops in time.
func TestP5_ASlowStoreHoldsUpNobodysDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &deaf{Store: memstore.New(memstore.Options{}), let: make(chan struct{})}
		g := keptGuard(t, s, 30*time.Second) // a plain store is taken to have a worst call of 250 ms: the margin is 3 s
		start := time.Now()
		claims := keep(t, g, 200)
		synctest.Wait()
		tooLong := time.After(40 * time.Second)
		for i, c := range claims {
			select {
			case <-c.Context().Done():
			case <-tooLong:
				close(s.let)
				t.Fatalf("claim %d of a lease of 30 s is still run after 40", i)
			}
			if cause := context.Cause(c.Context()); !errors.Is(cause, idem.ErrClaimLost) {
				t.Fatalf("claim %d ended with %v", i, cause)
			}
		}
		if took := time.Since(start); took != 27*time.Second {
			t.Errorf("the last owner stopped after %v, want the 27 s of its lease without the margin", took)
		}
		if n := s.heard.Load(); n == 0 || n > 200 {
			t.Errorf("%d renewals were on their way", n)
		}
		close(s.let)
		for _, c := range claims {
			_ = c.Release(context.Background())
		}
	})
}
