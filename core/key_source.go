package idem

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-idem/idem/internal/broken"
)

// KeySource is one entry of Policy.Key, taken apart: where in a request a key is
// found (PROTOCOL section 7). Make one with [ParseKeySource].
type KeySource struct {
	// Parts are the places whose values together are the key: one, or several
	// that were joined by '+'.
	Parts []KeyPlace
}

// KeyPlace is one place in a request.
type KeyPlace struct {
	Kind string // "token", "header", "json", "form", "path" or "func"
	Name string // of the header, the form field, the path value or the function; a JSON pointer; "" for a token
}

// KeyValue is what was found at one place.
type KeyValue struct {
	Text   string // a string's content; a number's digits as they were written
	Number bool   // it is a JSON number
}

// KeyRequest is what a [KeyFunc] reads of a request: of its head only, so that
// a key is known before the body is read. It must not be kept, nor must strings
// from it: clone what outlives the call.
type KeyRequest interface {
	Context() context.Context
	Method() string
	// Path is the path as it stands on the request line.
	Path() string
	// RawQuery is the query without its question mark.
	RawQuery() string
	// Header returns the values of all field lines of that name, in order.
	Header(name string) []string
	// PathValue returns what the route's wildcard of that name matched.
	PathValue(name string) string
	// Native is the framework's own request.
	Native() any
}

// KeyFunc makes a key of a request, for what no other source can say: a claim of
// a login token, a part of a header. "" means that the request has none; the
// next source is asked then. An error that is [ErrMalformed] refuses the request
// as malformed; any other error means that nobody can tell right now, and the
// request is refused as unavailable. The text of an error goes to the log at
// most. It is called from many goroutines at once, once for each request, and
// has to give every repeat of a request the same key.
type KeyFunc func(KeyRequest) (string, error)

// The limits of what a key source names.
const (
	maxPlaceName = 256 // bytes of a name or pointer
	maxPlaces    = 8   // joined in one source
	maxSources   = 16  // of one policy
)

var keySourceForms = "token, header:NAME, json:/POINTER, form:NAME, path:NAME, func:NAME, or several of them (but token) joined by +"

// ParseKeySource reads a key source as a policy writes it:
//
//	token · header:NAME · json:/POINTER · form:NAME · path:NAME · func:NAME
//
// or several joined by '+', such as json:/orderId+path:id. No name holds a '+'.
func ParseKeySource(text string) (KeySource, error) {
	if text == "token" {
		return KeySource{Parts: []KeyPlace{{Kind: "token"}}}, nil
	}
	if n := 1 + strings.Count(text, "+"); n > maxPlaces {
		return KeySource{}, fmt.Errorf("it joins %d parts, at most %d are allowed", n, maxPlaces)
	}
	var s KeySource
	var errs []error
	for piece := range strings.SplitSeq(text, "+") {
		place, err := parsePlace(piece)
		switch {
		case err != nil:
			errs = append(errs, err)
		case slices.Contains(s.Parts, place):
			errs = append(errs, fmt.Errorf("%q is joined twice", piece))
		}
		s.Parts = append(s.Parts, place)
	}
	if err := errors.Join(errs...); err != nil {
		return KeySource{}, err
	}
	return s, nil
}

// parsePlace reads one place.
func parsePlace(text string) (KeyPlace, error) {
	kind, name, _ := strings.Cut(text, ":")
	place := KeyPlace{Kind: kind, Name: name}
	if kind == "token" {
		return place, errors.New("a token stands alone: it has no name and is not joined")
	}
	if !slices.Contains([]string{"header", "json", "form", "path", "func"}, kind) {
		hint := ""
		if name == "" && kind != "" {
			hint = fmt.Sprintf("; for the header of that name say header:%s", text)
		}
		return place, fmt.Errorf("%q is none of %s%s", text, keySourceForms, hint)
	}
	if err := place.check(); err != nil {
		return place, fmt.Errorf("%q: %w", text, err)
	}
	if kind == "header" {
		place.Name = strings.ToLower(name) // headers are spelt in any case
	}
	return place, nil
}

// The names of places where tokens stand.
var tokenNames = []string{"idempotency-token", "x-idempotent-token", "idempotent-token", "/idempotenttoken"}

