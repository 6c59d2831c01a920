package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	idem "github.com/go-idem/idem/core"
)

// Config is what a Reconciler is built from. Guard is required, the rest has
// defaults.
type Config struct {
	// Guard is whose records are looked after. It was built with Resolvers; their
	// operations are those that are reconciled.
	Guard *idem.Guard

	// Every is how often the indexes are looked at, and one page of the walk: 5 s.
	Every time.Duration
	// Page is about how many records a page of the walk looks at: 1,000.
	Page int
	// Rest is how long the walk rests when it has come to the end: one minute.
	Rest time.Duration

	// AtOnce is how many records are resolved at the same time: 4.
	AtOnce int
	// Patience bounds one call of a Resolver: 10 s, at most five minutes. It has to
	// heed its context.
	Patience time.Duration
	// Attempts is how often a Resolver may say "later" of one claim: 20.
	Attempts int
	// BackOff is the pause after the first "later", 30 s; it doubles up to
	// MaxBackOff, one hour. Each is shortened at random by up to a half.
	BackOff, MaxBackOff time.Duration
}

// longestPatience is well within the MaxRun of the reconcilers' own claims.
const longestPatience = 5 * time.Minute

// withDefaults fills in what was left out.
func (c Config) withDefaults() Config {
	set := func(d *time.Duration, base time.Duration) {
		if *d == 0 {
			*d = base
		}
	}
	count := func(n *int, base int) {
		if *n == 0 {
			*n = base
		}
	}
	set(&c.Every, 5*time.Second)
	set(&c.Rest, time.Minute)
	set(&c.Patience, 10*time.Second)
	set(&c.BackOff, 30*time.Second)
	set(&c.MaxBackOff, max(time.Hour, c.BackOff))
	count(&c.Page, 1000)
	count(&c.AtOnce, 4)
	count(&c.Attempts, 20)
	return c
}

// Reconciler looks after the held records of one guard. Build one with [New];
// any number of processes may run one each. Its methods may be called from any
// goroutine.
type Reconciler struct {
	Config
	operations []string

	passing sync.Mutex // one pass at a time
	walk    walker
	again   leftBehind

	mu      sync.Mutex // of closed, and of counting up running
	closed  bool
	stop    chan struct{}
	running sync.WaitGroup
}

// New builds a Reconciler; it starts nothing. Everything that is wrong with cfg
// is reported in one error.
func New(cfg Config) (*Reconciler, error) {
	var errs []error
	for _, c := range []struct {
		name string
		got  int64
	}{
		{"Every", int64(cfg.Every)}, {"Page", int64(cfg.Page)}, {"Rest", int64(cfg.Rest)}, {"AtOnce", int64(cfg.AtOnce)},
		{"Patience", int64(cfg.Patience)}, {"Attempts", int64(cfg.Attempts)}, {"BackOff", int64(cfg.BackOff)}, {"MaxBackOff", int64(cfg.MaxBackOff)},
	} {
		if c.got < 0 {
			errs = append(errs, fmt.Errorf("config: %s is negative", c.name))
		}
	}
	cfg = cfg.withDefaults()
	if cfg.Patience > longestPatience {
		errs = append(errs, fmt.Errorf("config: Patience %v is longer than %v", cfg.Patience, longestPatience))
	}
	if cfg.MaxBackOff < cfg.BackOff {
		errs = append(errs, fmt.Errorf("config: MaxBackOff %v is shorter than BackOff %v", cfg.MaxBackOff, cfg.BackOff))
	}
	r := &Reconciler{Config: cfg, stop: make(chan struct{})}
	if cfg.Guard == nil {
		errs = append(errs, errors.New("config: Guard is nil"))
	} else {
		for _, p := range cfg.Guard.Policies() {
			if cfg.Guard.Resolver(p.Operation) != nil {
				r.operations = append(r.operations, p.Operation)
			}
		}
		if len(r.operations) == 0 {
			errs = append(errs, errors.New("the guard has no resolvers: give them to idem.New as Config.Resolvers"))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("reconcile: %w", err)
	}
	return r, nil
}

// Run looks after held records until ctx ends, Close is called or the guard is
// closed, and returns when nothing of it is running any more. A store that does
// not answer is waited for. It returns nil: why it ended is for the caller to
// know.
func (r *Reconciler) Run(ctx context.Context) error {
	ctx, over := r.enterRun(ctx)
	defer over()
	for ctx.Err() == nil {
		sum, err := r.pass(ctx)
		r.report(ctx, sum, err)
		if errors.Is(err, idem.ErrClosed) {
			return nil
		}
		nap := time.NewTimer(r.Every - time.Duration(rand.Int64N(int64(r.Every)/4+1)))
		select {
		case <-nap.C:
		case <-ctx.Done():
			nap.Stop()
		}
	}
	return nil
}

// enterRun counts a run in and gives it a context that Close ends. over waits for
// what was started here.
func (r *Reconciler) enterRun(ctx context.Context) (_ context.Context, over func()) {
	ctx, end := context.WithCancel(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		end()
		return ctx, end
	}
	r.running.Add(1)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-r.stop:
			end()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		end()
		watch.Wait()
		r.running.Done()
	}
}

// Close ends every Run and Once of this reconciler and waits for them until ctx
// ends; it returns ctx's error then. They return at once from then on. What a resolver is asked at that moment is asked
// again by somebody else, or after the next start.
func (r *Reconciler) Close(ctx context.Context) error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.stop)
	}
	r.mu.Unlock()
	over := make(chan struct{})
	go func() { r.running.Wait(); close(over) }()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Summary is what came of a look.
type Summary struct {
	Looked    int // records that were looked at
	Succeeded int // held records that were settled as such, …
	Failed    int
	Released  int
	Later     int // … of which it cannot be told yet, errors of resolvers included
	Moved     int // … which somebody else had settled, or was at, meanwhile
	GaveUp    int // … about which a resolver could not tell for the last time
}

// Resolved is how many records were settled.
func (s Summary) Resolved() int { return s.Succeeded + s.Failed + s.Released }

func (s *Summary) add(result string) {
	count := map[string]*int{
		resultSucceeded: &s.Succeeded, resultFailed: &s.Failed, resultReleased: &s.Released, resultMoved: &s.Moved,
		resultGaveUp: &s.GaveUp, resultLater: &s.Later, resultError: &s.Later, resultUnavailable: &s.Later,
	}[result]
	if count != nil {
		*count++
	}
}

// report writes the line of a pass, where there is anything to say.
func (r *Reconciler) report(ctx context.Context, s Summary, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, idem.ErrClosed) {
		r.Guard.Logger().LogAttrs(ctx, slog.LevelWarn, "held records cannot be looked after", slog.String("error", err.Error()))
	}
	if s.Resolved()+s.Later+s.Moved+s.GaveUp > 0 {
		r.Guard.Logger().LogAttrs(ctx, slog.LevelInfo, "held records were looked after", slog.Int("looked", s.Looked),
			slog.Int("succeeded", s.Succeeded), slog.Int("failed", s.Failed), slog.Int("released", s.Released),
			slog.Int("later", s.Later), slog.Int("moved", s.Moved), slog.Int("gave_up", s.GaveUp))
	}
}

// looksAfter tells whether records of that name are ours.
func (r *Reconciler) looksAfter(name string) bool {
	return slices.Contains(r.operations, r.Guard.OperationOf(name))
}
