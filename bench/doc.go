// Command bench measures idem beside its rivals: in one run, on one machine, in
// interleaved rounds, so that a busy neighbour slows all of them alike.
//
//	go run ./bench                       # the tables, two to three minutes
//	go run ./bench -rounds 51 -for 100ms # longer, and surer
//	go run ./bench -only memory,redis    # some parts of it
//	go run ./bench -check -rounds 7      # fails on a broken budget
//
// Ratios, microseconds of CPU (getrusage of the process that does the work: Redis's
// is not in it) and allocations are what is promised; calls per second are only
// shown, because they are the machine's.
//
// # How it is built
//
// A row is one way of doing some work, a group is rows that are measured in turns,
// a part is a group with the budgets about it: parts.go lists them all. What is
// measured of a row is a figure, one number for each quantity; a budget is made of a
// quantity of one row or two, and is judged by the middle of its rounds. -check
// judges by the best round and lets times miss by a quarter, so that it fails on a
// budget that is broken and not on a machine that is busy; counts may not miss at
// all, and milliseconds of the clock (a storm's, a waiter's) are left out while the
// machine has more to do than it has cores. Counts that need no long run are in this
// folder's tests as well.
//
// Where a server is measured, this program starts itself anew as that server
// (serve.go, site.go) and is the load itself: the CPU of the two is told apart. Fiber
// v3 is a program of its own in fiberv3, built when it is needed.
//
// It starts a redis-server of its own and ends it.
package main
