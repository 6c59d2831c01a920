package httpflow

import (
	"html/template"

	idem "github.com/go-idem/idem/core"
)

// Issue issues a token for whoever r is from, for a form or page that the
// server renders. context is what the token is bound to, and has to be what the
// policy's Context will find in the request that submits it; "" where the policy
// has none. Errors are those of [idem.Guard.Issue], and what Config.Scope
// returned.
func (f *Flow) Issue(r Request, operation, context string) (idem.Token, error) {
	scope, err := f.scope(r)
	if err != nil {
		return idem.Token{}, err
	}
	return f.issue(r, scope, operation, context)
}

func (f *Flow) issue(r Request, scope, operation, context string) (idem.Token, error) {
	req := idem.TokenRequest{Operation: operation, Scope: scope, Context: context}
	if policy, ok := f.Guard.Policy(operation); ok {
		req.Traits = f.traits(policy, r)
	}
	return f.Guard.Issue(r.Context(), req)
}

// Input returns the hidden field that carries a token in a form, to be put into
// an html/template. Autocompletion is off because browsers otherwise put an old
// token back when a page is reloaded.
func Input(t idem.Token) template.HTML {
	return template.HTML(`<input type="hidden" name="` + tokenField + `" value="` + t.Reveal() + `" autocomplete="off">`) // 32 characters of base64url need no escaping
}
