package httpflow

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	idem "github.com/go-idem/idem/core"
)

// DefaultDocs is where the types of problem documents are explained.
const DefaultDocs = "https://github.com/go-idem/idem/blob/main/docs/reference/problems.md#"

// Config is what a Flow is built from. Guard is required, and Scope is unless
// the guard is Unscoped. Functions are called from many goroutines at once and
// must not keep the Request.
type Config struct {
	Guard *idem.Guard

	// Scope says whose key it is: a tenant, a user. "" means that nobody is
	// signed in, which is refused with 401 (unless the guard is Unscoped). An
	// error means that nobody can tell right now: the request runs nothing and
	// is answered 503. A constant, an IP address or a session id that a login
	// rotates is no scope.
	Scope func(Request) (string, error)

	// Docs is the absolute URI to which a problem's word is appended to make its
	// type; [DefaultDocs] if empty.
	Docs string
	// Challenge is the WWW-Authenticate of a 401, which RFC 9110 section 15.5.2
	// asks for; "Bearer" if empty.
	Challenge string
	// Profile says which status goes with a verdict; [Standard] if empty.
	Profile Profile
	// StrictKeys takes only quoted keys, as the draft of the header has it.
	StrictKeys bool

	// Origins are the origins, such as "https://shop.example", whose pages may
	// use the endpoints although they are not the endpoints' own.
	Origins []string
	// HidePolicies keeps the rules in force, which the endpoint …/policies tells
	// everybody, from being published.
	HidePolicies bool
	// AllowIssue is asked before a token is issued by the endpoint: the place
	// for a rate limit. An error is answered 429; where it is a
	// [*idem.RefusedError] with a RetryAfter, that is told.
	AllowIssue func(Request) error

	// Address tells the client's address for the trait "ip" where a proxy stands
	// in front; Request.RemoteAddr if nil.
	Address func(Request) string
	// AuditClient allows the audit log to keep the client's address, as Address
	// tells it. Ask whether yours may.
	AuditClient bool
	// TraceParent returns the traceparent of the span in ctx, to be kept with
	// the record; nil keeps none.
	TraceParent func(ctx context.Context) []byte
}

// Flow is the HTTP engine of one guard. Build it once with [New] and hand it to
// the adapters; it may be used from any number of goroutines and needs no
// closing.
type Flow struct {
	Config
	page  *pages
	twice sync.Map // operations of which it was said that a guard stands within another
}

// New builds a Flow. Everything that is wrong with cfg is reported in one error.
func New(cfg Config) (*Flow, error) {
	var errs []error
	if cfg.Guard == nil {
		errs = append(errs, errors.New("config: Guard is nil: build one with idem.New"))
	}
	if cfg.Scope == nil && (cfg.Guard == nil || !cfg.Guard.Unscoped()) {
		errs = append(errs, errors.New("config: Scope is nil: say whose key a request carries, or build the guard with Unscoped"))
	}
	if cfg.Docs == "" {
		cfg.Docs = DefaultDocs
	}
	if u, err := url.Parse(cfg.Docs); err != nil || !u.IsAbs() {
		errs = append(errs, fmt.Errorf("config: Docs %q is no absolute URI", cfg.Docs))
	}
	for _, o := range cfg.Origins {
		if u, err := url.Parse(o); err != nil || u.Host == "" || u.Scheme+"://"+u.Host != o {
			errs = append(errs, fmt.Errorf("config: origin %q is not of the form https://host[:port]", o))
		}
	}
	if cfg.Challenge == "" {
		cfg.Challenge = "Bearer"
	}
	if cfg.Profile == "" {
		cfg.Profile = Standard
	}
	if !cfg.Profile.known() {
		errs = append(errs, fmt.Errorf("config: Profile %q is none of %s, %s, %s", string(cfg.Profile), Standard, TooEarly, Strict))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("httpflow: the flow cannot be built:\n%w", err)
	}
	return &Flow{Config: cfg, page: newPages()}, nil
}

// Route is one guarded operation, ready to serve. Adapters make one for each
// route they guard.
type Route struct {
	flow      *Flow
	operation string
	places    string // where Items look for keys, for people
	latest    atomic.Pointer[plan]
}

// Route returns the guarded route of an operation. It panics where the guard
// has no policy for it, or f is nil: routes are made when a program starts, and
// a misspelt operation must not be found out by the first customer.
func (f *Flow) Route(operation string) *Route {
	if f == nil {
		panic(fmt.Sprintf("httpflow: the flow that is to guard %q is nil: look at the error of httpflow.New", operation))
	}
	if _, ok := f.Guard.Policy(operation); !ok {
		var has []string
		for _, p := range f.Guard.Policies() {
			has = append(has, p.Operation)
		}
		panic(fmt.Sprintf("httpflow: no policy for operation %q: add one to the guard's Policies, which are for %s", operation, strings.Join(has, ", ")))
	}
	return &Route{flow: f, operation: operation}
}

// plan returns what follows from the operation's policy, made anew when the
// policy was changed.
func (rt *Route) plan() *plan {
	changes := rt.flow.Guard.PolicyChanges()
	if p := rt.latest.Load(); p != nil && p.changes == changes {
		return p
	}
	policy, _ := rt.flow.Guard.Policy(rt.operation)
	p := newPlan(rt.flow, policy, rt.places)
	p.changes = changes
	rt.latest.Store(p)
	return p
}

// plan is what follows from a policy and is the same for every request.
type plan struct {
	flow     *Flow
	policy   *idem.Policy
	changes  int64       // of policies, before this one was asked for
	sources  []keySource // in the order in which they are looked at
	tokens   bool        // a token may name the intent
	headers  []string    // of keys that clients choose
	derives  bool        // a source needs neither a token, nor a key, nor a body
	inBody   int         // the first source that looks into the body; len(sources) if none does
	required bool
	partial  bool // only a share of the keys is guarded, so nobody needs one
	observe  bool // nothing is refused
	context  source
	places   string                     // where keys are looked for, if it is not the sources that say so
	fixed    [idem.Unguarded + 1]*Reply // refusals that say the same each time
}

func newPlan(f *Flow, policy *idem.Policy, places string) *plan {
	p := &plan{flow: f, policy: policy, places: places, required: policy.KeyRequired == idem.Yes,
		partial: policy.Share < 1, observe: policy.Mode == idem.ModeObserve, context: parseSource(policy.Context)}
	p.look(policy.KeySources())
	for _, v := range []idem.Verdict{idem.Missing, idem.Foreign, idem.Conflict, idem.Dead, idem.Forgotten} {
		p.fixed[v] = p.problem(v, nil)
	}
	return p
}

// guards says whether the policy guards the method.
func (p *plan) guards(method string) bool {
	for _, m := range p.policy.Methods {
		if m == method {
			return true
		}
	}
	return false
}

// source is where something stands in a request, such as "header:NAME".
type source struct{ kind, name string }

func parseSource(s string) source {
	kind, name, _ := strings.Cut(s, ":")
	if kind == "header" {
		name = canonical(name)
	}
	return source{kind, name}
}
