package idem

import (
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// An adaptive lease follows how long the handler takes (PROTOCOL section 8): long
// enough that a healthy run seldom needs a renewal, and otherwise as short as may
// be, because it is how long a process that died blocks its keys. A claim keeps
// the lease that it was made with, which stands in its record.
const (
	leastAdapted = 5 * time.Second
	mostAdapted  = 60 * time.Second
)

// leaseNow is the lease of a claim that is made now.
func (op *operation) leaseNow() time.Duration {
	p99 := op.usual.p99()
	if !op.policy.AdaptiveLease || p99 == 0 || broken.Is(broken.S8LeaseStands) {
		return op.policy.Lease
	}
	return op.policy.adapted(p99, op.leastLease)
}

// adapted is the lease for a handler whose 99th percentile is p99, in whole units
// of a lease: half as long again (under Payment twice as long), from 5 s and three
// of the store's worst claims to 60 s, and no longer than MaxRun.
func (p *Policy) adapted(p99, least time.Duration) time.Duration {
	lease := p99 + p99/2
	if p.Preset == Payment {
		lease = 2 * p99
	}
	lease = (lease + minLease - 1) / minLease * minLease
	return min(max(lease, leastAdapted, least), p.mostLease())
}

// mostLease is the longest lease that a claim under this policy can have.
func (p *Policy) mostLease() time.Duration {
	if !p.AdaptiveLease {
		return p.Lease
	}
	return max(p.Lease, min(mostAdapted, p.MaxRun/minLease*minLease))
}

// shortestLease is the shortest one.
func (p *Policy) shortestLease(store Description) time.Duration {
	if !p.AdaptiveLease {
		return p.Lease
	}
	return min(p.Lease, p.adapted(0, leastLease(store)))
}

// takesLease fixes the claim's own lease, and its margin.
func (c *Claim) takesLease() {
	if c.lease == 0 {
		c.lease = c.id.op.leaseNow()
		c.margin = c.g.margin(c.lease)
	}
}
