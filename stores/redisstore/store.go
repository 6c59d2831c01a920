package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
)

// maxName is the longest name of the contract.
const maxName = 200

// Store keeps records in Redis. Make one with [Open]. All methods may be called
// by any number of goroutines at once.
//
// Deadlines: a call takes as long as its context allows, two seconds at most. A
// context without a deadline allows twice Options.CallTimeout. A context that is
// cancelled before its deadline is noticed before a call is sent, not after.
//
// Errors: any error means that the outcome is unknown, as the contract of
// [idem.Store] says; it is never a guess.
type Store struct {
	options Options
	client  redis.UniversalClient
	single  *redis.Client        // one server, or a Sentinel group's master
	cluster *redis.ClusterClient // else

	lanes   sync.Map // address → *lane
	masters sync.Map // address → *redis.Client, of a cluster

	unsynced atomic.Uint64 // claims that too few replicas had in time

	seen    atomic.Pointer[sight]
	looking atomic.Bool

	mu     sync.Mutex
	closed bool
	looks  sync.WaitGroup // those that go on beside calls

	listener *listener
}

// Open checks the options, connects and looks at the server. It returns an error,
// and no store, where the options are wrong ([ErrOptions]) or the server that
// answered is unfit ([ErrUnfit]). A server that does not answer is no error:
// the store is returned, its calls fail and look again, and [Store.Ready] says
// why.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	s := &Store{options: o}
	s.listener = newListener(s)
	if err := s.connect(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, longestCall)
	defer cancel()
	if err := s.look(ctx).err; errors.Is(err, ErrUnfit) {
		_ = s.client.Close()
		return nil, err
	}
	return s, nil
}

// connect makes the driver's client; it dials at the first call.
func (s *Store) connect() error {
	s.client = redis.NewUniversalClient(s.options.Universal)
	switch c := s.client.(type) {
	case *redis.Client:
		s.single = c
	case *redis.ClusterClient:
		s.cluster = c
	default:
		_ = s.client.Close()
		return fmt.Errorf("%w: Universal makes a client of type %T, which is not known here", ErrOptions, c)
	}
	if s.options.Instrument != nil {
		if err := s.options.Instrument(s.client); err != nil {
			_ = s.client.Close()
			return fmt.Errorf("%w: Instrument: %w", ErrOptions, err)
		}
	}
	return nil
}

// UsesStoreStep asks a guard to say what it makes its calls for: claims may have to
// wait for replicas.
func (s *Store) UsesStoreStep() bool { return s.options.WaitReplicas.Replicas > 0 }

// Close closes the connections. Calls made afterwards fail, and nobody who watches
// is woken any more.
func (s *Store) Close() error {
	s.listener.close()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	err := s.client.Close() // which ends what a look waits for
	s.looks.Wait()
	return err
}

// Describe returns the store's limits, and its Report for the guard's. A call's
// worst is to connect and to be answered, CallTimeout each.
func (s *Store) Describe() idem.Description {
	return idem.Description{Name: "redis", WorstCall: s.options.worstCall(), MaxValue: MaxValue, Details: s.Report().String()}
}

// Create stores value under name for ttl, if nothing is there, and says Done;
// else it says what is there, without the time it has left (with it on servers
// before Redis 7). One round trip; two where the server is full.
func (s *Store) Create(ctx context.Context, name string, value []byte, ttl time.Duration) (idem.Result, error) {
	return s.one(ctx, &idem.Op{Kind: idem.OpCreate, Name: name, Value: value, TTL: ttl})
}

// Swap replaces old by value, with ttl from now, if exactly old is under name, and
// says Done; it says so too, and leaves the time to live as it is, if value is
// there already. Else it says what is there and how long it has left; a zero
// Result where nothing is. One round trip.
func (s *Store) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (idem.Result, error) {
	return s.one(ctx, &idem.Op{Kind: idem.OpSwap, Name: name, Old: old, Value: value, TTL: ttl, Wake: idem.Wakes(ctx)})
}

// Load returns what is under name and how long it has left; a zero Result where
// nothing is. A value without a time to live is an error: this package writes
// none. One round trip.
func (s *Store) Load(ctx context.Context, name string) (idem.Result, error) {
	return s.one(ctx, &idem.Op{Kind: idem.OpLoad, Name: name})
}

// Now returns the server's time. In a Cluster it is that of one node, always the
// same one as long as the slots stay where they are. Behind a Twemproxy, which
// cannot be asked, it is ErrUnable: a guard then goes by its host's.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	if s.options.Twemproxy {
		return time.Time{}, idem.ErrUnable
	}
	ctx = s.bound(ctx)
	if _, err := s.fit(ctx); err != nil {
		return time.Time{}, err
	}
	r, err := s.call(ctx, "idem:clock", "TIME")
	if err != nil {
		return time.Time{}, err
	}
	return r.time()
}

// bound gives a context without a deadline that of a worst call.
func (s *Store) bound(ctx context.Context) context.Context {
	if _, has := ctx.Deadline(); has {
		return ctx
	}
	return until{ctx, time.Now().Add(s.options.worstCall())}
}
