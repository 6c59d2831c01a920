package idem

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// Config is what a Guard is built from. Store and Policies are required.
type Config struct {
	Store    Store
	Policies []Policy

	// Signer issues and verifies tokens, NameKey hashes record names. Both may
	// be left out where the store lives and dies with this process; random ones
	// are made then. Elsewhere they are required, the signer only where a policy
	// takes tokens. A NameKey is never changed while records live.
	Signer  *Signer
	NameKey NameKey

	// Sealer seals kept answers and notes; without it they are kept in the clear.
	// A guard that seals holds a record whose answer is not sealed as uncertain,
	// because anybody who can write to the store could have put it there, unless
	// ReadUnsealed says otherwise: leave that on for one retention where sealing
	// begins while records live.
	Sealer       *Sealer
	ReadUnsealed bool

	Prefix string // of every record's name; "idem:" if empty

	// Funcs are the functions that policies name as key sources, func:NAME.
	Funcs map[string]KeyFunc

	// Unscoped allows intents without a scope: everybody shares one.
	Unscoped bool
	// IssueCheck lets the application refuse to issue a token for a context.
	IssueCheck func(ctx context.Context, operation, scope, context string) error

	// ForceAuthorizer says whether a request that asks for it may run although
	// its record refuses it. Without it nobody may; it is required where a
	// policy's OnDuplicate is Force.
	ForceAuthorizer func(ctx context.Context, in Intent) bool

	// Resolvers find out what became of runs that crashed or ended in doubt, by
	// operation. Their claims leave an entry in an index, where the store keeps
	// one, and package core/reconcile follows it. Give them to every process that
	// claims, whether it reconciles or not.
	Resolvers map[string]Resolver

	// Hooks are called around a claim and its settle. See [Hooks].
	Hooks Hooks

	// Auditor takes down every transition of a record; nil: nobody does, and it
	// costs nothing.
	Auditor Auditor

	Observer Observer     // told of every step; nil: nobody
	Logger   *slog.Logger // nil discards

	// Clock reads the host's time; time.Now if nil. It must keep Go's monotonic
	// reading (as time.Now().Add does) and may be called from any goroutine.
	Clock func() time.Time
	// SettleWait is how long an answer is held back for its outcome to be
	// written; 250 ms if zero.
	SettleWait time.Duration
}

// Guard decides what becomes of intents. Build one per process with [New] and
// share it: all methods may be called from any number of goroutines.
type Guard struct {
	store    Store
	describe Description
	steps    bool    // store calls carry their step
	batcher  Batcher // the store, where it takes many calls at once
	watches  bool    // the store may wake those who wait
	signer   *Signer
	sealer   *Sealer // nil where nothing is sealed
	names    *namer
	prefix   string
	funcs    map[string]KeyFunc
	unscoped bool

	readUnsealed bool // although the guard seals

	check    func(ctx context.Context, operation, scope, context string) error
	mayForce func(ctx context.Context, in Intent) bool
	hooks    *hookRunner // nil where there is none
	audit    *auditing   // nil where there is none
	watch    *watch
	log      *slog.Logger
	clock    *clock

	settleWait time.Duration
	operations map[string]*standing
	swaps      atomic.Int64 // of policies
	reconciles *standing    // RunOperation, nil without resolvers; it has no card: it takes no tokens
	indexes    bool         // the store keeps indexes
	running    runningClaims
	keeper     *keeper
	janitor    *janitor
	outage     outage
	waiters    atomic.Int64

	closing   sync.Once
	closed    chan struct{}  // closed when Close begins
	cut       atomic.Bool    // Close waits no longer for runs
	pokeCards chan struct{}  // since has to be moved
	cards     sync.WaitGroup // the goroutine that reads cards
	counts    counters
}

// operation is an operation under one policy. It never changes: another policy
// makes another one, and whoever began with this one ends with it.
type operation struct {
	*standing
	guard      *Guard
	policy     *Policy
	hash       string        // of the policy, to notice that processes differ
	leastLease time.Duration // that the store allows
	life       byte          // code of the life of new tokens
}

