package idem

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Policy says how one operation is guarded. It is plain data: every field left
// zero takes the preset's answer, and a Policy with nothing but an Operation
// assumes nothing about the handler (the answers of Payment). Names, choices
// and defaults are those of PROTOCOL section 8.
type Policy struct {
	Operation string // system:domain:action
	Preset    Preset

	Mode  Mode    // how far the policy is in force; ModeEnforce if empty
	Share float64 // of keys that it is in force for, above 0 and at most 1; 1 if zero (none at all is ModeOff)

	Key         []string // key sources in order, the first that is there: see [ParseKeySource]
	KeyRequired YesNo    // whether a request without key or token is refused
	Methods     []string // the guarded HTTP methods; POST and PATCH if empty
	Context     string   // where a token's context stands in the request, such as "path:id" or "form:cart"; empty: none
	Traits      []string // client traits a token is bound to: "ip", "user-agent"; empty: none
	Fingerprint FingerprintChoice

	OnDuplicate  Choice        // while another owner runs: Wait, Reject, Force
	Wait         time.Duration // how long a duplicate waits
	On4xx        Choice        // 400 401 403 408 409 413 415 422 425 428 429: Release, Keep
	OnOther4xx   Choice        // every other 4xx: Keep, Release
	On5xx        Choice        // 5xx, a panic, a returned error without a status: Release, Doubt, Keep
	OnCrash      Choice        // a claim whose lease ran out: Hold, Retake
	OnOutage     Choice        // the store does not answer: Closed, Open
	OnDisconnect Choice        // the client left: Finish, Cancel

	Lease time.Duration // a multiple of 100 ms; renewed every third of it
	// AdaptiveLease has the lease of new claims follow how long the handler takes,
	// from its 200th run on; Lease is where it begins. In JSON it is a word of
	// lease: "adaptive", or "30s adaptive".
	AdaptiveLease bool

	MaxRun    time.Duration // the longest a run may take
	Retention time.Duration // whole seconds; how long every record is kept, whatever its state
	TokenLife time.Duration

	// Atomic has items that are sent together claimed together: all of them are
	// won or none, see [Atomic].
	Atomic YesNo

	MaxBody     int64 // bytes of a request body; more is refused
	MaxKeptBody int64 // bytes of an answer that are kept; more makes repeats Used
}

// Preset is a named set of answers for the questions a Policy leaves open.
type Preset string

// The presets. Form and API say in writing that a 5xx, a panic or a returned
// error means that the handler's work was undone, which is true where its
// effects are one database transaction. Payment assumes nothing.
const (
	Form    Preset = "form"
	API     Preset = "api"
	Payment Preset = "payment"
)

// Choice is the answer to one of a Policy's questions.
type Choice string

// The choices. Which of them answer which question stands at Policy's fields.
const (
	Wait    Choice = "wait"
	Reject  Choice = "reject"
	Force   Choice = "force"
	Release Choice = "release"
	Keep    Choice = "keep"
	Doubt   Choice = "doubt"
	Hold    Choice = "hold"
	Retake  Choice = "retake"
	Closed  Choice = "closed"
	Open    Choice = "open"
	Finish  Choice = "finish"
	Cancel  Choice = "cancel"
)

// YesNo is a boolean that can be left open.
type YesNo uint8

// The values of a YesNo.
const (
	Unset YesNo = iota
	Yes
	No
)

// String returns "true", "false" or "".
func (y YesNo) String() string { return [...]string{"", "true", "false"}[min(y, No)] }

// The numbers of PROTOCOL sections 2, 3 and 8 that are the same for everybody.
const (
	clientDeadline = 60 * time.Second // how long idem.js may still send a token it has sent once
	slack          = 10 * time.Minute // how far clocks and minds may be apart
	maxRetention   = 194 * 24 * time.Hour
	minLease       = 100 * time.Millisecond
	maxLease       = 6553 * time.Second
	futureStamp    = time.Minute // a token stamped later than this is foreign

	defaultMaxBody     = 1 << 20
	defaultMaxKeptBody = 1 << 20
)

