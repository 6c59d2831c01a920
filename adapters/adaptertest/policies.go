package adaptertest

import (
	"strings"
	"time"

	idem "github.com/go-idem/idem/core"
)

// Policies are those of the bed that everybody may drive: /do/, /form/, /pay/,
// /key/ and, item by item, /batch/. An operation test:NAME:run is served below /NAME/.
func Policies() []idem.Policy {
	return []idem.Policy{
		{Operation: "test:do:run", Preset: idem.API},
		{Operation: "test:form:run", Preset: idem.Form, Context: "path:" + Rest},
		{Operation: "test:pay:run", Preset: idem.Payment},
		{Operation: "test:key:run", Preset: idem.API, KeyRequired: idem.Yes},
		{Operation: "test:batch:run", Preset: idem.API},
	}
}

// timedOut is the time-out of the middleware around test:timed:run.
const timedOut = 300 * time.Millisecond

// SuitePolicies are those that the statements need besides. Their leases are
// the shortest the store allows (but what a busy machine can hold: 400 ms), so
// that a crashed owner is seen within a test's patience.
func SuitePolicies(store idem.Description) []idem.Policy {
	lease := ShortLease(store)
	quick := func(name string, p idem.Policy) idem.Policy {
		p.Operation = "test:" + name + ":run"
		p.Preset, p.KeyRequired = idem.API, idem.Yes
		if len(p.Key) == 0 {
			p.Key = []string{"token", "header:Idempotency-Key"}
		}
		if p.Lease == 0 {
			p.Lease = lease
		}
		if p.MaxRun == 0 {
			p.MaxRun = time.Minute
		}
		return p
	}
	return []idem.Policy{
		// What a crash leaves, taken over or held.
		quick("retake", idem.Policy{OnCrash: idem.Retake}),
		quick("hold", idem.Policy{OnCrash: idem.Hold}),
		// The same for a run that may take no longer than its lease.
		quick("hung", idem.Policy{OnCrash: idem.Hold, MaxRun: lease}),
		quick("hungretake", idem.Policy{OnCrash: idem.Retake, MaxRun: lease}),
		// Every question about endings answered as no preset does.
		quick("keep", idem.Policy{On4xx: idem.Keep, On5xx: idem.Keep}),
		quick("loose", idem.Policy{OnOther4xx: idem.Release, On5xx: idem.Doubt}),
		quick("wait", idem.Policy{OnDuplicate: idem.Wait, Wait: 10 * time.Second}),
		// What only a policy asks for.
		quick("open", idem.Policy{OnOutage: idem.Open}),
		quick("put", idem.Policy{Methods: []string{"PUT", "DELETE"}}),
		quick("names", idem.Policy{Key: []string{"header:X-Order-Key", "header:X-Request-Key"}}),
		quick("bykind", idem.Policy{Key: []string{"json:/order/id", "form:order", "func:reference"}}),
		quick("bypath", idem.Policy{Key: []string{"path:" + Rest}}),
		quick("byparts", idem.Policy{Key: []string{"json:/orderId+path:" + Rest}}),
		quick("only", idem.Policy{Fingerprint: idem.FingerprintChoice{Only: []string{"/amount", "/to"}}}),
		quick("ignore", idem.Policy{Fingerprint: idem.FingerprintChoice{Ignore: []string{"/csrf"}}}),
		quick("force", idem.Policy{OnDuplicate: idem.Force}), // for those whom ForceAuthorizer lets
		quick("timed", idem.Policy{}),                        // behind a timeout middleware
		quick("roll", idem.Policy{}),                         // whose mode is changed
		quick("zip", idem.Policy{}),                          // inside of a compressor
		quick("allbatch", idem.Policy{Atomic: idem.Yes}),
		quick("tokenbatch", idem.Policy{Key: []string{"token"}}),
		quick("drill", idem.Policy{Lease: max(lease, time.Second)}),
	}
}

// ShortLease is the shortest lease that a store allows and a busy machine holds.
func ShortLease(store idem.Description) time.Duration {
	const unit, held = 100 * time.Millisecond, 400 * time.Millisecond
	least := 9 * store.WorstCall // three worst claims of three tries
	return max(held, (least+unit-1)/unit*unit)
}

// place is the path below which an operation is served.
func place(operation string) string {
	return "/" + strings.Split(operation, ":")[1] + "/"
}