// standing is what a guard knows of an operation whatever its policy.
type standing struct {
	swap    sync.Mutex // one change of policy at a time
	running atomic.Pointer[operation]
	card    cardState
	usual   durations // how long handlers took

	resolver Resolver // nil: nobody can tell what became of a run
	index    string   // where claims leave an entry for the reconciler
}

// counters are kept for Stats; the observer tells the same as it happens.
type counters struct {
	recreated, stale, unknown, mended, pending, strange, forced, open, beside, resolved atomic.Int64
}

// Stats are a guard's counts since it was built.
type Stats struct {
	Recreated int64 // settles or renewals that found nothing: the store lost the claim
	Stale     int64 // settles or renewals that found another's claim
	Unknown   int64 // claims that went to the janitor: their outcome stayed unknown, or they came too late to be run
	Mended    int64 // of those, the ones the janitor has dealt with
	Pending   int64 // settles being kept up in the background now
	Open      int64 // runs without a record, because the store was out of reach and the policy open
	Beside    int64 // runs that Observe let run beside what would have refused or answered them
	Forced    int64 // runs forced over a record that refused them
	Resolved  int64 // held records that a resolver or an operator settled for their owners
	Strange   int64 // records whose fingerprint version could not be compared

	HookFailures int64 // hooks that panicked, took too long or were left out
	HooksHanging int64 // hooks that were given up and have not returned yet
}

// Stats returns the guard's counts.
func (g *Guard) Stats() Stats {
	failures, hanging := g.hooks.counts()
	return Stats{
		HookFailures: failures, HooksHanging: hanging,
		Recreated: g.counts.recreated.Load(), Stale: g.counts.stale.Load(), Unknown: g.counts.unknown.Load(),
		Mended: g.counts.mended.Load(), Pending: g.counts.pending.Load(), Strange: g.counts.strange.Load(), Forced: g.counts.forced.Load(), Open: g.counts.open.Load(),
		Beside: g.counts.beside.Load(), Resolved: g.counts.resolved.Load(),
	}
}

