package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrUnfit is matched by every error about a server that answers but must not
// keep records: it may evict, it is a replica, it does not let us in.
var ErrUnfit = errors.New("redisstore: unfit server")

// ErrUnseen is matched by the error of every call while no server has answered
// yet, when nothing was sent, and by that of a Ready that got no answer.
var ErrUnseen = errors.New("redisstore: no server answers")

var errNoMaster = errors.New("the cluster has no master with slots")

// How soon calls look again after a look that failed: at once a few times a
// second, then less and less often.
const (
	firstBackOff = 50 * time.Millisecond
	maxBackOff   = time.Second
)

// sight is what the last look at the server showed.
type sight struct {
	err error // nil: fit
	// missing: some masters of a cluster did not answer, and those that did are fit.
	missing  error
	byScript bool // SET does not take NX with GET here
	// swapsAlone: SET takes IFEQ here, on every server
	swapsAlone bool
	servers    []findings
	again      time.Time // not looked at again before, where err or missing is set
	backOff    time.Duration
}

// Ready looks at the server now and returns nil if it answers and is fit to keep
// records; in a Cluster every master has to. Else the error says why not:
// [ErrUnseen], or [ErrUnfit], with which calls fail from then on, until a look shows
// otherwise.
func (s *Store) Ready(ctx context.Context) error {
	seen := s.look(s.bound(ctx))
	return cmp.Or(seen.err, seen.missing)
}

// fit returns what is known of the server, if it is fit. While it is not, calls
// look again: one at a time, not sooner than the back-off, the others failing at
// once, so that a server that is down costs its callers no waiting.
func (s *Store) fit(ctx context.Context) (*sight, error) {
	seen := s.seen.Load()
	if seen.err == nil {
		if seen.missing != nil {
			s.lookBeside(seen)
		}
		return seen, ctx.Err()
	}
	if time.Now().Before(seen.again) || !s.looking.CompareAndSwap(false, true) {
		return nil, seen.err
	}
	defer s.looking.Store(false)
	seen = s.look(ctx)
	return seen, seen.err
}

// lookBeside looks again, not sooner than the back-off, while calls go on: the
// masters that were seen serve theirs, whatever has become of another.
func (s *Store) lookBeside(seen *sight) {
	if time.Now().Before(seen.again) || !s.looking.CompareAndSwap(false, true) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.looking.Store(false)
		return
	}
	s.looks.Go(func() {
		defer s.looking.Store(false)
		s.look(s.bound(context.Background()))
	})
}

// look asks the server, or every master of a cluster, what it is. That a server
// once seen does not answer now is said, but not remembered: calls find that out by
// themselves, and a health check with little patience must not stop them.
func (s *Store) look(ctx context.Context) *sight {
	last := s.seen.Load()
	seen := s.survey(ctx)
	if why := cmp.Or(seen.err, seen.missing); why != nil {
		seen.backOff = firstBackOff
		if last != nil && last.backOff > 0 {
			seen.backOff = min(2*last.backOff, maxBackOff)
		}
		seen.again = time.Now().Add(seen.backOff)
		if last != nil && last.err == nil && (last.missing == nil || seen.err != nil) && errors.Is(why, ErrUnseen) {
			return seen
		}
	}
	s.seen.Store(seen)
	return seen
}

// withoutOutcome is why a server did not answer, without a word about the outcome of
// what was sent: a probe has none that could be unknown.
func withoutOutcome(err error) error {
	if silent := (*noReply)(nil); errors.As(err, &silent) {
		return silent.err
	}
	return err
}

func (s *Store) survey(ctx context.Context) *sight {
	seen := &sight{}
	var mu sync.Mutex
	each := func(ctx context.Context, node *redis.Client) error {
		if s.options.Twemproxy {
			seen.servers = []findings{{addr: node.Options().Addr}}
			return nil
		}
		f, err := inspect(ctx, node)
		if err != nil {
			return err
		}
		mu.Lock()
		seen.servers = append(seen.servers, f)
		mu.Unlock()
		return s.judge(f)
	}
	if s.cluster != nil {
		seen.err = s.cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
			err := each(ctx, node)
			if err == nil || errors.Is(err, ErrUnfit) {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			seen.missing = fmt.Errorf("%w: master %s: %w", ErrUnseen, node.Options().Addr, withoutOutcome(err))
			return nil
		})
		if seen.err == nil && len(seen.servers) == 0 {
			seen.err = cmp.Or(seen.missing, errNoMaster)
		}
	} else {
		seen.err = each(ctx, s.single)
	}
	seen.swapsAlone = len(seen.servers) > 0
	for _, f := range seen.servers {
		seen.byScript = seen.byScript || f.before7()
		seen.swapsAlone = seen.swapsAlone && f.swapsAlone()
	}
	if seen.err == nil && !seen.byScript && seen.servers[0].version == "" {
		seen.byScript, seen.err = s.tryClaim(ctx)
	}
	if seen.err != nil && !errors.Is(seen.err, ErrUnfit) && !errors.Is(seen.err, ErrUnseen) {
		seen.err = fmt.Errorf("%w: %w", ErrUnseen, withoutOutcome(seen.err))
	}
	return seen
}
