//go:build race

package suitetest

// racing says that the race detector is on, which allocates too.
const racing = true