// New builds a guard. Everything that is wrong with cfg is reported in one
// error, by name. A store that does not answer now is no error: requests are
// judged by onOutage until it does, and [Guard.Ready] says so. A store whose
// records were made with another NameKey is one, and so is one whose card keeps
// a fingerprint choice that cannot be told from a policy's.
func New(cfg Config) (*Guard, error) {
	g := &Guard{
		store: cfg.Store, signer: cfg.Signer, sealer: cfg.Sealer, readUnsealed: cfg.ReadUnsealed, prefix: or(cfg.Prefix, "idem:"), funcs: maps.Clone(cfg.Funcs), unscoped: cfg.Unscoped,
		check: cfg.IssueCheck, mayForce: cfg.ForceAuthorizer, watch: newWatch(cfg.Observer), log: cfg.Logger, clock: newClock(cfg.Clock),
		settleWait: or(cfg.SettleWait, settleWait),
		operations: make(map[string]*standing, len(cfg.Policies)), closed: make(chan struct{}), pokeCards: make(chan struct{}, 1),
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if err := g.configure(cfg); err != nil {
		return nil, err
	}
	g.hooks, g.audit = hooksOf(g, cfg.Hooks), auditingOf(&cfg, g.log)
	g.keeper = newKeeper(g)
	g.janitor = newJanitor(g)
	var refused *cardRefusal
	if err := g.readCards(context.Background()); errors.As(err, &refused) {
		g.keeper.stop()
		g.janitor.stop()
		return nil, err
	} else if err != nil {
		g.log.Warn("idem store does not answer yet", "error", err)
	}
	g.log.Info("idem started", "report", g.Report()) // now it knows whose clock goes
	g.cards.Go(g.keepCards)
	g.outage.watch(true)
	return g, nil
}

// configure checks cfg and fills in g; it starts nothing.
func (g *Guard) configure(cfg Config) error {
	var errs []error
	if cfg.Store == nil {
		errs = append(errs, errors.New("config: Store is nil: give a store, memstore.New for one process"))
	} else {
		g.describe = Describe(cfg.Store)
		if s, ok := cfg.Store.(StepUser); ok {
			g.steps = s.UsesStoreStep()
		}
		g.steps = g.steps || !g.describe.Local
		_, g.watches = ability[Watcher](cfg.Store)
		g.batcher, _ = cfg.Store.(Batcher)
	}
	if len(cfg.Policies) == 0 {
		errs = append(errs, errors.New("config: Policies is empty: name at least one operation"))
	}
	errs = append(errs, validPrefix(g.prefix))
	if cfg.SettleWait < 0 {
		errs = append(errs, fmt.Errorf("config: SettleWait %v is negative", cfg.SettleWait))
	}
	tokens := false
	for _, p := range cfg.Policies {
		p = p.withDefaults()
		if err := g.fits(&p); err != nil {
			errs = append(errs, err)
			continue
		}
		if strings.HasPrefix(p.Operation, ownSystem) {
			errs = append(errs, fmt.Errorf("policy %q: operations of the system %s are this library's own", p.Operation, strings.TrimSuffix(ownSystem, ":")))
			continue
		}
		if g.operations[p.Operation] != nil {
			errs = append(errs, fmt.Errorf("policy %q: there are two; an operation has one policy", p.Operation))
			continue
		}
		tokens = tokens || p.UsesToken()
		s := &standing{resolver: cfg.Resolvers[p.Operation], index: g.indexName(p.Operation)}
		s.running.Store(g.under(s, &p))
		g.operations[p.Operation] = s
	}
	errs = append(errs, g.configureKeys(cfg, tokens)...)
	errs = append(errs, g.configureResolvers(cfg)...)
	if cfg.ReadUnsealed && cfg.Sealer == nil {
		errs = append(errs, errors.New("config: ReadUnsealed is set, but Sealer is nil: without one everything is read as it is"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("idem: the guard cannot be built:\n%w", err)
	}
	return nil
}

// fits reports everything that is wrong with a policy in this guard, at the
// start and when it is set later.
func (g *Guard) fits(p *Policy) error {
	err := p.check(g.describe)
	if p.OnDuplicate == Force && g.mayForce == nil {
		err = errors.Join(err, fmt.Errorf("policy %q: onDuplicate is force, but config: ForceAuthorizer is nil: nobody could", p.Operation))
	}
	return errors.Join(err, g.unknownFuncs(p))
}

func (g *Guard) configureKeys(cfg Config, tokens bool) (errs []error) {
	key := cfg.NameKey
	if len(key) == 0 && g.describe.Local {
		key = NameKey(GenerateKey())
	}
	if len(key) == 0 {
		errs = append(errs, errors.New("config: NameKey is nil: every process needs the same 32 random bytes (openssl rand -hex 32); only with a store in memory may it be left out"))
	} else if names, err := newNamer(key); err != nil {
		errs = append(errs, fmt.Errorf("config: NameKey: %w", err))
	} else {
		g.names = names
	}
	if g.signer == nil && (tokens || g.describe.Local) { // a policy may take tokens later
		if !g.describe.Local {
			return append(errs, errors.New("config: Signer is nil, but a policy takes tokens and the store outlives this process: every process needs the same signing keys"))
		}
		signer, err := NewSigner(SigningKey{ID: 0, Secret: GenerateKey()})
		if err != nil {
			return append(errs, err)
		}
		g.signer = signer
	}
	return errs
}

// margin is how long before its lease runs out an owner stops believing in it:
// a tenth of the lease, at least two worst calls (PROTOCOL section 8).
func (g *Guard) margin(lease time.Duration) time.Duration {
	return max(lease/10, 2*g.describe.WorstCall)
}

// Close refuses new intents and waits for the runs and settles under way until
// ctx ends; handlers that still run then find their context ended with
// [ErrClosed]. No goroutine of the guard is left when it returns. Where something
// was left undone the error says what, and is ctx's. Closed again it does nothing.
func (g *Guard) Close(ctx context.Context) error {
	var undone []error
	left := func(err error, what string, args ...any) {
		undone = append(undone, fmt.Errorf("idem: closed with "+what+": %w", append(args, err)...))
	}
	g.closing.Do(func() {
		close(g.closed)
		select {
		case <-g.running.close():
		case <-ctx.Done():
			runs := 0
			g.cut.Store(true)
			g.running.each(func(c *Claim) { c.cancel(ErrClosed); runs++ })
			left(ctx.Err(), "runs that have not ended (%d): each is told to, and its lease goes on without being renewed", runs)
		}
		if !broken.Is(broken.I12KeeperLeft) {
			g.keeper.stop()
		}
		if broken.Is(broken.I12ClaimsLeft) {
			g.janitor.stop()
		} else if n, err := g.janitor.drain(ctx); err != nil {
			left(err, "claims and outcomes of which the store has not answered (%d): they are left to their leases", n)
		}
		if err := g.hooks.drain(ctx); err != nil {
			left(err, "hooks that have not returned")
		}
		g.outage.watch(false)
		g.cards.Wait()
	})
	return errors.Join(undone...)
}

// cutShort ends a run that began when Close had given up: nobody looks after its
// lease any more. Whoever is in running before Close goes through it is ended there.
func (g *Guard) cutShort(c *Claim) {
	if g.cut.Load() && !broken.Is(broken.P7LateRunKept) {
		c.cancel(ErrClosed)
	}
}

// operation returns the operation of that name under its running policy, nil
// where there is none.
func (g *Guard) operation(name string) *operation {
	if s := g.operations[name]; s != nil {
		return s.running.Load()
	}
	if name == RunOperation && g.reconciles != nil {
		return g.reconciles.running.Load()
	}
	return nil
}

// under returns an operation under a policy that was checked.
func (g *Guard) under(s *standing, p *Policy) *operation {
	life, _ := lifeCode(p.TokenLife)
	hash := hashOf(p)
	s.card.runs(hash)
	return &operation{standing: s, guard: g, policy: p, hash: hash, leastLease: leastLease(g.describe), life: life}
}

// Policy returns the running policy of an operation, defaults filled in, and
// false where there is no such operation. It is shared: do not change it. The
// pointer is the same until [Guard.SetPolicy] puts another in its place.
func (g *Guard) Policy(name string) (*Policy, bool) {
	s := g.operations[name]
	if s == nil {
		return nil, false
	}
	return s.running.Load().policy, true
}

// PolicyChanges returns how often a policy was changed. Who keeps what follows from
// one asks for it first, and then for the policy: while the number stays, so does
// the policy. Safe for concurrent use, and cheaper than [Guard.Policy].
func (g *Guard) PolicyChanges() int64 { return g.swaps.Load() }

// Policies returns a copy of every running policy, by operation.
func (g *Guard) Policies() []Policy {
	list := make([]Policy, 0, len(g.operations))
	for _, s := range g.operations {
		list = append(list, *s.running.Load().policy)
	}
	slices.SortFunc(list, func(a, b Policy) int {
		if a.Operation < b.Operation {
			return -1
		}
		return 1
	})
	return list
}

// Observer returns the guard's observer, which may be nil: see [Observe].
func (g *Guard) Observer() Observer { return g.watch.observer }

// Logger returns the guard's logger, never nil.
func (g *Guard) Logger() *slog.Logger { return g.log }

// Now returns the corrected time: the store's where it tells it, else the
// host's.
func (g *Guard) Now() time.Time { return g.clock.corrected() }

// Unscoped tells whether the guard was built for intents without a scope.
func (g *Guard) Unscoped() bool { return g.unscoped }

// Fingerprint hashes what a request asks for, as policy p wants it compared.
func (g *Guard) Fingerprint(p *Policy, c Content) Fingerprint {
	return g.names.fingerprint(p.Fingerprint, c)
}

// FingerprintOf hashes the parts of what a caller that is not HTTP asks for: a
// message's type and body, say. Parts are framed: ("ab", "c") is not ("a", "bc").
func (g *Guard) FingerprintOf(p *Policy, parts ...[]byte) Fingerprint {
	return g.names.fingerprintOf(p.Fingerprint, parts...)
}

// FingerprintStream starts the fingerprint of a request whose body is compared
// byte by byte (see [Content.ComparedRaw]) and is too large to hold: write the
// body to it.
func (g *Guard) FingerprintStream(p *Policy, c Content) *FingerprintStream {
	return g.names.streamFingerprint(p.Fingerprint, c)
}
