package redisstore

import (
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Report is what holds for a store: what a start-up log prints so that nobody has
// to know a driver's defaults.
type Report struct {
	// Mode is single, sentinel, cluster or twemproxy.
	Mode string
	// Addrs are the addresses it was opened with.
	Addrs []string
	// Servers are what was found there, one line each: address, version, policy.
	Servers []string
	// NotReady is why calls fail at the moment; nil if they do not.
	NotReady error
	// Missing is which master of a Cluster did not answer yet since the store was
	// opened, while others did and serve; nil if all of them have.
	Missing error
	// ClaimBy is the command of a claim: "SET NX GET", or "script" before Redis 7 and
	// where claims wait for replicas. SwapBy is that of every later step: "script", or
	// "SET IFEQ" where the server has it and nobody is to be woken.
	ClaimBy, SwapBy string
	// WaitReplicas repeats Options.WaitReplicas.
	WaitReplicas WaitReplicas
	// Watching is how many names somebody waits for now, by one connection; -1 where
	// Options.NoPubSub says that nobody is woken.
	Watching int
	// Clock says by whose clock a guard tells how old tokens are: "the server",
	// "the master", "one node" of a Cluster, or "this host" through a Twemproxy. What
	// is left of a record's time is always judged by the server that has it.
	Clock string
	// EvictionCheckedBy repeats Options.EvictionChecked.
	EvictionCheckedBy string

	// Retries is how often the driver makes a call again: never.
	Retries int
	// Redirects is how often a call follows a Cluster to another node.
	Redirects int
	// DialTimeout bounds connecting, CallTimeout a reply for callers without a
	// deadline, LongestCall one for any caller. WorstCall is what a guard measures
	// its leases by.
	DialTimeout, CallTimeout, LongestCall, WorstCall time.Duration

	// Pipelines is how many pipelines may be under way to a node at once before calls
	// wait and leave together, PipelineSize the most commands in one. How it goes is
	// in [Store.Stats].
	Pipelines, PipelineSize int

	// PoolSize is how many connections a node gets at most; Conns, Idle and
	// PoolTimeouts (callers that got none in time) are as of now.
	PoolSize, Conns, Idle, PoolTimeouts int
}

// Report returns what holds for the store now. It makes no call.
func (s *Store) Report() Report {
	u, seen, pool := s.options.Universal, s.seen.Load(), s.client.PoolStats()
	r := Report{
		Mode: "single", Clock: "the server", Addrs: u.Addrs, NotReady: seen.err, Missing: seen.missing,
		ClaimBy: "SET NX GET", SwapBy: "script", EvictionCheckedBy: s.options.EvictionChecked, WaitReplicas: s.options.WaitReplicas,
		Retries: max(u.MaxRetries, 0), Redirects: u.MaxRedirects,
		DialTimeout: u.DialTimeout, CallTimeout: s.options.CallTimeout,
		LongestCall: u.ReadTimeout, WorstCall: s.options.worstCall(),
		PoolSize: u.PoolSize, Pipelines: s.options.Pipelines, PipelineSize: s.options.PipelineSize,
	}
	if r.Watching = s.listener.count(); s.options.NoPubSub {
		r.Watching = -1
	}
	switch {
	case s.cluster != nil:
		r.Mode, r.Clock = "cluster", "one node"
	case u.MasterName != "":
		r.Mode, r.Clock = "sentinel", "the master"
	case s.options.Twemproxy:
		r.Mode, r.Clock = "twemproxy", "this host"
	}
	if seen.byScript || r.WaitReplicas.Replicas > 0 {
		r.ClaimBy = "script"
	}
	if seen.swapsAlone {
		r.SwapBy = "SET IFEQ"
	}
	for _, f := range seen.servers {
		r.Servers = append(r.Servers, f.String())
	}
	r.addPool(pool)
	return r
}

func (r *Report) addPool(p *redis.PoolStats) {
	r.Conns, r.Idle, r.PoolTimeouts = int(p.TotalConns), int(p.IdleConns), int(p.Timeouts)
}

func (f findings) String() string {
	say := func(what, value string) string {
		if value == "" {
			return what + " not told"
		}
		return what + " " + value
	}
	return fmt.Sprintf("%s: %s, %s", f.addr, say("version", f.version), say("maxmemory-policy", f.policy))
}

// String returns the report as a few lines for a log.
func (r Report) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("redis (%s) at %s", r.Mode, strings.Join(r.Addrs, ", "))
	for _, s := range r.Servers {
		line("  %s", s)
	}
	if r.NotReady != nil {
		line("  NOT READY: %v", r.NotReady)
	}
	if r.Missing != nil {
		line("  not looked at yet: %v", r.Missing)
	}
	if r.EvictionCheckedBy != "" {
		line("  eviction checked by %s", r.EvictionCheckedBy)
	}
	if w := r.WaitReplicas; w.Replicas > 0 {
		otherwise := "marked"
		if w.OrRefuse {
			otherwise = "refused"
		}
		line("  a claim waits until %d replicas have it, %v at most, and is %s otherwise", w.Replicas, w.Timeout, otherwise)
	}
	line("  claim by %s, later steps by %s; retries by the driver: %d; redirects: %d; reads from replicas: none", r.ClaimBy, r.SwapBy, r.Retries, r.Redirects)
	line("  tokens age by the clock of %s, records expire by that of the server that has them", r.Clock)
	line("  connect %v, reply %v (with a deadline of the caller's: up to %v), worst call %v",
		r.DialTimeout, r.CallTimeout, r.LongestCall, r.WorstCall)
	line("  pipelines under way to a node at most %d, of at most %d commands; what comes meanwhile leaves together", r.Pipelines, r.PipelineSize)
	if r.Watching < 0 {
		line("  no pub/sub: who waits for another process looks every half second")
	} else {
		line("  pub/sub by one connection while somebody waits; names watched now: %d", r.Watching)
	}
	line("  connections per node at most %d; now %d, %d of them idle; waited in vain: %d",
		r.PoolSize, r.Conns, r.Idle, r.PoolTimeouts)
	return b.String()
}
