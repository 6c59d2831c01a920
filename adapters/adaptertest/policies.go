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

// timedOut is the time-out of the middleware around test:timed:run. It has to be
// reached, and must not be before a handler could begin.
const timedOut = 2 * time.Second

// SuitePolicies are those that the statements need besides. The leases of those
// whose claims have to run out are the shortest the store allows (but what a busy
// machine can hold: 400 ms), so that a crashed owner is seen within a test's
// patience; statements about them are played alone. A claim of any other has the
// lease of its preset: no machine stands still for that long.
func SuitePolicies(store idem.Description) []idem.Policy {
	lease := ShortLease(store)
	suite := func(name string, p idem.Policy) idem.Policy {
		p.Operation = "test:" + name + ":run"
		p.Preset, p.KeyRequired = idem.API, idem.Yes
		if len(p.Key) == 0 {
			p.Key = []string{"token", "header:Idempotency-Key"}
		}
		if p.MaxRun == 0 {
			p.MaxRun = time.Minute
		}
		return p
	}
	quick := func(name string, p idem.Policy) idem.Policy {
		p.Lease = lease
		return suite(name, p)
	}
	return []idem.Policy{
		// What a crash leaves, taken over or held.
		quick("retake", idem.Policy{OnCrash: idem.Retake}),
		quick("crash", idem.Policy{OnCrash: idem.Hold}),
		// The same for a run that may take no longer than its lease.
		quick("hung", idem.Policy{OnCrash: idem.Hold, MaxRun: lease}),
		quick("hungretake", idem.Policy{OnCrash: idem.Retake, MaxRun: lease}),
		// A lease that is renewed within a test's patience, and outlives a bad moment.
		suite("renew", idem.Policy{Lease: max(lease, renewedLease)}),
		suite("renewopen", idem.Policy{Lease: max(lease, renewedLease), OnOutage: idem.Open}),
		suite("hold", idem.Policy{OnCrash: idem.Hold}),
		// Every question about endings answered as no preset does.
		suite("keep", idem.Policy{On4xx: idem.Keep, On5xx: idem.Keep}),
		suite("loose", idem.Policy{OnOther4xx: idem.Release, On5xx: idem.Doubt}),
		suite("wait", idem.Policy{OnDuplicate: idem.Wait, Wait: 10 * time.Second}),
		// What only a policy asks for.
		suite("open", idem.Policy{OnOutage: idem.Open}),
		suite("put", idem.Policy{Methods: []string{"PUT", "DELETE"}}),
		suite("names", idem.Policy{Key: []string{"header:X-Order-Key", "header:X-Request-Key"}}),
		suite("bykind", idem.Policy{Key: []string{"json:/order/id", "form:order", "func:reference"}}),
		suite("bypath", idem.Policy{Key: []string{"path:" + Rest}}),
		suite("byparts", idem.Policy{Key: []string{"json:/orderId+path:" + Rest}}),
		suite("only", idem.Policy{Fingerprint: idem.FingerprintChoice{Only: []string{"/amount", "/to"}}}),
		suite("ignore", idem.Policy{Fingerprint: idem.FingerprintChoice{Ignore: []string{"/csrf"}}}),
		suite("force", idem.Policy{OnDuplicate: idem.Force}), // for those whom ForceAuthorizer lets
		suite("timed", idem.Policy{}),                        // behind a timeout middleware
		suite("roll", idem.Policy{}),                         // whose mode is changed
		suite("zip", idem.Policy{}),                          // inside of a compressor
		suite("allbatch", idem.Policy{Atomic: idem.Yes}),
		suite("tokenbatch", idem.Policy{Key: []string{"token"}}),
		suite("drill", idem.Policy{Lease: max(lease, 10*time.Second)}),
	}
}

// renewedLease is due for a renewal every second and a half.
const renewedLease = 4500 * time.Millisecond

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
