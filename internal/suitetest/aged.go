package suitetest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
)

// Aged builds a guard over a store in memory that is two seconds old. A token tells
// whole seconds: one of a guard's first second may be older than what it remembers,
// or not, as the second falls, and is forgotten then where it would be foreign.
func Aged(t *testing.T, policy idem.Policy) *idem.Guard {
	t.Helper()
	var ahead atomic.Int64
	g, err := idem.New(idem.Config{
		Store: memstore.New(memstore.Options{}), Policies: []idem.Policy{policy},
		Clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	ahead.Store(int64(2 * time.Second))
	return g
}
