package httpflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	idem "github.com/go-idem/idem/core"
)

const (
	endpointBody = 64 << 10 // bytes of a request to an endpoint
	mostItems    = 100      // tokens of one request
)

// wanted is what a request to an endpoint asks about.
type wanted struct {
	Operation string   `json:"operation"`
	Context   string   `json:"context"`
	Items     []wanted `json:"items"`
}

// issued is a token as the token endpoint tells it.
type issued struct {
	Token     string `json:"token"`
	ExpiresIn int64  `json:"expiresIn"` // whole seconds
	ExpiresAt string `json:"expiresAt"` // RFC 3339 in UTC, for people
	Retain    int64  `json:"retain"`    // whole seconds for which a repeat is recognised
	Degraded  bool   `json:"degraded"`  // nothing may be retried by itself
}

// Endpoint answers the endpoints of the house, told apart by the last element of
// the path, so that they work under any prefix:
//
//	POST …/tokens    {operation, context} or {items: […]}; GET with a query
//	POST …/status    {operation, context}, token or key in its header
//	POST …/discard   the same
//	GET  …/policies  the rules in force, as Markdown or JSON; for everybody
//
// The others answer only to their caller's own scope, only pages of the same
// origin or clients that authenticate, and with Cache-Control: no-store.
func (f *Flow) Endpoint(r Request) *Reply {
	path := r.Path()
	name := path[strings.LastIndexByte(path, '/')+1:]
	method := r.Method()
	switch name {
	case "tokens", "status", "discard":
	case "policies", "policies.json", "policies.md":
		if f.HidePolicies {
			return f.noSuchEndpoint()
		}
		if method != http.MethodGet && method != http.MethodHead {
			return f.wrongMethod("GET, HEAD")
		}
		_, ending, _ := strings.Cut(name, ".")
		return f.policies(r, ending)
	default:
		return f.noSuchEndpoint()
	}
	if method != http.MethodPost && !(name == "tokens" && method == http.MethodGet) {
		return f.wrongMethod(map[bool]string{true: "GET, POST", false: "POST"}[name == "tokens"])
	}
	if prefetched(r) {
		return f.denied("prefetch", http.StatusForbidden, "Nothing is prepared under prefetch", "The person may never come. Ask when the page is shown.")
	}
	if why := f.vouched(r); why != "" {
		return f.denied("cross-origin", http.StatusForbidden, "Another origin may not ask this", why)
	}
	scope, err := f.scope(r)
	switch {
	case err != nil:
		f.Guard.Logger().ErrorContext(r.Context(), "scope cannot be told", "error", err.Error())
		return f.unavailable()
	case scope == "" && !f.Guard.Unscoped():
		refusal := f.denied("unauthorized", wordsNobody.status, wordsNobody.title, "Sign in first: tokens and keys belong to somebody.")
		refusal.Fields = append(refusal.Fields, Field{"WWW-Authenticate", f.Challenge})
		return refusal
	}
	want, refusal := f.wantedBy(r)
	switch {
	case refusal != nil:
		return refusal
	case name == "tokens":
		return f.tokens(r, scope, want)
	}
	return f.ask(r, scope, want, name == "discard")
}

func (f *Flow) noSuchEndpoint() *Reply {
	return f.denied("not-found", http.StatusNotFound, "There is no such endpoint", "The endpoints are tokens, status, discard and, where they are published, policies.")
}

func (f *Flow) wrongMethod(allow string) *Reply {
	refusal := f.denied("method-not-allowed", http.StatusMethodNotAllowed, "This method is not allowed here", "Allowed: "+allow+".")
	refusal.Fields = append(refusal.Fields, Field{"Allow", allow})
	return refusal
}

// wantedBy reads what is asked for.
func (f *Flow) wantedBy(r Request) (want wanted, refusal *Reply) {
	if r.Method() == http.MethodGet {
		query, err := url.ParseQuery(r.RawQuery())
		if err != nil {
			return want, f.badRequest("The query cannot be read.")
		}
		return wanted{Operation: query.Get("operation"), Context: query.Get("context")}, nil
	}
	var body Body
	defer body.close()
	if err := body.read(r, endpointBody); err != nil {
		return want, f.badRequest(fmt.Sprintf("The body cannot be read, or is longer than %d bytes.", endpointBody))
	}
	text, err := body.Bytes()
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err != nil {
		return want, f.badRequest(`The body is not JSON of the form {"operation":"…","context":"…"}.`)
	}
	return want, nil
}

// tokens issues one token, or one for each item: all or none.
func (f *Flow) tokens(r Request, scope string, want wanted) *Reply {
	if f.AllowIssue != nil {
		if err := f.AllowIssue(r); err != nil {
			return f.limited(err)
		}
	}
	if want.Items == nil {
		one, refusal := f.token(r, scope, want)
		if refusal != nil {
			return refusal
		}
		return answer(one)
	}
	if len(want.Items) > mostItems {
		return f.badRequest(fmt.Sprintf("There are %d items; at most %d are allowed.", len(want.Items), mostItems))
	}
	list := make([]issued, 0, len(want.Items))
	for _, item := range want.Items {
		one, refusal := f.token(r, scope, item)
		if refusal != nil {
			return refusal
		}
		list = append(list, one)
	}
	return answer(map[string]any{"items": list})
}

