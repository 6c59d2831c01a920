package memstore

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync/atomic"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/broken"
)

// ErrFull is what a Create, or a Swap to a longer value, returns when records
// that have not expired fill the store. Nothing was changed and nothing evicted.
var ErrFull = errors.New("memstore: full of records that have not expired: raise Options.MaxBytes, or shorten the retention")

const (
	// DefaultMaxBytes is the room of a store whose Options name none: about a
	// million claims, or a hundred thousand kept answers of 2 KiB.
	DefaultMaxBytes = 256 << 20

	// MaxValue is the longest value a store takes, in bytes.
	MaxValue = 8 << 20

	// maxName is the longest name of the contract.
	maxName = 200

	// recordCost is what a record takes up beside its name and value: the record,
	// its places in the map and in the order of expiry (measured: TestMaxBytesIsHonest).
	recordCost = 112

	// settleShare is the part of the room that Creates leave to Swaps.
	settleShare = 8

	shards = 256
)

// Options are the choices of a store. The zero value is ready for use.
type Options struct {
	// MaxBytes bounds names, values and what it takes to keep them. 0 means
	// DefaultMaxBytes.
	MaxBytes int64
	// Clock is read for the time; nil means the host's monotonic clock. It must
	// not run backwards.
	Clock func() time.Time
}

// Store keeps records in this process. Make one with [New]. All methods may be
// called by any number of goroutines at once.
type Store struct {
	clock func() time.Time // nil: the host's
	epoch time.Time        // expiries are counted from here
	shift atomic.Int64     // by Advance

	room int64
	used atomic.Int64

	expired atomic.Int64 // records taken out because their time was over

	hash    func(name string) uint64
	shards  [shards]shard
	watches watches

	indexes indexes
}

// New returns an empty store.
func New(o Options) *Store {
	seed := maphash.MakeSeed() // its own, so that nobody outside can aim at one shard
	s := &Store{clock: o.Clock, room: o.MaxBytes, hash: func(name string) uint64 { return maphash.String(seed, name) }}
	if s.room <= 0 {
		s.room = DefaultMaxBytes
	}
	if s.clock != nil {
		s.epoch = s.clock()
	} else {
		s.epoch = time.Now()
	}
	return s
}

// elapsed is the store's clock: the time since it was made.
func (s *Store) elapsed() time.Duration {
	if s.clock != nil {
		return s.clock().Sub(s.epoch) + time.Duration(s.shift.Load())
	}
	return time.Since(s.epoch) + time.Duration(s.shift.Load())
}

// Now returns the store's time: the host's when the store was made, and what has
// gone by since (design: PROTOCOL P5). It never fails.
func (s *Store) Now(context.Context) (time.Time, error) {
	return s.epoch.Round(0).Add(s.elapsed()), nil
}

// Advance moves the store's clock on by d, so that records expire and tokens age.
// It is for tests and demonstrations.
func (s *Store) Advance(d time.Duration) { s.shift.Add(int64(d)) }

// Describe returns the store's limits: a call takes less than a millisecond, and
// the records live and die with this process.
func (s *Store) Describe() idem.Description {
	return idem.Description{
		Name: "memory", WorstCall: time.Millisecond, MaxValue: MaxValue, Local: true,
		Details: fmt.Sprintf("holds up to %d bytes; full, it takes no new records and forgets none", s.room),
	}
}

// Used returns how many bytes of Options.MaxBytes are taken, expired records
// that no write has come across yet included.
func (s *Store) Used() int64 { return s.used.Load() }

// Measure returns the store's numbers for telemetry: see [idem.Measures].
func (s *Store) Measure() idem.Measures {
	return idem.Measures{Memory: s.used.Load(), Room: s.room, Expired: s.expired.Load()}
}

// Create stores value under name for ttl, if nothing is there, and says Done;
// else it says what is there and how long it has left. Errors: [ErrFull], a value
// over MaxValue, a ttl that is not above zero, a name that is empty or over 200
// bytes, a context that is over. After an error of this store nothing was changed.
func (s *Store) Create(ctx context.Context, name string, value []byte, ttl time.Duration) (idem.Result, error) {
	if err := admit(ctx, name, value, ttl); err != nil {
		return idem.Result{}, err
	}
	hash, cost := s.hash(name), cost(name, value)
	for {
		r, full := s.create(hash, name, value, ttl, cost)
		if !full {
			return r, nil
		}
		if !s.reclaim(cost) {
			return idem.Result{}, ErrFull
		}
	}
}

