// Package storetest is the contract of [idem.Store] as a test suite. Whoever
// writes a store, or a decorator over one, runs it; a store that passes can be
// given to a guard.
//
//	func TestContract(t *testing.T) {
//		storetest.Run(t, storetest.Factory{
//			Clock: true, Describes: true, Batches: true, Watches: true, Local: true, MaxValue: mystore.MaxValue,
//			New: func() (*storetest.Backend, error) {
//				s := mystore.New()
//				return &storetest.Backend{
//					Open:    func() (idem.Store, error) { return s, nil },
//					Advance: s.Advance,
//				}, nil
//			},
//		})
//	}
//
// # What a statement is
//
// Every sentence of the contract in core/store.go is one subtest, named by the
// sentence. Each gets a new, empty store and two handles on it, as two
// processes would have. [Check] runs the same statements without a *testing.T
// and returns what failed, so that a suite can itself be tested: this package's
// own tests hold a drawer of stores that are wrong in one point each, and every
// one of them has to be found out.
//
// # Abilities
//
// A [Factory] declares what its store can do besides the three methods, and the
// suite checks the declaration both ways: what is declared has to be there and
// to work, what is not declared must not be there. A decorator that loses an
// ability of the store under it fails, and so does one that invents one.
//
// # Time
//
// Where the store's clock can be moved ([Backend].Advance), no statement waits.
// Elsewhere the statements about time live with times to live of a fraction of
// a second, measure what really went by, and judge by bounds: how long a value
// may still be there at most, and has to be there at least. A slow machine makes
// them slower, never wrong.
//
// # Faults
//
// [Faults] wraps a store so that chosen calls misbehave: refused, timed out,
// slow, applied with the reply lost, applied after the caller gave up, a pipeline
// answered in part. It counts calls and faults by step, and is itself run through this suite.
package storetest
