package storetest

import (
	"time"

	idem "github.com/go-idem/idem/core"
)

// Factory tells the suite how to make stores and what they declare.
type Factory struct {
	// New makes a new, empty store. It is called once for each statement, one
	// after the other.
	New func() (*Backend, error)

	// Small makes a store that is full after at most 16,000 values of 1 KiB, and
	// has room for a hundred. Nil says that the store's size is not its own
	// affair; then nothing is asked about a full one.
	Small func() (*Backend, error)

	// Clock declares [idem.Clocker].
	Clock bool
	// Describes declares [idem.Describer].
	Describes bool
	// Indexes declares [idem.Indexer].
	Indexes bool
	// Scans declares [idem.Scanner].
	Scans bool
	// OnePage declares that a walk comes on one page, however many names it has: a
	// look-alike of a server may do so.
	OnePage bool
	// Batches declares [idem.Batcher]. What an Apply has to do is asked of every
	// store: one without the ability does it call by call.
	Batches bool
	// Watches declares [idem.Watcher], as the store is set up here: false where its
	// Watch returns [idem.ErrNotWatched].
	Watches bool
	// Local declares [idem.Description].Local.
	Local bool
	// MaxValue declares [idem.Description].MaxValue; 0 means the 1 MiB that is
	// assumed of a store that does not say.
	MaxValue int

	// Resolution is how coarsely the store measures a time to live: what is left
	// may be told by so much more than the truth, and a value may stay so much
	// longer. 0 means 5 ms.
	Resolution time.Duration
}

// Backend is one store as the suite sees it.
type Backend struct {
	// Open opens one more handle on the store, as another process would. A store
	// that lives in this process hands out itself.
	Open func() (idem.Store, error)
	// Close ends the store and all its handles; may be nil.
	Close func()
	// Advance moves the clock that judges the store's expiries on; nil where
	// that cannot be done.
	Advance func(time.Duration)
	// Wire disturbs the way to the store; nil where there is none.
	Wire *Wire
}

// Wire is the way between a handle and its store, where a test can get at it
// (a proxy). All handles of the backend lead over it.
type Wire struct {
	// Lose has the next call reach the store and be applied, and its reply lost.
	Lose func()
	// Stall has the store fall silent: calls are taken and not answered, until
	// resume is called.
	Stall func() (resume func())
	// Calls tells how many calls have reached the store so far, repeats included.
	Calls func() int
	// Cut closes every connection that is open; what is sent afterwards passes. Nil
	// where there is none.
	Cut func()
}

// The measures the suite uses itself.
const (
	defaultResolution = 5 * time.Millisecond
	assumedMaxValue   = 1 << 20

	// callTimeout is what a call of the suite may take on a loaded machine.
	callTimeout = 30 * time.Second
	// pollEvery and pollFor bound the waits for something that has to happen.
	pollEvery = 2 * time.Millisecond
	pollFor   = 15 * time.Second
)

func (f Factory) resolution() time.Duration {
	if f.Resolution > 0 {
		return f.Resolution
	}
	return defaultResolution
}

func (f Factory) maxValue() int {
	if f.MaxValue > 0 {
		return f.MaxValue
	}
	return assumedMaxValue
}