// withDefaults returns the policy with every open question answered.
func (p Policy) withDefaults() Policy {
	base := Policy{
		Key: []string{"token", "header:Idempotency-Key"}, KeyRequired: Yes,
		OnDuplicate: Reject, On4xx: Release, OnOther4xx: Keep, On5xx: Doubt,
		Lease: 30 * time.Second, MaxRun: 10 * time.Minute, Retention: 24 * time.Hour,
	}
	switch p.Preset {
	case Form:
		base.Key, base.OnDuplicate, base.On5xx = []string{"token"}, Wait, Release
	case API:
		base.Key, base.KeyRequired, base.On5xx = []string{"header:Idempotency-Key"}, No, Release
	case Payment:
		base.Lease, base.MaxRun, base.Retention = time.Minute, 2*time.Minute, 7*24*time.Hour
	}
	p.Mode, p.Share = or(p.Mode, ModeEnforce), or(p.Share, 1)
	p.Key = slices.Clone(orSlice(p.Key, base.Key))
	p.KeyRequired = or(p.KeyRequired, base.KeyRequired)
	p.Methods = slices.Clone(orSlice(p.Methods, []string{"POST", "PATCH"}))
	p.Traits = slices.Clone(p.Traits)
	p.OnDuplicate = or(p.OnDuplicate, base.OnDuplicate)
	p.Wait = or(p.Wait, 5*time.Second)
	p.On4xx, p.OnOther4xx, p.On5xx = or(p.On4xx, base.On4xx), or(p.OnOther4xx, base.OnOther4xx), or(p.On5xx, base.On5xx)
	p.OnCrash, p.OnOutage, p.OnDisconnect = or(p.OnCrash, Hold), or(p.OnOutage, Closed), or(p.OnDisconnect, Finish)
	p.Atomic = or(p.Atomic, No)
	p.Lease, p.MaxRun = or(p.Lease, base.Lease), or(p.MaxRun, base.MaxRun)
	p.Retention, p.TokenLife = or(p.Retention, base.Retention), or(p.TokenLife, 15*time.Minute)
	p.Fingerprint = p.Fingerprint.prepared()
	p.MaxBody, p.MaxKeptBody = or(p.MaxBody, defaultMaxBody), or(p.MaxKeptBody, defaultMaxKeptBody)
	return p
}

func or[T comparable](v, base T) T {
	var zero T
	if v == zero {
		return base
	}
	return v
}

func orSlice(v, base []string) []string {
	if len(v) == 0 {
		return base
	}
	return v
}

// UsesToken says that a token is one of the policy's key sources.
func (p *Policy) UsesToken() bool { return slices.Contains(p.Key, "token") }

// Outcome is how a run ends.
type Outcome uint8

// The outcomes. Completes and Fails keep an answer and replay it.
const (
	Completes Outcome = iota + 1 // → SUCCEEDED
	Fails                        // → FAILED: a definite refusal
	Releases                     // → RELEASED: without effect, the same key may run again
	Doubts                       // → UNCERTAIN: it may have had an effect
	leaves                       // leave the record to its lease
)

// String returns complete, fail, release or doubt.
func (o Outcome) String() string {
	return [...]string{"", "complete", "fail", "release", "doubt", "leave"}[min(o, leaves)]
}

// on4xxStatuses are the refusals after which the same key with a better
// request makes sense: nothing was done, and the next try may differ.
var on4xxStatuses = [...]int{400, 401, 403, 408, 409, 413, 415, 422, 425, 428, 429}

// OutcomeOf says how a run that answered with this HTTP status ends.
func (p *Policy) OutcomeOf(status int) Outcome {
	switch {
	case status >= 500 || status < 200:
		return p.OutcomeOfError()
	case status < 400:
		return Completes
	case slices.Contains(on4xxStatuses[:], status):
		return outcomeOfChoice(p.On4xx)
	}
	return outcomeOfChoice(p.OnOther4xx)
}

// OutcomeOfError says how a run ends that panicked or returned an error
// without a status.
func (p *Policy) OutcomeOfError() Outcome { return outcomeOfChoice(p.On5xx) }

func outcomeOfChoice(c Choice) Outcome {
	switch c {
	case Release:
		return Releases
	case Keep:
		return Fails
	}
	return Doubts
}

// check reports everything wrong with a policy whose defaults are filled in.
func (p *Policy) check(store Description) error {
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("policy %q: "+format, append([]any{p.Operation}, args...)...))
	}
	if err := ValidOperation(p.Operation); err != nil {
		wrong("%w", err)
	}
	if !slices.Contains([]Preset{"", Form, API, Payment}, p.Preset) {
		wrong("preset %q is none of form, api, payment", string(p.Preset))
	}
	if !slices.Contains([]Mode{ModeEnforce, ModeObserve, ModeOff}, p.Mode) {
		wrong("mode %q is none of enforce, observe, off", string(p.Mode))
	}
	if !(p.Share > 0 && p.Share <= 1) { // NaN is neither
		wrong("share %v is not above 0 and at most 1; to guard no key, say mode off", p.Share)
	}
	if err := p.Fingerprint.Validate(); err != nil {
		wrong("fingerprint: %w", err)
	}
	for _, c := range p.choices() {
		if !slices.Contains(c.may, c.got) {
			wrong("%s %q is none of %s", c.name, string(c.got), named(c.may))
		}
	}
	p.checkKeys(wrong)
	for _, m := range p.Methods {
		if slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE"}, m) {
			wrong("method %s is safe by definition and cannot be guarded", m)
		}
	}
	p.checkPlaces(wrong)
	p.checkTimes(store, wrong)
	if p.MaxBody < 0 || p.MaxKeptBody < 0 {
		wrong("maxBody and maxKeptBody must not be negative")
	}
	return errors.Join(errs...)
}

