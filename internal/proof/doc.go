// Package proof has a machine judge what clients saw: real server processes, of
// net/http, Echo and Fiber beside each other, over one real redis-server, replies
// lost on the wire, processes killed and stopped in the middle of everything, and
// the question whether there is any order of events, one after the other, in which
// all the answers are right.
//
// A [Load] lets clients send keys until enough processes were killed. Every
// attempt of a client is written down, and so is every run of a handler, in a
// ledger that outlives the process. [Record.Judge] turns both into a history of
// each key and gives it to porcupine, which looks for such an order by the state
// machine of a record (PROTOCOL section 3):
//
//	free ──claim──▶ held by a run ──settle──▶ done, or free again, or in doubt
//	                   └──lease over──▶ held by another run
//
// A checker that finds nothing wrong may be blind. So every run has the same
// clients work on a store that claims by SET NX without a nonce, and must find
// that illegal; and small wrong schemes are kept beside it, each of which must be
// found out (controls_test.go).
//
// A [Crash] drill kills one process in each place that PROTOCOL's crash table
// names, and sees what becomes of the key.
package proof
