package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/broken"
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

	seen    atomic.Pointer[sight]
	looking atomic.Bool
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
	return nil
}

// Close closes the connections. Calls made afterwards fail.
func (s *Store) Close() error { return s.client.Close() }

// Describe returns the store's limits. A call's worst is to connect and to be
// answered, CallTimeout each.
func (s *Store) Describe() idem.Description {
	return idem.Description{Name: "redis", WorstCall: s.options.worstCall(), MaxValue: MaxValue}
}

// Create stores value under name for ttl, if nothing is there, and says Done;
// else it says what is there, without the time it has left (with it on servers
// before Redis 7). One round trip; two where the server is full.
func (s *Store) Create(ctx context.Context, name string, value []byte, ttl time.Duration) (idem.Result, error) {
	if err := admit(name, value, ttl); err != nil {
		return idem.Result{}, err
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	sight, err := s.fit(ctx)
	if err != nil {
		return idem.Result{}, err
	}
	switch {
	case broken.Is(broken.S9StoreLooksFirst):
		return s.lookThenSet(ctx, name, value, ttl)
	case sight.byScript:
		return s.eval(ctx, createScript, name, value, millis(ttl))
	}
	args := []any{"SET", name, value, "NX", "GET", "PX", millis(ttl)}
	if broken.Is(broken.P11NoTTL) {
		args = args[:5]
	}
	r, err := s.call(ctx, name, args)
	if err != nil {
		return idem.Result{}, err
	}
	switch r.kind {
	case nothing:
		return idem.Result{Done: true}, nil
	case bulk:
		return idem.Result{Value: r.text}, nil
	case failure:
		return s.refusedCreate(ctx, name, r)
	}
	return idem.Result{}, r.unexpected("SET NX GET")
}

// refusedCreate is a Create that the server refused. A full server refuses before
// it looks; what is there can still be read, so that repeats of what is done are
// answered while nothing new can begin.
func (s *Store) refusedCreate(ctx context.Context, name string, r reply) (idem.Result, error) {
	if code(r.text) != "OOM" {
		return idem.Result{}, refusal(r.text)
	}
	there, err := s.Load(ctx, name)
	if err != nil || there.Value == nil {
		return idem.Result{}, refusal(r.text)
	}
	return there, nil
}

// Swap replaces old by value, with ttl from now, if exactly old is under name, and
// says Done; it says so too, and leaves the time to live as it is, if value is
// there already. Else it says what is there and how long it has left; a zero
// Result where nothing is. One round trip.
func (s *Store) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (idem.Result, error) {
	if err := admit(name, value, ttl); err != nil {
		return idem.Result{}, err
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if _, err := s.fit(ctx); err != nil {
		return idem.Result{}, err
	}
	return s.eval(ctx, swapScript, name, old, value, millis(ttl))
}

// Load returns what is under name and how long it has left; a zero Result where
// nothing is. A value without a time to live is an error: this package writes
// none. One round trip.
func (s *Store) Load(ctx context.Context, name string) (idem.Result, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if _, err := s.fit(ctx); err != nil {
		return idem.Result{}, err
	}
	value, left, err := s.read(ctx, name)
	switch {
	case err != nil:
		return idem.Result{}, err
	case value.kind == nothing:
		return idem.Result{}, nil
	case value.kind != bulk:
		return idem.Result{}, value.unexpected("GET")
	case left.kind != integer:
		return idem.Result{}, left.unexpected("PTTL")
	case left.n == pttlGone: // it expired between the two
		return idem.Result{}, nil
	case left.n == pttlForever:
		return idem.Result{}, errors.New("redisstore: a record without a time to live: something else writes under this prefix")
	}
	return idem.Result{Value: value.text, Left: timeLeft(left.n)}, nil
}

// Now returns the server's time. In a Cluster it is that of one node, always the
// same one as long as the slots stay where they are.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if _, err := s.fit(ctx); err != nil {
		return time.Time{}, err
	}
	r, err := s.call(ctx, "idem:clock", []any{"TIME"})
	if err != nil {
		return time.Time{}, err
	}
	return r.time()
}

// bound gives a context without a deadline that of a worst call.
func (s *Store) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.options.worstCall())
}

// lookThenSet is Create in the way in which it must not be made.
func (s *Store) lookThenSet(ctx context.Context, name string, value []byte, ttl time.Duration) (idem.Result, error) {
	r, err := s.call(ctx, name, []any{"GET", name})
	if err != nil || r.kind == bulk {
		return idem.Result{Value: r.text}, err
	}
	_, err = s.call(ctx, name, []any{"SET", name, value, "PX", millis(ttl)})
	return idem.Result{Done: err == nil}, err
}

func admit(name string, value []byte, ttl time.Duration) error {
	switch {
	case ttl <= 0:
		return fmt.Errorf("redisstore: a time to live of %v: every record has one above zero", ttl)
	case len(value) > MaxValue:
		return fmt.Errorf("redisstore: a value of %d bytes: the limit is %d", len(value), MaxValue)
	case name == "" || len(name) > maxName:
		return fmt.Errorf("redisstore: a name of %d bytes: it has 1 to %d", len(name), maxName)
	}
	return nil
}

// What PTTL answers besides a time.
const (
	pttlForever = -1
	pttlGone    = -2
)

// millis is a time to live as Redis takes it: rounded up, because it must not be
// shorter than asked.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// timeLeft is what PTTL told. A key is still there in the last millisecond, when
// PTTL says 0, and any PTTL may be told just before the millisecond turns: one
// more is never less than the truth, and never the "not told" of a zero.
func timeLeft(pttl int64) time.Duration {
	if pttl < 0 {
		return 0
	}
	return time.Duration(pttl+1) * time.Millisecond
}
