package memstore_test

import (
	"fmt"
	"os"
	"testing"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/storetest"
	"github.com/go-idem/idem/internal/broken"
	"github.com/go-idem/idem/internal/leaktest"
	"github.com/go-idem/idem/stores/memstore"
)

func TestMain(m *testing.M) {
	if !broken.Set(os.Getenv("IDEM_BROKEN")) {
		fmt.Fprintln(os.Stderr, "IDEM_BROKEN names no rule")
		os.Exit(2)
	}
	leaktest.Main(m)
}

// factory makes stores for the suite, each seen through wrap.
func factory(wrap func(idem.Store) idem.Store) storetest.Factory {
	backend := func(o memstore.Options) (*storetest.Backend, error) {
		s := memstore.New(o)
		return &storetest.Backend{
			Open:    func() (idem.Store, error) { return wrap(s), nil },
			Advance: s.Advance,
		}, nil
	}
	return storetest.Factory{
		Clock: true, Describes: true, Batches: true, Watches: true, Indexes: true, Scans: true, Local: true, MaxValue: memstore.MaxValue,
		New:   func() (*storetest.Backend, error) { return backend(memstore.Options{}) },
		Small: func() (*storetest.Backend, error) { return backend(memstore.Options{MaxBytes: 2 << 20}) },
	}
}

func bare(s idem.Store) idem.Store { return s }

func TestContract(t *testing.T) { storetest.Run(t, factory(bare)) }

func TestContractBehindTheFaultDecorator(t *testing.T) {
	storetest.Run(t, factory(storetest.NewFaults().Wrap))
}

// Faults: 10.
func TestS9_AClaimIsOneStepInTheStore(t *testing.T) {
	holds(t, "of many Creates at once exactly one is Done")
}

func TestS9_AnOwnValueKeepsItsTimeToLive(t *testing.T) {
	holds(t, "Swap that finds its own value there is Done and leaves the time to live")
}

// holds asks one sentence of the contract.
func holds(t *testing.T, sentence string) {
	t.Helper()
	for _, failure := range storetest.Check(factory(bare), sentence) {
		t.Error(failure)
	}
}

func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, storetest.Factory{New: func() (*storetest.Backend, error) {
		s := memstore.New(memstore.Options{MaxBytes: 8 << 30})
		return &storetest.Backend{Open: func() (idem.Store, error) { return s, nil }}, nil
	}})
}
