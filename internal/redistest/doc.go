// Package redistest gives tests a Redis: a real server of their own, a miniredis,
// and a proxy that disturbs the way to either.
//
//	addr := redistest.Server(t)              // one real redis-server for this test program
//	own := redistest.Start(t, "--maxmemory", "3mb") // another, for this test alone
//	mini := redistest.Miniredis(t)           // in this process, on a clock that stands still
//	c := redistest.TheCluster(t)             // three masters and replicas, shared
//	g := redistest.StartSentinel(t)          // a master, a replica and a sentinel
//	tw, _ := redistest.Twemproxy(t, 2)       // a twemproxy before two servers
//	proxy := redistest.NewProxy(t, addr)     // loses replies, falls silent, delivers late
//
// Everything listens on a free loopback port, keeps nothing on disk and ends with
// the test. Where redis-server (or nutcracker) is not on the PATH it is installed by apt, if the
// test runs as root, said on stderr, and not where IDEM_INSTALL=0 forbids it; else
// the test is skipped with the one line that would install it. With CI=true a
// missing server is a failure: a green run must not have left it out unseen.
package redistest
