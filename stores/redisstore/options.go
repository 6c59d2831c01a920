package redisstore

import (
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/go-idem/idem/internal/broken"
)

const (
	// DefaultCallTimeout is Options.CallTimeout where none is given.
	DefaultCallTimeout = 250 * time.Millisecond

	// MaxValue is the longest value a store takes, in bytes.
	MaxValue = 8 << 20

	// longestCall caps every wait for a reply, whatever deadline the caller has: a
	// settle may take so long (PROTOCOL section 8, defaults).
	longestCall = 2 * time.Second

	// maxRedirects is how often a call follows a Cluster to another node.
	maxRedirects = 3

	// connsPerCPU sizes the pool where the user does not.
	connsPerCPU = 10

	// DefaultPipelines is Options.Pipelines where none is given, DefaultPipelineSize
	// Options.PipelineSize. Both were measured: docs/adr/0006-group-commit.md.
	DefaultPipelines    = 2
	DefaultPipelineSize = 512

	// maxWaiting is how many commands wait for a node at most; one more is not sent.
	maxWaiting = 1 << 16
)

// Options are the choices of a store.
type Options struct {
	// Universal says where Redis is and how to get in: Addrs, DB, TLSConfig,
	// Username, Password (or a provider), Dialer, MasterName and the Sentinel
	// credentials, IsClusterMode, and the pool's sizes. It is copied. Fields that
	// decide how often, how long or from where a call is tried are refused.
	Universal *redis.UniversalOptions

	// Instrument is called once with the driver's client, before its first call: the
	// place for redisotel.InstrumentTracing. Leave statements out of spans
	// (WithDBStatement(false)): they hold kept answers. A hook must not call again
	// what failed.
	Instrument func(redis.UniversalClient) error

	// CallTimeout is how long connecting may take, and how long a reply may take
	// for a caller without a deadline. 0 means DefaultCallTimeout. It decides how
	// short a lease can be: three times three tries of connecting and answering.
	CallTimeout time.Duration

	// EvictionChecked names who made sure that the server evicts no record, such
	// as "ops, 2026-03: ElastiCache parameter group sessions-noevict". It is needed
	// where the policy cannot be read, and accepts a policy that evicts.
	EvictionChecked string

	// WaitReplicas has claims wait until replicas have them. The zero value waits
	// for none.
	WaitReplicas WaitReplicas

	// Twemproxy says that Universal.Addrs is a Twemproxy (nutcracker), which takes no
	// command about a server: nothing can be asked of the servers behind it, so
	// EvictionChecked is required, tokens age by this host's clock, NoPubSub is set, and
	// there is no walk (Scan). Its auto_eject_hosts has to be off: a name that moves to
	// another server runs twice.
	Twemproxy bool

	// Pipelines is how many pipelines may be under way to a node at once. A call
	// that comes while there are fewer goes at once and alone; the others wait until
	// one comes back and leave together. 0 means DefaultPipelines; it is never more
	// than the pool has connections.
	Pipelines int

	// PipelineSize is the most commands in one pipeline. What waits beyond it, and
	// a batch that is longer, takes several. 0 means DefaultPipelineSize.
	PipelineSize int

	// NoPubSub says that what stands at Addrs takes no SUBSCRIBE, as some proxies
	// do not, or that a Cluster is to be spared the messages: nothing is published
	// and nobody listens. Those who wait for another process's run then find its end
	// by looking every half second. Set it in all processes or in none.
	NoPubSub bool

	// OnFlush, where it is set, is told of every pipeline that came back. It is
	// called by many goroutines at once, some of which have a caller waiting.
	OnFlush func(Flush)
}

// FromURL returns the options for one server from a URL such as
// redis://user:password@host:6379/2, or rediss:// for TLS. Query parameters are
// refused: what they set is decided here. The error does not repeat the URL, which
// may hold a password.
func FromURL(raw string) (*redis.UniversalOptions, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: the redis URL cannot be read", ErrOptions)
	}
	if u.RawQuery != "" {
		return nil, fmt.Errorf("%w: the redis URL has query parameters: leave them out", ErrOptions)
	}
	o, err := redis.ParseURL(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: the redis URL is not of the form redis://user:password@host:port/db", ErrOptions)
	}
	return &redis.UniversalOptions{
		Addrs: []string{o.Addr}, Username: o.Username, Password: o.Password, DB: o.DB, TLSConfig: o.TLSConfig,
	}, nil
}

// ErrOptions is matched by every error about Options themselves.
var ErrOptions = errors.New("redisstore: options")

