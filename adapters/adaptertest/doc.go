// Package adaptertest is the HTTP face of idem as a test suite. Whoever writes an
// adapter for a web framework runs it: an adapter that passes translates, and
// decides nothing.
//
//	func TestStatements(t *testing.T) {
//		adaptertest.Run(t, adaptertest.Adapter{Name: "mine", Serve: serve}, adaptertest.Backend{
//			Name: "memory",
//			Open: func() (*adaptertest.Shared, error) {
//				store := memstore.New(memstore.Options{})
//				return &adaptertest.Shared{
//					Prefix:  "idem:",
//					Open:    func(time.Duration) (idem.Store, error) { return store, nil },
//					Advance: func(d time.Duration) error { store.Advance(d); return nil },
//					…
//				}, nil
//			},
//		})
//	}
//
// # What is asked of an adapter's author
//
// A function that serves [Route]s with a real server of the framework, the guard
// in front of those that name an operation, and an [Exchange]: some forty lines
// that let one scripted handler read requests and write answers the framework's
// way. What the framework cannot do at all stands in [Adapter].Cannot with its
// reason and is reported, never left out in silence.
//
// # What a statement is
//
// One sentence of the design, as one subtest, named by its number:
// Statement30_AClientThatLeavesChangesNothing. Each is played in a scene of its
// own: an empty store, the servers it asks for, real HTTP over real connections,
// and a file to which every run of the handler appends a line before it goes on.
// That file is the truth: not what was answered, but what ran, in all servers
// together and in those that were killed.
//
// Statements about processes start them, where the [Backend] can: then a kill is
// a kill. On a store that lives in the test's own process, a process is a guard
// of its own, and a killed one is a guard whose handle on the store is cut and
// whose goroutines are left behind.
//
// No statement waits and hopes. A handler is held at a gate until the statement
// opens it; what has to happen is asked for again until it does, for a bounded
// time; a store's clock is moved where that can be done, and elsewhere the time
// before is played by a server that lives in the past. Only the few statements
// that live by the shortest leases need a machine that runs them in time: they
// are played alone, and again where it is measured that the machine stood still.
//
// # The handler
//
// [Script] does what the request's Do- headers say: answer this status, wait so
// long, panic, mark its effects. The same handler, routes and control endpoints
// ([Bed]) are the program examples/testbed, which can be driven by hand.
//
// # What goes wrong
//
// The suite itself is tested by adapters that are wrong in one point each, and by
// one that forgets the guard: every statement has to come out red for it. Use
// [Check] for that, and for reports; with IDEM_CONFORMANCE=FILE every [Run]
// appends its results to a file, a JSON line each.
package adaptertest
