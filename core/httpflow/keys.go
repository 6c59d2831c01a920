package httpflow

import (
	"fmt"
	"net/textproto"
	"strings"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/broken"
)

// The places of a token, as docs/reference/policies.md lists them.
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
func (p *plan) sentKey(r Request) (n named) {
	if p.tokens {
		if tokenFromHead(r, &n); n.sent {
			return n
		}
	}
	p.keyFromHead(r, &n)
	return n
}

// anySent says whether a token or a client's key was sent in the head.
func (p *plan) anySent(r Request) bool {
	return p.tokens && anyOf(r, tokenHeaders[:]) || anyOf(r, p.headers)
}

func anyOf(r Request, headers []string) bool {
	for _, header := range headers {
		if sent(r, header) {
			return true
		}
	}
	return false
}

func sent(r Request, header string) bool {
	_, lines := peek(r, header)
	return lines > 0
}

// tokenFromHead fills in n, which is zero, where a token was sent.
func tokenFromHead(r Request, n *named) {
	for _, header := range tokenHeaders {
		line, lines := peek(r, header)
		if lines == 0 {
			continue
		}
		if lines > 1 {
			*n = malformed("token", "the header %s was sent %d times; send it once", header, lines)
			return
		}
		token, err := readToken(trimmed(line))
		switch {
		case err != nil:
			*n = malformed("token", "the header %s: %w", header, err)
			return
		case n.sent && n.token != token:
			*n = malformed("token", "the headers %s and %s hold different tokens; send one", tokenHeader, tokenHeaderOld)
			return
		}
		n.sent, n.token, n.from = true, token, "token"
	}
}

// keyFromHead fills in n, which is zero, where a client's key was sent. The key
// may be a piece of the framework's buffers.
func (p *plan) keyFromHead(r Request, n *named) {
	first := ""
	for _, header := range p.headers {
		line, lines := peek(r, header)
		if lines == 0 {
			continue
		}
		if lines > 1 {
			*n = malformed("header", "the header %s was sent %d times; send it once", header, lines)
			return
		}
		key, err := idem.ParseKey(trimmed(line), p.flow.StrictKeys)
		switch {
		case err != nil:
			*n = malformed("header", "the header %s: %w", header, err)
			return
		case n.sent && n.key != key:
			*n = malformed("header", "the headers %s and %s hold different keys; send one", first, header)
			return
		}
		n.sent, n.key, n.from, first = true, key, "header", header
	}
}

// trimmed is a field line without the white space around it, which is no part of its
// value (RFC 9110 section 5.5). Some servers leave it to us.
func trimmed(line string) string {
	if n := len(line); n == 0 || line[0] > ' ' && line[n-1] > ' ' {
		return line
	}
	return strings.Trim(line, " \t")
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
	switch {
	case p.places != "" && p.tokens:
		return "Looked for " + p.places + ", and for a token in an item's member " + tokenMember + "."
	case p.places != "":
		return "Looked for " + p.places + "."
	case p.tokens:
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
// by anybody who saw it on the wire. The field has one valid value, 1; another one,
// or several, count as that (RFC 8470 section 5.1).
func isEarly(r Request) bool {
	if broken.Is(broken.T5EarlyDataRuns) {
		return false
	}
	return sent(r, "Early-Data")
}

func canonical(name string) string { return textproto.CanonicalMIMEHeaderKey(name) }
