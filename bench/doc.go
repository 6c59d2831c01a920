// Command bench measures idem beside its rivals: in one run, on one machine, in
// interleaved rounds, so that a busy neighbour slows all of them alike.
//
//	go run ./bench                 # the table, some seconds
//	go run ./bench -rounds 51 -for 100ms
//	go run ./bench -only memory    # one part of it
//
// Ratios, microseconds of CPU (getrusage of this process: the server's are not in
// it) and allocations are what is promised; calls per second are only shown, because
// they are the machine's. What is stable enough to fail a build, allocations and
// round trips, is in this folder's tests (`make bench-check`).
//
// It starts a redis-server of its own and ends it.
package main
