package httpflow

import "slices"

// CORS returns the header names that pages of another origin need: those that
// they have to be allowed to send (Access-Control-Allow-Headers) and those that
// they have to be allowed to read (Access-Control-Expose-Headers). The guard
// itself sets no header of CORS and keeps none with an answer: whoever sets them
// outside sets them for a replay anew. A key header that a policy takes later
// ([idem.Guard.SetPolicy]) is not among those asked for before.
func (f *Flow) CORS() (send, read []string) {
	send = []string{"Content-Type", "Prefer"}
	for _, policy := range f.Guard.Policies() {
		p := newPlan(f, &policy, "")
		if p.tokens {
			send = append(send, tokenHeaders[:]...)
		}
		send = append(send, p.headers...)
	}
	slices.Sort(send)
	return slices.Compact(send), []string{StatusHeader, ReplayedHeader, "Retry-After", "Location", "Link"}
}
