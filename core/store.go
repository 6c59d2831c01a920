package idem

import (
	"context"
	"errors"
	"time"
)

// Store keeps opaque values under short names, each with a time to live that
// is judged by the store's own clock. A store is dumb on purpose: states,
// leases and fences live in this package (design: PROTOCOL section 9), so a
// new store is three methods long and cannot get the protocol wrong.
//
// The contract, each sentence of which is a test in core/storetest:
//
//   - Create and Swap are one atomic step each. There is no moment at which a
//     crash leaves half of one behind, and no value without a time to live.
//   - Any error means that the outcome is unknown: the call may have been
//     applied, or not, or may be yet. A store never reports success or "somebody
//     else's" for a call whose reply it did not read, and never tries again by
//     itself.
//   - The context's deadline is honoured: a call returns soon after it passed.
//   - Result.Left is never less than the truth (it is rounded up) and belongs
//     to the value returned with it or to a later moment, never to an earlier
//     one: read the value first, then its time.
//   - Names are up to 200 bytes of printable ASCII. Values are bytes of any
//     kind, up to Description.MaxValue; a longer one is an error and changes
//     nothing.
//   - The value slices handed in are not kept or changed, and those handed out
//     belong to the caller.
//   - Reads come from where writes go, never from a replica.
//   - Every method may be called by any number of goroutines at once.
type Store interface {
	// Create stores value under name for ttl if nothing is there, and says
	// Done. If something is there (an equal value included) it changes nothing,
	// neither the value nor its time to live, and returns what is there.
	Create(ctx context.Context, name string, value []byte, ttl time.Duration) (Result, error)

	// Swap replaces the value under name by value, with ttl from now, if what
	// is there equals old byte for byte, and says Done. If value itself is there
	// already, that is our own retry: Done, and the time to live is left as it
	// is. Otherwise it changes nothing and returns what is there, a zero Result
	// where nothing is.
	Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (Result, error)

	// Load returns what is under name and how long it has left; a zero Result
	// where nothing is. Its Left is always told.
	Load(ctx context.Context, name string) (Result, error)
}

// Result is a store's answer to one call.
type Result struct {
	// Done says that the call did what it was asked to. Load never sets it.
	Done bool
	// Value is what is there instead; nil if nothing is (or if Done).
	Value []byte
	// Left is how long Value will still be there. Zero means "not told": a
	// store tells it from Create and Swap only where that costs no extra call.
	Left time.Duration
	// Weak says that the store did what it was asked to, and less safely than it was
	// set up for: too few replicas had a claim in time, or a fallback answered. A
	// failover may lose it. A guard goes on, and says so in [StepResult] and
	// [Record]; a store that would rather not go on returns an error.
	Weak bool
	// Journaled says that the entry which the operation carried was appended: see
	// [JournalEntry]. Create, Swap and Load alone never set it.
	Journaled bool
}

// Clocker is the ability of a store to tell its own clock.
type Clocker interface {
	// Now returns the store's time, by the clock that judges its expiries, or
	// ErrUnable where, as it is set up, it has none to tell.
	Now(ctx context.Context) (time.Time, error)
}

// Describer is the ability of a store to describe its limits.
type Describer interface {
	Describe() Description
}

// Description is what a guard has to know about a store.
type Description struct {
	// Name is a short word for reports and telemetry, such as "redis".
	Name string
	// WorstCall is the longest a single call may take before its outcome is
	// unknown, connecting included. A claim makes up to three of them, and a
	// lease lasts at least three such claims.
	WorstCall time.Duration
	// MaxValue is the largest value in bytes.
	MaxValue int
	// Local says that the data lives and dies with this process.
	Local bool
	// Details are lines for the start-up report: what holds for the store that
	// nobody should have to look up, such as its driver's retries, time-outs and
	// pools. They hold no secrets.
	Details string
}

// Describe returns a store's description, or, of a store without the ability,
// what is assumed of one: 250 ms, 1 MiB, not local.
func Describe(s Store) Description {
	d := Description{Name: "store", WorstCall: 250 * time.Millisecond, MaxValue: 1 << 20}
	if s, ok := ability[Describer](s); ok {
		got := s.Describe()
		if got.Name != "" {
			d.Name = got.Name
		}
		if got.WorstCall > 0 {
			d.WorstCall = got.WorstCall
		}
		if got.MaxValue > 0 {
			d.MaxValue = got.MaxValue
		}
		d.Local, d.Details = got.Local, got.Details
	}
	return d
}

// StoreClock returns the store's time. ok is false where the store has no
// clock of its own to tell; then the host's clock has to do.
func StoreClock(ctx context.Context, s Store) (now time.Time, ok bool, err error) {
	c, can := ability[Clocker](s)
	if !can {
		return time.Time{}, false, nil
	}
	if now, err = c.Now(ctx); errors.Is(err, ErrUnable) {
		return time.Time{}, false, nil
	}
	return now, err == nil, err
}