// question is one that a Policy answers with a choice.
type question struct {
	name string
	got  Choice
	may  []Choice
}

// named joins choices as an error names them.
func named(may []Choice) string {
	words := make([]string, len(may))
	for i, c := range may {
		words[i] = string(c)
	}
	return strings.Join(words, ", ")
}

// choices are the questions with the choices that this build honours.
func (p *Policy) choices() []question {
	return []question{
		{"onDuplicate", p.OnDuplicate, []Choice{Wait, Reject, Force}},
		{"on4xx", p.On4xx, []Choice{Release, Keep}},
		{"onOther4xx", p.OnOther4xx, []Choice{Keep, Release}},
		{"on5xx", p.On5xx, []Choice{Release, Doubt, Keep}},
		{"onCrash", p.OnCrash, []Choice{Hold, Retake}},
		{"onOutage", p.OnOutage, []Choice{Closed, Open}},
		{"onDisconnect", p.OnDisconnect, []Choice{Finish, Cancel}},
	}
}

// checkPlaces checks what names a place in a request. Whoever misspells one
// must hear it at the start: read as nothing, it would bind tokens to nothing.
func (p *Policy) checkPlaces(wrong func(string, ...any)) {
	kind, name, _ := strings.Cut(p.Context, ":")
	if p.Context != "" && (name == "" || !slices.Contains([]string{"path", "query", "header", "form", "json"}, kind)) {
		wrong("context %q is none of path:NAME, query:NAME, header:NAME, form:NAME, json:/POINTER", p.Context)
	} else if err := (KeyPlace{kind, name}).check(); err != nil && p.Context != "" {
		wrong("context %q: %w", p.Context, err)
	}
	for _, trait := range p.Traits {
		if trait != "ip" && trait != "user-agent" {
			wrong("trait %q is none of ip, user-agent", trait)
		}
	}
	for _, m := range p.Methods {
		if m == "" || strings.ContainsFunc(m, func(r rune) bool { return r < 'A' || r > 'Z' }) {
			wrong("method %q is not of capital letters, such as POST", m)
		}
	}
}

func (p *Policy) checkTimes(store Description, wrong func(string, ...any)) {
	if p.Lease%minLease != 0 || p.Lease < minLease || p.Lease > maxLease {
		wrong("lease %v must be a multiple of %v from %v to %v", p.Lease, minLease, minLease, maxLease)
	} else if least := leastLease(store); p.Lease < least {
		wrong("lease %v is too short for this store: its worst claim takes %v, a lease needs three of them, %v", p.Lease, worstClaim(store), least)
	}
	if p.Retention%time.Second != 0 || p.Retention <= 0 || p.Retention > maxRetention {
		wrong("retention %v must be whole seconds, at most %v", p.Retention, maxRetention)
	}
	if least := p.TokenLife + clientDeadline + slack; p.Retention < least {
		wrong("retention %v is shorter than token life %v + client deadline %v + slack %v = %v", p.Retention, p.TokenLife, clientDeadline, slack, least)
	}
	if shortest := p.shortestLease(store); p.Lease >= minLease && shortest >= minLease && p.MaxRun/(shortest/3) >= 1<<16 {
		wrong("maxRun %v is more than 65,535 renewals of the lease %v", p.MaxRun, shortest)
	}
	if p.MaxRun < p.Lease {
		wrong("maxRun %v is shorter than the lease %v", p.MaxRun, p.Lease)
	}
	if longest := p.mostLease(); p.Retention < p.MaxRun+longest {
		wrong("retention %v is shorter than maxRun %v + lease %v", p.Retention, p.MaxRun, longest)
	}
	if _, err := lifeCode(p.TokenLife); err != nil {
		wrong("tokenLife: %w", err)
	}
	if p.Wait < 0 {
		wrong("wait %v is negative", p.Wait)
	}
}

// worstClaim is the longest a claim can be without an answer: three tries.
func worstClaim(d Description) time.Duration { return 3 * d.WorstCall }

// leastLease is three worst claims, in whole units of a lease (PROTOCOL
// section 8, defaults).
func leastLease(d Description) time.Duration {
	least := 3 * worstClaim(d)
	return max(minLease, (least+minLease-1)/minLease*minLease)
}
