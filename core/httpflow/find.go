package httpflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"

	idem "github.com/go-idem/idem/core"
)

// bodyKind is how a body can be looked into.
type bodyKind uint8

const (
	bodyOpaque bodyKind = iota
	bodyJSON
	bodyForm
	bodyMultipart
)

// kindOf reads a content type; boundary is that of a multipart form.
func kindOf(contentType string) (kind bodyKind, boundary string) {
	if contentType == "application/json" { // most are
		return bodyJSON, ""
	}
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.TrimSpace(media)
	const suffix = "+json" // RFC 6839 section 3.1
	switch {
	case strings.EqualFold(media, "application/json"),
		len(media) > len(suffix) && strings.EqualFold(media[len(media)-len(suffix):], suffix):
		return bodyJSON, ""
	case strings.EqualFold(media, "application/x-www-form-urlencoded"):
		return bodyForm, ""
	case strings.EqualFold(media, "multipart/form-data"):
		if _, params, err := mime.ParseMediaType(contentType); err == nil && params["boundary"] != "" {
			return bodyMultipart, params["boundary"]
		}
	}
	return bodyOpaque, ""
}

func contentType(r Request) string {
	line, _ := peek(r, "Content-Type")
	return line
}

// tokenFromBody looks for a token in a body that was read.
func tokenFromBody(contentType string, b *Body) (n named, err error) {
	kind, boundary := kindOf(contentType)
	var values []string
	place := "the form field " + tokenField
	switch kind {
	case bodyJSON:
		place = "the JSON member " + tokenMember
		if values, err = jsonToken(b); errors.Is(err, errNoJSON) {
			return malformed("token", "%s: %w", place, err), nil
		}
	case bodyForm:
		values, err = formValues(b, tokenField)
	case bodyMultipart:
		values, _, err = multipartValues(b, boundary, tokenField, maxToken)
	}
	switch {
	case err != nil || len(values) == 0:
		return n, err
	case len(values) > 1:
		return malformed("token", "%s was sent %d times; send it once", place, len(values)), nil
	}
	token, err := readToken(values[0])
	if err != nil {
		return malformed("token", "%s: %w", place, err), nil
	}
	return named{sent: true, token: token, from: "token"}, nil
}

// maxToken is more bytes than any token has, so that a longer one is seen to be.
const maxToken = 64

// errNoJSON is what is wrong with a body that seems to hold a token. Its handler may
// read it for all that (encoding/json's Decoder stops behind the first value), so it
// does not count as one without a token.
var errNoJSON = fmt.Errorf("%w: the body is no JSON", idem.ErrMalformed)

func jsonToken(b *Body) ([]string, error) {
	doc, err := b.Bytes()
	// Most bodies hold no token; then a search for its name is all they cost. A name
	// that is spelt by escapes is one all the same.
	plain := bytes.Contains(doc, []byte(tokenMember))
	if err != nil || !plain && !bytes.Contains(doc, []byte(`\u00`)) {
		return nil, err
	}
	if !json.Valid(doc) {
		if plain {
			err = errNoJSON
		}
		return nil, err
	}
	var values []string
	c := cursor{doc: doc}
	c.members(func(name string, value []byte) {
		if name == tokenMember {
			text, _ := jsonText(value) // anything but a string reads as empty, which is malformed
			values = append(values, text)
		}
	})
	return values, nil
}

// formValues returns every value of a field of an urlencoded form.
func formValues(b *Body, field string) ([]string, error) {
	form, err := b.Bytes()
	if err != nil {
		return nil, err
	}
	var values []string
	for pair := range strings.SplitSeq(string(form), "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name, err := url.QueryUnescape(name); err != nil || name != field {
			continue
		}
		if value, err = url.QueryUnescape(value); err != nil {
			value = "" // reads as malformed
		}
		values = append(values, value)
	}
	return values, nil
}

// multipartValues returns every value of a field of a multipart form, each cut
// off behind limit bytes. A form that breaks off holds what was found before;
// whole is false then.
func multipartValues(b *Body, boundary, field string, limit int) (values []string, whole bool, err error) {
	form := multipart.NewReader(b.Reader(), boundary)
	for {
		part, err := form.NextRawPart()
		if err != nil {
			return values, isWhole(err), nil
		}
		if part.FormName() != field || part.FileName() != "" {
			continue
		}
		value, err := io.ReadAll(io.LimitReader(part, int64(limit)))
		if err != nil {
			return values, false, nil
		}
		values = append(values, string(value))
	}
}

// isWhole tells the end of a multipart form from one that breaks off, whose
// error holds io.EOF, too.
func isWhole(err error) bool {
	return err == io.EOF // a wrapped one is the other case
}

// maxContext is the longest context a token can be bound to, in bytes.
const maxContext = 256

// inBody says that the source stands in the body.
func (s source) inBody() bool { return s.kind == "form" || s.kind == "json" }

// find returns what the source names in the request, "" where it is absent or
// cannot be told: a token bound to a context does not fit then. b is needed for
// sources in the body only.
func (s source) find(r Request, b *Body) string {
	switch s.kind {
	case "path":
		return strings.Clone(r.PathValue(s.name))
	case "query":
		values, _ := url.ParseQuery(r.RawQuery())
		return values.Get(s.name)
	case "header":
		if lines := r.Header(s.name); len(lines) == 1 {
			return strings.Clone(trimmed(lines[0]))
		}
		return ""
	}
	if b == nil || !s.inBody() {
		return ""
	}
	var values []string
	kind, boundary := kindOf(contentType(r))
	switch {
	case s.kind == "json" && kind == bodyJSON:
		if doc, err := b.Bytes(); err == nil && json.Valid(doc) {
			return jsonAt(doc, s.name)
		}
	case s.kind == "form" && kind == bodyForm:
		values, _ = formValues(b, s.name)
	case s.kind == "form" && kind == bodyMultipart:
		values, _, _ = multipartValues(b, boundary, s.name, maxContext+1)
	}
	if len(values) == 1 {
		return values[0]
	}
	return ""
}
