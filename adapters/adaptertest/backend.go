package adaptertest

import (
	"time"

	idem "github.com/go-idem/idem/core"
)

// Backend is a kind of store that the statements are played on.
type Backend struct {
	Name string

	// Open makes a new and empty store for one statement.
	Open func() (*Shared, error)

	// Launch starts a server of the adapter's name over the store as a process of
	// its own, which can be killed. Nil says that a store lives in this process:
	// then a process is a guard of its own that shares the store's value, and to
	// kill it is to cut its handle on the store and leave its goroutines behind.
	Launch func(sh *Shared, adapter string, o NodeOptions) (Node, error)
}

// Shared is one store, to which several servers hold a handle each.
type Shared struct {
	// Prefix of every record's name.
	Prefix string
	// Open opens a handle. call is its call time-out, which bounds how short a lease
	// may be.
	Open func(call time.Duration) (idem.Store, error)
	// Flags tell a process how to open the same store.
	Flags []string
	// Advance moves the store's time on; nil where that cannot be done.
	Advance func(time.Duration) error
	// Age has every record of the prefix left with so much less to live, which is
	// what the passing of time means to a record; nil where Advance does it.
	Age func(time.Duration) error
	// Flush loses every record of the prefix.
	Flush func() error
	// Close ends the store; nil where there is nothing to end.
	Close func()
}

// NodeOptions say how a server differs from the plain one.
type NodeOptions struct {
	// Quick shortens the store's call time-out, and with it the leases of the
	// suite's policies; Patience, where it is not zero, lengthens both again by that
	// factor.
	Quick    bool
	Patience int
	// ClockOffset and Past are those of BedConfig.
	ClockOffset, Past time.Duration
	// Ring lists the ids of the signing keys, the one that signs first; nil is {1}.
	Ring []int
	// Sealing lists the ids of the sealing keys, the one that seals first; nil is
	// no sealer.
	Sealing []int
	// NameKey names one of several name keys; "" is the usual one.
	NameKey string
	// Ledger is the file in which runs are counted.
	Ledger string
}

// Call is the store's call time-out.
func (o NodeOptions) Call() time.Duration {
	const quick, usual = 20 * time.Millisecond, 250 * time.Millisecond
	if o.Quick {
		return min(quick*time.Duration(max(o.Patience, 1)), usual)
	}
	return usual
}

// Node is one running server.
type Node interface {
	// URL is http://HOST:PORT.
	URL() string
	// Kill ends the node as kill -9 ends a process: nothing is finished, settled
	// or said good-bye to. A second call does nothing.
	Kill()
	// Stop ends it in order and returns what went wrong, a data race included.
	Stop() error
	// Log is what the node has logged so far.
	Log() string
}