func (s *Store) create(hash uint64, name string, value []byte, ttl time.Duration, cost int64) (r idem.Result, full bool) {
	sh := s.shard(hash)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.elapsed()
	there, live, stray := sh.find(hash, name, now)
	if broken.Is(broken.S9StoreLooksFirst) {
		sh.lookAway()
	}
	if live {
		return there.told(now), false
	}
	if there != nil {
		sh.remove(s, there)
	}
	sh.sweep(s, now, sweepPerWrite)
	if !s.take(cost, s.room-s.room/settleShare) {
		return idem.Result{}, true
	}
	sh.insert(hash, name, value, now+ttl, stray)
	return idem.Result{Done: true}, false
}

// Swap replaces old by value, with ttl from now, if exactly old is under name,
// and says Done; it says so too, and leaves the time to live as it is, if value is
// there already. Else it says what is there; a zero Result where nothing is.
// Errors as of Create; [ErrFull] only where value is longer than what it replaces.
func (s *Store) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (idem.Result, error) {
	if err := admit(ctx, name, value, ttl); err != nil {
		return idem.Result{}, err
	}
	hash := s.hash(name)
	for {
		r, missing := s.swap(hash, name, old, value, ttl)
		if missing == 0 {
			if r.Done {
				s.watches.changed(ctx, name)
			}
			return r, nil
		}
		if !s.reclaim(missing) {
			return idem.Result{}, ErrFull
		}
	}
}

// swap returns how many bytes are missing where there is no room.
func (s *Store) swap(hash uint64, name string, old, value []byte, ttl time.Duration) (r idem.Result, missing int64) {
	sh := s.shard(hash)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.elapsed()
	there, live, _ := sh.find(hash, name, now)
	if !live {
		return idem.Result{}, 0
	}
	switch v := there.value(); {
	case string(v) == string(old):
	case string(v) != string(value):
		return there.told(now), 0
	case !broken.Is(broken.S9OwnValueRenews):
		return idem.Result{Done: true}, 0
	}
	more := int64(there.grows(value))
	if more != 0 && !s.take(more, s.room) {
		return idem.Result{}, more
	}
	sh.replace(there, value, now+ttl)
	sh.sweep(s, now, sweepPerWrite)
	return idem.Result{Done: true}, 0
}

// Load returns what is under name and how long it has left; a zero Result where
// nothing is. Errors: a context that is over.
func (s *Store) Load(ctx context.Context, name string) (idem.Result, error) {
	if err := ctx.Err(); err != nil {
		return idem.Result{}, err
	}
	hash := s.hash(name)
	sh := s.shard(hash)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.elapsed()
	if r, live, _ := sh.find(hash, name, now); live {
		return r.told(now), nil
	}
	return idem.Result{}, nil
}

// Apply does the operations one after the other, without a lock held from one to
// the next, and returns their answers in order. It is there for what decorates
// this store: in one process there is no exchange to save.
func (s *Store) Apply(ctx context.Context, ops []idem.Op) []idem.OpResult {
	results := make([]idem.OpResult, len(ops))
	for i, op := range ops {
		r, ctx := &results[i], ctx
		if op.Wake {
			ctx = idem.WithWake(ctx)
		}
		switch op.Kind {
		case idem.OpCreate:
			r.Result, r.Err = s.Create(ctx, op.Name, op.Value, op.TTL)
		case idem.OpSwap:
			r.Result, r.Err = s.Swap(ctx, op.Name, op.Old, op.Value, op.TTL)
		default:
			r.Result, r.Err = s.Load(ctx, op.Name)
		}
	}
	return results
}

// take books n bytes, below zero too, and reports whether they fit.
func (s *Store) take(n, limit int64) bool {
	if s.used.Add(n) > limit && n > 0 {
		s.used.Add(-n)
		return false
	}
	return true
}

func cost(name string, value []byte) int64 { return int64(roomOf(name, value)) + recordCost }

func admit(ctx context.Context, name string, value []byte, ttl time.Duration) error {
	switch {
	case ttl <= 0:
		return fmt.Errorf("memstore: a time to live of %v: every record has one above zero", ttl)
	case len(value) > MaxValue:
		return fmt.Errorf("memstore: a value of %d bytes: the limit is %d", len(value), MaxValue)
	case name == "" || len(name) > maxName:
		return fmt.Errorf("memstore: a name of %d bytes: it has 1 to %d", len(name), maxName)
	}
	return ctx.Err()
}

func (s *Store) shard(hash uint64) *shard { return &s.shards[hash%shards] }
