// Package memstore is a store in the memory of one process: for a program that
// runs once, for tests and demonstrations.
//
//	guard, err := idem.New(idem.Config{
//		Store:    memstore.New(memstore.Options{}),
//		Policies: []idem.Policy{{Operation: "shop:order:create", Preset: idem.Form}},
//		…
//	})
//
// # What it promises
//
// The contract of [idem.Store], as long as the process lives: its records die
// with it. Two processes with a memstore each do not know of each other's claims,
// so behind a load balancer the same order runs twice. Use a shared store there.
//
// # It is bounded, and never evicts
//
// A store of claims that drops one to make room has the action run twice. So
// when the records that have not expired fill it, a Create fails with [ErrFull]
// (and the policy's onOutage decides), as Redis does under noeviction. Creates
// leave an eighth of the room to Swaps: what has begun can still be settled.
//
// Expired records are taken out by the writes that come after them, a few each.
// There is no sweeper that could stop the program, no goroutine and nothing to
// close. The records lie in 256 shards with a lock and a map each, so no map ever
// grows large enough for its growing to be felt.
//
// # Time
//
// Expiry is judged by time gone by, not by the date: a clock that is set, forward
// or back, neither ends a record early nor keeps it. [Store.Now] tells the time
// in the same way, starting from the host's clock when the store was made.
package memstore
