package httpflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/broken"
)

// keySource is one key source of a policy, made ready for requests.
type keySource struct {
	idem.KeySource
	word    string // names it in spans and metrics: of a joined one, its first part
	token   bool
	header  bool // a key which the client chose, in a header
	derived bool // neither: made of what the request says anyway
	body    bool // a part of it stands in the body
	parts   []keyPart
}

// keyPart is what a part of a source is looked up by.
type keyPart struct {
	header  string
	pointer []string
	call    idem.KeyFunc
}

// maxKeyValue is the longest value, in bytes, that a key is derived from.
const maxKeyValue = 1024

func newKeySource(guard *idem.Guard, s idem.KeySource) keySource {
	ks := keySource{KeySource: s, word: s.Parts[0].Kind, body: s.InBody(), parts: make([]keyPart, len(s.Parts))}
	ks.token = ks.word == "token"
	ks.header = ks.word == "header" && len(s.Parts) == 1
	ks.derived = !ks.token && !ks.header
	for i, part := range s.Parts {
		switch part.Kind {
		case "header":
			ks.parts[i].header = canonical(part.Name)
		case "json":
			ks.parts[i].pointer = steps(part.Name)
		case "func":
			ks.parts[i].call = guard.KeyFunc(part.Name)
		}
	}
	return ks
}

// words says, for people, where the key is looked for.
func (s *keySource) words() string {
	parts := make([]string, len(s.Parts))
	for i, part := range s.Parts {
		parts[i] = placeWords(part, s.parts[i].header)
	}
	return strings.Join(parts, " together with ")
}

func placeWords(p idem.KeyPlace, header string) string {
	switch p.Kind {
	case "json":
		return "JSON member " + p.Name
	case "form":
		return "form field " + p.Name
	case "path":
		return "path value " + p.Name
	case "func":
		return "function " + p.Name + " of the request's head"
	}
	return "header " + header
}

// look takes a policy's key sources over, in its order but for this: a token is
// looked for before any header, because it wins over a key that a browser made.
func (p *plan) look(sources []idem.KeySource) {
	for _, s := range sources {
		p.sources = append(p.sources, newKeySource(p.flow.Guard, s))
	}
	token := slices.IndexFunc(p.sources, func(s keySource) bool { return s.token })
	header := slices.IndexFunc(p.sources, func(s keySource) bool { return s.header })
	if p.tokens = token >= 0; p.tokens && header >= 0 && header < token {
		s := p.sources[token]
		p.sources = slices.Insert(slices.Delete(p.sources, token, token+1), header, s)
	}
	p.inBody = len(p.sources)
	for i := range p.sources {
		s := &p.sources[i]
		if s.header {
			p.headers = append(p.headers, s.parts[0].header)
		}
		p.derives = p.derives || s.derived && !s.body
		if s.body || s.token {
			p.inBody = min(p.inBody, i)
		}
	}
}

// fromHead goes through the sources that stand in the head. The first that is
// there names the intent.
func (p *plan) fromHead(r Request, n *named) {
	for i := range p.sources {
		switch s := &p.sources[i]; {
		case s.token:
			tokenFromHead(r, n)
		case s.header && (len(p.headers) == 1 || sent(r, s.parts[0].header)):
			p.keyFromHead(r, n) // looks at the others too, which must not differ
		case s.derived && !s.body:
			*n, _ = p.derive(s, r, nil) // fails only by the body
		}
		if n.sent || n.failed != nil {
			n.at = i
			return
		}
	}
	*n = named{at: len(p.sources)}
}

// mayHoldKey says whether the body can hold a key or token by a source that
// comes before another one; its type tells.
func (p *plan) mayHoldKey(r Request, before int) bool {
	if p.inBody >= before {
		return false
	}
	kind, _ := kindOf(contentType(r))
	if kind == bodyOpaque {
		return false
	}
	return slices.ContainsFunc(p.sources[p.inBody:before], func(s keySource) bool { return s.token || s.body && s.fits(kind) })
}

// fits says whether every part of the source that stands in a body can stand in
// one of this kind.
func (s *keySource) fits(kind bodyKind) bool {
	return !slices.ContainsFunc(s.Parts, func(p idem.KeyPlace) bool {
		return p.Kind == "json" && kind != bodyJSON || p.Kind == "form" && kind != bodyForm && kind != bodyMultipart
	})
}

// fromBody goes through the sources that stand in the body and come before
// another one. err is about the body.
func (p *plan) fromBody(r Request, b *Body, before int) (n named, err error) {
	for i := range p.sources[:before] {
		switch s := &p.sources[i]; {
		case s.token:
			n, err = tokenFromBody(contentType(r), b)
		case s.body:
			n, err = p.derive(s, r, b)
		}
		if err != nil || n.sent || n.failed != nil {
			n.at = i
			return n, err
		}
	}
	return named{}, nil
}