// check says what is wrong with the name of a place, nil if nothing. What no
// request can hold would never be found, and nobody would notice.
func (p KeyPlace) check() error {
	ill := func(bad func(rune) bool) bool {
		return strings.ContainsFunc(p.Name, func(r rune) bool { return r < ' ' || r == 0x7f || bad(r) })
	}
	switch {
	case p.Name == "":
		return errors.New("it names nothing")
	case len(p.Name) > maxPlaceName:
		return fmt.Errorf("the name has %d bytes, at most %d are allowed", len(p.Name), maxPlaceName)
	case !utf8.ValidString(p.Name):
		return errors.New("the name is not UTF-8")
	case slices.Contains(tokenNames, strings.ToLower(p.Name)):
		return errors.New("tokens stand there: write token")
	}
	switch p.Kind {
	case "header":
		if ill(func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("()<>@,;:\\\"/[]?={}", r) }) {
			return errors.New("the name is none of a header")
		}
	case "json":
		if p.Name[0] != '/' || badTilde(p.Name) {
			return errors.New("it is no JSON pointer: begin with '/' and write ~0 for '~' and ~1 for '/', such as /order/id")
		}
	case "path":
		if ill(func(r rune) bool { return strings.ContainsRune(" /:{}", r) }) || strings.HasSuffix(p.Name, "...") {
			return errors.New("name the route's wildcard without its braces, colon or dots, such as path:id")
		}
	default:
		if ill(func(rune) bool { return false }) {
			return errors.New("the name holds control characters")
		}
	}
	return nil
}

// InBody says that a part of the key stands in the body, which has to be read
// for it.
func (s KeySource) InBody() bool {
	return slices.ContainsFunc(s.Parts, func(p KeyPlace) bool { return p.Kind == "json" || p.Kind == "form" })
}

// Key returns the key that the values make, one for each part in their order: the
// header's own for a single header, and else one that is derived from all of
// them and from where they stood. "" where the numbers differ, and for a token.
//
// Derived keys of different values, or from different places, differ: values are
// framed, so "a" and "bc" are not "ab" and "c"; the number 7 and the string "7"
// are two, as they are for a fingerprint, and so are 1 and 1.0, which count as
// they were written. A derived key has the form :…:, which no client can send, so
// a client's key is never taken for one. With [RecordName] an operator finds the
// record of an order's number.
func (s KeySource) Key(values ...KeyValue) string {
	if len(values) != len(s.Parts) || len(values) == 0 || s.Parts[0].Kind == "token" {
		return ""
	}
	if len(values) == 1 && s.Parts[0].Kind == "header" {
		return values[0].Text
	}
	message := make([]byte, 0, 192)
	for i, part := range s.Parts {
		if broken.Is(broken.S7PartsUnframed) {
			message = append(message, values[i].Text...)
			continue
		}
		message = appendFramed(message, part.Kind)
		message = appendFramed(message, part.Name)
		form := byte('s')
		if values[i].Number {
			form = 'n'
		}
		message = appendFramed(append(message, form), values[i].Text)
	}
	sum := sha256.Sum256(message)
	var room [64]byte
	key := base32Lower.AppendEncode(append(room[:0], ':'), sum[:])
	return string(append(key, ':'))
}

// KeySources returns the policy's key sources in order. Of a running policy
// (see [Guard.Policy]) every one can be read; one that cannot is left out.
func (p *Policy) KeySources() []KeySource {
	sources := make([]KeySource, 0, len(p.Key))
	for _, text := range p.Key {
		if s, err := ParseKeySource(text); err == nil {
			sources = append(sources, s)
		}
	}
	return sources
}

// checkKeys checks the key sources, whatever the guard.
func (p *Policy) checkKeys(wrong func(string, ...any)) {
	if len(p.Key) > maxSources {
		wrong("key: %d sources, at most %d are allowed", len(p.Key), maxSources)
		return // they are compared with each other
	}
	for i, text := range p.Key {
		if _, err := ParseKeySource(text); err != nil {
			wrong("key source %q: %w", text, err)
		}
		if slices.Contains(p.Key[:i], text) {
			wrong("key source %q stands twice", text)
		}
	}
}

// unknownFuncs reports the functions that a policy names and the guard lacks.
func (g *Guard) unknownFuncs(p *Policy) error {
	var errs []error
	for _, s := range p.KeySources() {
		for _, part := range s.Parts {
			if part.Kind == "func" && g.funcs[part.Name] == nil {
				errs = append(errs, fmt.Errorf("policy %q: key source func:%s: config: Funcs has no function of that name", p.Operation, part.Name))
			}
		}
	}
	return errors.Join(errs...)
}

// KeyFunc returns the function that Config.Funcs has under a name, nil where
// there is none.
func (g *Guard) KeyFunc(name string) KeyFunc { return g.funcs[name] }
