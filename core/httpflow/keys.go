package httpflow

import (
	"fmt"
	"net/textproto"
	"slices"
	"strings"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/broken"
)

// The places of a token (design: HTTP section 1).
const (
	tokenHeader    = "Idempotency-Token"
	tokenHeaderOld = "X-Idempotent-Token" // customary
	tokenField     = "idempotent-token"   // of a form
	tokenMember    = "idempotentToken"    // of a JSON body, at its top
)

var tokenHeaders = [...]string{tokenHeader, tokenHeaderOld}

// named is what names an intent, as it was found in a request.
type named struct {
	sent  bool // a key or token was sent, readable or not
	token idem.Token
	key   string
	from  string // for telemetry: token, header, json, form, path or func
	at    int    // which of the plan's sources it is; len(sources) if none
	err   error  // why what was sent cannot be read; never holds it
	// failed is why nobody can tell whether there is a key: no fault of the
	// client's.
	failed error
}

// sentKey looks for a token and then for a key that the client chose, in the
// head. A token wins over a key beside it, whatever that looks like: browsers
// make keys of their own.
func (p *plan) sentKey(r Request) named {
	if p.tokens {
		if n := tokenFromHead(r); n.sent {
			return n
		}
	}
	return p.keyFromHead(r)
}

// anySent says whether a token or a client's key was sent in the head.
func (p *plan) anySent(r Request) bool {
	sent := func(name string) bool { return len(r.Header(name)) > 0 }
	return p.tokens && slices.ContainsFunc(tokenHeaders[:], sent) || slices.ContainsFunc(p.headers, sent)
}

func tokenFromHead(r Request) (n named) {
	for _, header := range tokenHeaders {
		lines := r.Header(header)
		if len(lines) == 0 {
			continue
		}
		if len(lines) > 1 {
			return malformed("token", "the header %s was sent %d times; send it once", header, len(lines))
		}
		token, err := readToken(lines[0])
		switch {
		case err != nil:
			return malformed("token", "the header %s: %w", header, err)
		case n.sent && n.token != token:
			return malformed("token", "the headers %s and %s hold different tokens; send one", tokenHeader, tokenHeaderOld)
		}
		n = named{sent: true, token: token, from: "token"}
	}
	return n
}

func (p *plan) keyFromHead(r Request) (n named) {
	first := ""
	for _, header := range p.headers {
		lines := r.Header(header)
		if len(lines) == 0 {
			continue
		}
		if len(lines) > 1 {
			return malformed("header", "the header %s was sent %d times; send it once", header, len(lines))
		}
		key, err := idem.ParseKey(lines[0], p.flow.StrictKeys)
		switch {
		case err != nil:
			return malformed("header", "the header %s: %w", header, err)
		case n.sent && n.key != key:
			return malformed("header", "the headers %s and %s hold different keys; send one", first, header)
		}
		n, first = named{sent: true, key: key, from: "header"}, header
	}
	return n
}

// malformed is something sent that cannot be read.
func malformed(from, format string, args ...any) named {
	return named{sent: true, from: from, err: fmt.Errorf(format, args...)}
}

// readToken reads a token as it stands in a header or field.
func readToken(text string) (idem.Token, error) {
	text = strings.Trim(text, " ")
	if text == "" {
		return idem.Token{}, fmt.Errorf("%w: it is empty", idem.ErrMalformed)
	}
	return idem.ParseToken(text)
}

// looked says, for people, where a key or token was looked for.
func (p *plan) looked() string {
	var places, keys []string
	if p.tokens {
		places = append(places, "a token (headers "+strings.Join(tokenHeaders[:], ", ")+"; form field "+tokenField+"; top-level JSON member "+tokenMember+")")
	}
	if len(p.headers) > 0 {
		keys = append(keys, "header "+strings.Join(p.headers, ", "))
	}
	for i := range p.sources {
		if s := &p.sources[i]; s.derived {
			keys = append(keys, s.words())
		}
	}
	if len(keys) > 0 {
		places = append(places, "a key ("+strings.Join(keys, "; ")+")")
	}
	return "Looked for " + strings.Join(places, " and ") + "."
}

// reason is what an error says beside the words that every malformed thing
// begins with.
func reason(err error) string {
	return strings.ReplaceAll(err.Error(), idem.ErrMalformed.Error()+": ", "")
}

// refusesEarly says that the request is refused because it came as early data
// and has no key: where everything else that has none is.
func (p *plan) refusesEarly(r Request) bool { return !p.observe && !p.partial && isEarly(r) }

// isEarly says that the request came as TLS early data, which can be replayed
// by anybody who saw it on the wire (RFC 8470 section 5.1).
func isEarly(r Request) bool {
	if broken.Is(broken.T5EarlyDataRuns) {
		return false
	}
	for _, line := range r.Header("Early-Data") {
		if strings.Trim(line, " ") == "1" {
			return true
		}
	}
	return false
}

func canonical(name string) string { return textproto.CanonicalMIMEHeaderKey(name) }
