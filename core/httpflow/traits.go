package httpflow

import (
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
func (p *plan) trace(r Request) []byte {
	if p.flow.TraceParent == nil {
		return nil
	}
	return p.flow.TraceParent(r.Context())
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
			traits = append(traits, "ip="+prefixOf(f.address(r)))
		case "user-agent":
			traits = append(traits, "user-agent="+strings.Join(r.Header("User-Agent"), ","))
		}
	}
	return traits
}

// address tells the client's address.
func (f *Flow) address(r Request) string {
	if f.Address != nil {
		return f.Address(r)
	}
	return r.RemoteAddr()
}

// client is the address for the audit log, without the port; "" where it is not
// to be kept.
func (f *Flow) client(r Request) string {
	if !f.AuditClient {
		return ""
	}
	address := f.address(r)
	if both, err := netip.ParseAddrPort(address); err == nil {
		return both.Addr().Unmap().String()
	}
	return strings.Clone(address) // frameworks use their buffers again
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
