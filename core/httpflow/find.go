package httpflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strconv"
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

// kindOf reads a media type; boundary is that of a multipart form.
func kindOf(contentType string) (kind bodyKind, boundary string) {
	media, params, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil:
	case media == "application/json", strings.HasSuffix(media, "+json"):
		return bodyJSON, ""
	case media == "application/x-www-form-urlencoded":
		return bodyForm, ""
	case media == "multipart/form-data" && params["boundary"] != "":
		return bodyMultipart, params["boundary"]
	}
	return bodyOpaque, ""
}

func contentType(r Request) string {
	if lines := r.Header("Content-Type"); len(lines) > 0 {
		return lines[0]
	}
	return ""
}

// tokenFromBody looks for a token in a body that was read.
func tokenFromBody(contentType string, b *Body) (n named, err error) {
	kind, boundary := kindOf(contentType)
	var values []string
	place := "the form field " + tokenField
	switch kind {
	case bodyJSON:
		place = "the JSON member " + tokenMember
		values, err = jsonToken(b)
	case bodyForm:
		values, err = formValues(b, tokenField)
	case bodyMultipart:
		values, err = multipartValues(b, boundary, tokenField, len(values)+64)
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

func jsonToken(b *Body) ([]string, error) {
	doc, err := b.Bytes()
	// Most bodies hold no token; then a search for its name is all they cost.
	if err != nil || !bytes.Contains(doc, []byte(tokenMember)) || !json.Valid(doc) {
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
// off behind limit bytes. A form that breaks off holds what was found before.
func multipartValues(b *Body, boundary, field string, limit int) (values []string, err error) {
	form := multipart.NewReader(b.Reader(), boundary)
	for {
		part, err := form.NextRawPart()
		if err != nil {
			return values, nil
		}
		if part.FormName() != field || part.FileName() != "" {
			continue
		}
		value, err := io.ReadAll(io.LimitReader(part, int64(limit)))
		if err != nil {
			return values, nil
		}
		values = append(values, string(value))
	}
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
			return strings.Clone(lines[0])
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
		values, _ = multipartValues(b, boundary, s.name, maxContext+1)
	}
	if len(values) == 1 {
		return values[0]
	}
	return ""
}

// jsonAt returns the string or number that a JSON pointer (RFC 6901) names in a
// valid document, "" if there is none, or more than one.
func jsonAt(doc []byte, pointer string) string {
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		step = unescape.Replace(step)
		found, times := []byte(nil), 0
		c := cursor{doc: doc}
		if c.members(func(name string, value []byte) {
			if name == step {
				found, times = value, times+1
			}
		}); times != 1 {
			return ""
		}
		doc = found
	}
	text, _ := jsonText(doc)
	return text
}

// jsonText returns a string's value and a number's digits.
func jsonText(value []byte) (string, bool) {
	if len(value) == 0 {
		return "", false
	}
	switch c := value[0]; {
	case c == '"':
		if bytes.IndexByte(value, '\\') < 0 {
			return string(value[1 : len(value)-1]), true
		}
		var text string
		err := json.Unmarshal(value, &text)
		return text, err == nil
	case c == '-' || c >= '0' && c <= '9':
		return string(value), true
	}
	return "", false
}

// cursor walks through a document that json.Valid has accepted, so that nothing
// in it can surprise.
type cursor struct {
	doc []byte
	at  int
}

// members calls each with the members of the object, or the elements of the
// array, that doc is; of anything else there are none.
func (c *cursor) members(each func(name string, value []byte)) {
	c.space()
	open := c.doc[c.at]
	if open != '{' && open != '[' {
		return
	}
	c.at++
	for i := 0; ; i++ {
		c.space()
		if b := c.doc[c.at]; b == '}' || b == ']' {
			return
		}
		name := strconv.Itoa(i)
		if open == '{' {
			name, _ = jsonText(c.value())
			c.space()
			c.at++ // the colon
			c.space()
		}
		each(name, c.value())
		c.space()
		if c.doc[c.at] == ',' {
			c.at++
		}
	}
}

func (c *cursor) space() {
	for c.at < len(c.doc) && strings.IndexByte(" \t\r\n", c.doc[c.at]) >= 0 {
		c.at++
	}
}

// value returns the value that begins here and steps behind it.
func (c *cursor) value() []byte {
	begin, depth := c.at, 0
	for c.at < len(c.doc) {
		switch c.doc[c.at] {
		case '"':
			for c.at++; c.doc[c.at] != '"'; c.at++ {
				if c.doc[c.at] == '\\' {
					c.at++
				}
			}
			if c.at++; depth == 0 {
				return c.doc[begin:c.at]
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 { // the end of what the value stands in
				return c.doc[begin:c.at]
			}
			if depth == 0 {
				c.at++
				return c.doc[begin:c.at]
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return c.doc[begin:c.at]
			}
		}
		c.at++
	}
	return c.doc[begin:c.at]
}

// fingerprint hashes what the request asks for.
func (p *plan) fingerprint(r Request, b *Body) (idem.Fingerprint, error) {
	content := idem.Content{Method: r.Method(), Path: r.Path(), Query: r.RawQuery(), ContentType: contentType(r)}
	if kind, boundary := kindOf(content.ContentType); kind == bodyMultipart && b.size > 0 {
		content.Body = multipartListing(b, boundary)
	}
	if content.Body == nil {
		whole, err := b.Bytes()
		if err != nil {
			return idem.Fingerprint{}, err
		}
		content.Body = whole
	}
	return p.flow.Guard.Fingerprint(p.policy, content), nil
}

var _ = fmt.Sprint