// check returns everything that is wrong with the options.
func (o Options) check() error {
	if o.Universal == nil || len(o.Universal.Addrs) == 0 {
		return fmt.Errorf("%w: Universal.Addrs is empty: say where Redis is", ErrOptions)
	}
	var errs []error
	for _, addr := range o.Universal.Addrs {
		if strings.ContainsAny(addr, "@?") || strings.Contains(addr, "://") {
			// Not repeated here: a URL may hold a password.
			errs = append(errs, fmt.Errorf("%w: Universal.Addrs holds a URL: it holds host:port; see FromURL", ErrOptions))
		}
	}
	if o.CallTimeout < 0 {
		errs = append(errs, fmt.Errorf("%w: a CallTimeout of %v: it is above zero", ErrOptions, o.CallTimeout))
	}
	if err := o.WaitReplicas.check(); err != nil {
		errs = append(errs, err)
	}
	if o.Twemproxy {
		errs = append(errs, o.checkTwemproxy())
	}
	if o.Pipelines < 0 || o.PipelineSize < 0 {
		errs = append(errs, fmt.Errorf("%w: Pipelines %d and PipelineSize %d: neither is below zero", ErrOptions, o.Pipelines, o.PipelineSize))
	}
	for _, f := range refused(o.Universal) {
		if f.set {
			errs = append(errs, fmt.Errorf("%w: leave out Universal.%s: %s", ErrOptions, f.name, f.why))
		}
	}
	return errors.Join(errs...)
}

type refusedField struct {
	name string
	set  bool
	why  string
}

// refused lists the fields that would take a part of the protocol out of our hands.
func refused(u *redis.UniversalOptions) []refusedField {
	const (
		replica = "a replica answers with what was true before"
		cached  = "a record is read where it is written, never from a cache"
		once    = "a call is made once; who repeats it has to know it for a repeat"
		patient = "the caller's deadline and Options.CallTimeout say how long a call takes"
		decided = "it is decided here (see Report)"
	)
	return []refusedField{
		{"ReadOnly", u.ReadOnly, replica},
		{"RouteByLatency", u.RouteByLatency, replica},
		{"RouteRandomly", u.RouteRandomly, replica},
		{"ClientSideCacheConfig", u.ClientSideCacheConfig != nil, cached},
		{"ClientSideCache", u.ClientSideCache != nil, cached},
		{"MaxRetries", u.MaxRetries != 0 && u.MaxRetries != -1, once},
		{"DialerRetries", u.DialerRetries != 0, once},
		{"DialTimeout", u.DialTimeout != 0, patient},
		{"ReadTimeout", u.ReadTimeout != 0, patient},
		{"WriteTimeout", u.WriteTimeout != 0, patient},
		{"PoolTimeout", u.PoolTimeout != 0, patient},
		{"MaxRedirects", u.MaxRedirects != 0, decided},
		{"PipelinePoolSize", u.PipelinePoolSize != 0, decided},
		{"Protocol", u.Protocol != 0 && u.Protocol != 2, "replies are read as RESP2"},
		{"MaintNotificationsConfig", u.MaintNotificationsConfig != nil, "it needs RESP3"},
		{"MasterName", u.MasterName != "" && u.IsClusterMode, "with IsClusterMode it means reads from replicas; choose one"},
	}
}

// withDefaults returns checked options with every choice made.
func (o Options) withDefaults() Options {
	if o.CallTimeout == 0 {
		o.CallTimeout = DefaultCallTimeout
	}
	u := *o.Universal
	u.Addrs = slices.Clone(u.Addrs) // the driver shuffles them
	u.MaxRetries = -1
	if broken.Is(broken.S9DriverRetries) {
		u.MaxRetries = 3
	}
	u.MaxRedirects = maxRedirects
	u.DialerRetries = 1
	u.DialTimeout = o.CallTimeout
	u.ReadTimeout = max(longestCall, o.worstCall())
	u.WriteTimeout = u.ReadTimeout
	u.PoolTimeout = u.ReadTimeout
	u.ContextTimeoutEnabled = true
	u.DisableIdentity = true
	u.Protocol = 2
	u.PipelinePoolSize = -1
	if u.PoolSize == 0 {
		u.PoolSize = connsPerCPU * runtime.GOMAXPROCS(0)
	}
	if o.Twemproxy {
		u.Dialer = withoutHello(u.Dialer)
		o.NoPubSub = true
	}
	o.Universal = &u
	if o.WaitReplicas.Replicas > 0 && o.WaitReplicas.Timeout == 0 {
		o.WaitReplicas.Timeout = DefaultWaitTimeout
	}
	if o.Pipelines == 0 {
		o.Pipelines = DefaultPipelines
	}
	o.Pipelines = min(o.Pipelines, u.PoolSize)
	if o.PipelineSize == 0 {
		o.PipelineSize = DefaultPipelineSize
	}
	return o
}

// worstCall is how long one call may take: to connect, to be answered, and for
// replicas to have it.
func (o Options) worstCall() time.Duration { return 2*o.CallTimeout + o.WaitReplicas.Timeout }
