// Package testserver is a server that does what a request says, for tests and
// demonstrations: the bed of adapters/adaptertest behind each of the three
// frameworks, over memory, miniredis or a redis-server.
//
// It comes in three ways: as adapters and backends for the statement suite
// ([Adapters], [Memory], [Miniredis], [Redis]); as a process of its own, which a
// test can kill ([Main], started by [Launcher]); and, with the flags that
// everybody may use, as examples/testbed.
//
// A process started by a test ends with it: it reads its standard input, which
// the kernel closes when the test is gone, however the test went.
package testserver