func (f *Flow) token(r Request, scope string, want wanted) (one issued, refusal *Reply) {
	policy, ok := f.Guard.Policy(want.Operation)
	switch {
	case !ok:
		return one, f.unknown()
	case !policy.UsesToken():
		return one, f.badRequest("This operation takes no tokens.")
	case policy.Context != "" && want.Context == "":
		return one, f.badRequest("Tokens of this operation are bound to a context: name it in the member context.")
	case len(want.Context) > maxContext:
		return one, f.badRequest(fmt.Sprintf("A context has at most %d bytes.", maxContext))
	}
	token, err := f.issue(r, scope, want.Operation, want.Context)
	if err != nil {
		f.Guard.Logger().InfoContext(r.Context(), "token refused", "idem.operation", want.Operation, "error", err.Error())
		return one, f.denied("not-issued", http.StatusForbidden, "No token is issued for this", "The application refuses a token for this operation and context.")
	}
	return issued{
		Token: token.Reveal(), ExpiresIn: int64(policy.TokenLife / time.Second),
		ExpiresAt: token.ExpiresAt().UTC().Format(time.RFC3339),
		Retain:    int64(policy.Retention / time.Second), Degraded: f.Guard.DegradedToken(idem.TokenRequest{Operation: want.Operation, Scope: scope}, token),
	}, nil
}

// ask looks up what is known of a token or key, and buries it if it is to be
// discarded and that is possible.
func (f *Flow) ask(r Request, scope string, want wanted, discard bool) *Reply {
	policy, ok := f.Guard.Policy(want.Operation)
	if !ok {
		return f.unknown()
	}
	p := newPlan(f, asking(policy), "")
	if len(p.sources) == 0 {
		return f.badRequest("The keys of this operation are made of its own requests: send the request again to learn what became of it.")
	}
	n := p.sentKey(r)
	if n.err != nil {
		return p.refusal(false, &idem.RefusedError{Verdict: idem.Malformed, Err: n.err})
	}
	in := idem.Intent{
		Operation: want.Operation, Scope: scope, Key: n.key, Token: n.token, Context: want.Context,
		Traits: f.traits(policy, r), Source: n.from, Trace: p.trace(r), Client: f.client(r),
	}
	var (
		status  idem.Status
		verdict idem.Verdict
		err     error
	)
	if discard {
		status, verdict, err = f.Guard.Discard(r.Context(), in)
	} else {
		status, err = f.Guard.Status(r.Context(), in)
	}
	var refused *idem.RefusedError
	switch {
	case errors.As(err, &refused):
		return p.refusal(false, refused)
	case err != nil:
		f.Guard.Logger().ErrorContext(r.Context(), "endpoint failed", "idem.operation", want.Operation, "error", err.Error())
		return f.unavailable()
	case verdict != 0:
		return answer(map[string]string{"verdict": verdict.String(), "state": status.State.String()})
	}
	return answer(told(status))
}

// asking is the policy for a request that asks about another one: only what a
// client chose or was given can be sent along.
func asking(policy *idem.Policy) *idem.Policy {
	p := *policy
	p.Key = slices.DeleteFunc(slices.Clone(p.Key), func(text string) bool {
		return text != "token" && (!strings.HasPrefix(text, "header:") || strings.Contains(text, "+"))
	})
	return &p
}

// told is a status as JSON: since in RFC 3339, UTC; leaseLeft in whole seconds,
// rounded up.
func told(s idem.Status) map[string]any {
	since := ""
	if !s.Since.IsZero() {
		since = s.Since.UTC().Format(time.RFC3339)
	}
	return map[string]any{
		"state": s.State.String(), "operation": s.Operation, "since": since,
		"leaseLeft": int64((s.LeaseLeft + time.Second - 1) / time.Second),
	}
}

func (f *Flow) unknown() *Reply {
	return f.denied("unknown-operation", http.StatusNotFound, "There is no such operation", "No policy here guards an operation of that name.")
}

func (f *Flow) limited(err error) *Reply {
	after := &idem.RefusedError{Verdict: idem.Unavailable}
	var refused *idem.RefusedError
	if errors.As(err, &refused) {
		after.RetryAfter = refused.RetryAfter
	}
	refusal := f.denied("too-many", http.StatusTooManyRequests, "Too many tokens are asked for", "Ask again after the time in Retry-After.")
	refusal.Fields = append(refusal.Fields, Field{"Retry-After", retryAfter(after)})
	return refusal
}

func (f *Flow) unavailable() *Reply {
	refusal := f.denied(idem.Unavailable.String(), http.StatusServiceUnavailable, "This cannot be answered right now", "Ask again after the time in Retry-After.")
	refusal.Fields = append(refusal.Fields, Field{"Retry-After", "1"})
	return refusal
}

// answer is a 200 of JSON that nobody may keep.
func answer(v any) *Reply {
	body, _ := json.Marshal(v) // plain data of ours: it cannot fail
	return &Reply{Status: http.StatusOK, Body: append(body, '\n'), Fields: []Field{
		{"Content-Type", "application/json"}, {"Cache-Control", "no-store"},
	}}
}
