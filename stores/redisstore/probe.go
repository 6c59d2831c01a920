package redisstore

import (
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

// How soon calls look again after a look that failed: at once a few times a
// second, then less and less often.
const (
	firstBackOff = 50 * time.Millisecond
	maxBackOff   = time.Second
)

// sight is what the last look at the server showed.
type sight struct {
	err      error // nil: fit
	byScript bool  // SET does not take NX with GET here
	// swapsAlone: SET takes IFEQ here, on every server
	swapsAlone bool
	servers    []findings
	again      time.Time // not looked at again before, where err is set
	backOff    time.Duration
}

// Ready looks at the server now and returns nil if it answers and is fit to keep
// records. Else the error says why not: [ErrUnseen], or [ErrUnfit], with which calls
// fail from then on, until a look shows otherwise.
func (s *Store) Ready(ctx context.Context) error {
	return s.look(s.bound(ctx)).err
}

// fit returns what is known of the server, if it is fit. While it is not, calls
// look again: one at a time, not sooner than the back-off, the others failing at
// once, so that a server that is down costs its callers no waiting.
func (s *Store) fit(ctx context.Context) (*sight, error) {
	seen := s.seen.Load()
	if seen.err == nil {
		return seen, ctx.Err()
	}
	if time.Now().Before(seen.again) || !s.looking.CompareAndSwap(false, true) {
		return nil, seen.err
	}
	defer s.looking.Store(false)
	seen = s.look(ctx)
	return seen, seen.err
}

// look asks the server, or every master of a cluster, what it is. That a server
// once seen does not answer now is said, but not remembered: calls find that out by
// themselves, and a health check with little patience must not stop them.
func (s *Store) look(ctx context.Context) *sight {
	last := s.seen.Load()
	seen := s.survey(ctx)
	if seen.err != nil {
		seen.backOff = firstBackOff
		if last != nil && last.err != nil {
			seen.backOff = min(2*last.backOff, maxBackOff)
		}
		seen.again = time.Now().Add(seen.backOff)
		if last != nil && last.err == nil && errors.Is(seen.err, ErrUnseen) {
			return seen
		}
	}
	s.seen.Store(seen)
	return seen
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
		if err == nil {
			err = s.judge(f)
		}
		mu.Lock()
		defer mu.Unlock()
		seen.servers = append(seen.servers, f)
		return err
	}
	if s.cluster != nil {
		seen.err = s.cluster.ForEachMaster(ctx, each)
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
	if seen.err != nil && !errors.Is(seen.err, ErrUnfit) {
		// A probe has no outcome that could be unknown.
		if silent := (*noReply)(nil); errors.As(seen.err, &silent) {
			seen.err = silent.err
		}
		seen.err = fmt.Errorf("%w: %w", ErrUnseen, seen.err)
	}
	return seen
}