// derive makes a key of what the request says. Where a part is missing, the
// whole source is absent; a part that cannot be read is malformed and never
// absent, or requests that have nothing in common would share a record.
func (p *plan) derive(s *keySource, r Request, b *Body) (n named, err error) {
	var room [4]idem.KeyValue
	values, missing := room[:0], false
	for i := range s.Parts {
		v := p.read(s, i, r, b)
		switch {
		case v.body != nil:
			return n, v.body
		case v.failed != nil:
			return named{from: s.word, failed: v.failed}, nil
		case v.wrong != "":
			return malformed(s.word, "%s %s", placeWords(s.Parts[i], s.parts[i].header), v.wrong), nil
		case !v.there:
			missing = true
		}
		values = append(values, v.KeyValue)
	}
	if missing {
		return n, nil
	}
	return named{sent: true, key: s.Key(values...), from: s.word}, nil
}

// found is what stands at one place of a request.
type found struct {
	idem.KeyValue
	there  bool
	wrong  string // why it is no part of a key; never holds it
	failed error  // why nobody can tell
	body   error  // why the body cannot be looked into
}

func wrong(format string, args ...any) found {
	return found{there: true, wrong: fmt.Sprintf(format, args...)}
}

// read reads one part of a source.
func (p *plan) read(s *keySource, i int, r Request, b *Body) (v found) {
	switch part := s.Parts[i]; part.Kind {
	case "header":
		v = p.readHeader(s.parts[i].header, r)
	case "path":
		v.Text = r.PathValue(part.Name)
		v.there = v.Text != "" // a route without it has none
	case "func":
		v = readFunc(s.parts[i].call, r)
	case "json":
		v = readJSON(s.parts[i].pointer, r, b)
	case "form":
		v = readForm(part.Name, r, b)
	}
	switch {
	case !v.there || v.wrong != "":
	case strings.TrimSpace(v.Text) == "" && !broken.Is(broken.S7EmptyIsAKey):
		return wrong("is empty or blank")
	case len(v.Text) > maxKeyValue:
		return wrong("is longer than %d bytes", maxKeyValue)
	}
	return v
}

func (p *plan) readHeader(name string, r Request) (v found) {
	lines := r.Header(name)
	if len(lines) == 0 {
		return v
	}
	if len(lines) > 1 {
		return wrong("was sent %d times; send it once", len(lines))
	}
	key, err := idem.ParseKey(trimmed(lines[0]), p.flow.StrictKeys)
	if err != nil {
		return wrong("cannot be read: %s", reason(err))
	}
	v.Text, v.there = key, true
	return v
}

func readFunc(f idem.KeyFunc, r Request) (v found) {
	if f == nil {
		return found{failed: errNoFunc}
	}
	key, err := f(r)
	switch {
	case errors.Is(err, idem.ErrMalformed):
		return wrong("cannot be made")
	case err != nil:
		return found{failed: err}
	}
	v.Text, v.there = key, key != ""
	return v
}

// errNoFunc cannot happen: a policy with an unknown function does not run.
var errNoFunc = errors.New("httpflow: the guard has no function of that name")

func readJSON(pointer []string, r Request, b *Body) (v found) {
	if kind, _ := kindOf(contentType(r)); kind != bodyJSON || b.Size() == 0 {
		return v
	}
	doc, err := b.Bytes()
	if err != nil {
		return found{body: err}
	}
	if !json.Valid(doc) {
		return wrong("cannot be read: the body is no JSON")
	}
	value, twice := jsonFind(doc, pointer)
	switch {
	case twice:
		return wrong("stands more than once")
	case value == nil:
		return v
	}
	text, ok := jsonText(value)
	switch {
	case !ok:
		return wrong("is neither a string nor a number")
	case strings.ContainsRune(text, utf8.RuneError): // also what escapes half of: several would read alike
		return wrong("is no Unicode text")
	}
	return found{KeyValue: idem.KeyValue{Text: text, Number: value[0] != '"'}, there: true}
}

func readForm(field string, r Request, b *Body) (v found) {
	kind, boundary := kindOf(contentType(r))
	var values []string
	whole, err := true, error(nil)
	switch {
	case b.Size() == 0:
	case kind == bodyForm:
		values, err = formValues(b, field)
	case kind == bodyMultipart:
		values, whole, err = multipartValues(b, boundary, field, maxKeyValue+1)
	}
	switch {
	case err != nil:
		return found{body: err}
	case !whole:
		return wrong("cannot be read: the form breaks off")
	case len(values) == 0:
		return v
	case len(values) > 1:
		return wrong("was sent %d times; send it once", len(values))
	}
	return found{KeyValue: idem.KeyValue{Text: values[0]}, there: true}
}
