package httpflow

import (
	"context"
	"net/netip"
	"strings"

	idem "github.com/go-idem/idem/core"
)

// scope says whose key the request carries.
func (f *Flow) scope(r Request) (string, error) {
	if f.Scope == nil {
		return "", nil // allowed only of an Unscoped guard
	}
	return f.Scope(r)
}

// trace returns the traceparent to keep with the record.
func (p *plan) trace(ctx context.Context) []byte {
	if p.flow.TraceParent == nil {
		return nil
	}
	return p.flow.TraceParent(ctx)
}

// How much of an address is a client: phones and households move within these.
const (
	prefixIPv4 = 24
	prefixIPv6 = 48
)

// traits returns what the policy's tokens are bound to of a client, in the
// policy's order; nil for most policies, which bind them to nothing.
func (f *Flow) traits(policy *idem.Policy, r Request) []string {
	if len(policy.Traits) == 0 {
		return nil
	}
	traits := make([]string, 0, len(policy.Traits))
	for _, trait := range policy.Traits {
		switch trait {
		case "ip":
			address := r.RemoteAddr()
			if f.Address != nil {
				address = f.Address(r)
			}
			traits = append(traits, "ip="+prefixOf(address))
		case "user-agent":
			traits = append(traits, "user-agent="+strings.Join(r.Header("User-Agent"), ","))
		}
	}
	return traits
}

// prefixOf returns the network that an address, with or without a port, belongs
// to. What is no address stands for itself.
func prefixOf(address string) string {
	addr, err := netip.ParseAddr(address)
	if err != nil {
		both, err := netip.ParseAddrPort(address)
		if err != nil {
			return address
		}
		addr = both.Addr()
	}
	addr = addr.Unmap().WithZone("")
	bits := prefixIPv6
	if addr.Is4() {
		bits = prefixIPv4
	}
	prefix, _ := addr.Prefix(bits) // bits fit both kinds
	return prefix.String()
}
