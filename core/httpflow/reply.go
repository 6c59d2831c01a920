package httpflow

import (
	"net/http"
	"slices"
	"strings"

	idem "github.com/go-idem/idem/core"
)

// The header fields that every adapter sets.
const (
	StatusHeader   = "Idempotency-Status"
	ReplayedHeader = "Idempotent-Replayed"
)

// Field is one header field line.
type Field struct{ Name, Value string }

// Reply is an answer: status, field lines in order, body. Its strings and its
// body may point into the framework's buffers; it is encoded before they are
// used again.
type Reply struct {
	Status int
	Fields []Field
	Body   []byte
	// Partial says that the answer itself cannot be kept: it was streamed,
	// hijacked or too large. Of its fields only Location is kept then.
	Partial bool
	// Read says of an answer to be sent that the request's body was read to its
	// end. Where it was not, a server that cannot skip a body has to close.
	Read bool
}

// isKept is the deny-list: hop-by-hop fields, what the server computes anew,
// and what was meant for one client or one moment.
func isKept(name string) bool {
	switch name = canonical(name); name {
	case "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
		"Content-Length", "Date", "Age", "Set-Cookie", "Www-Authenticate", "Server-Timing",
		"Traceparent", "X-Request-Id", StatusHeader, ReplayedHeader:
		return false
	}
	for _, prefix := range [...]string{"Proxy-", "Ratelimit-", "Access-Control-", http.TrailerPrefix} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return true
}

// field returns the first value of a field.
func (r *Reply) field(name string) (string, bool) {
	for _, f := range r.Fields {
		if strings.EqualFold(f.Name, name) {
			return f.Value, true
		}
	}
	return "", false
}

// Each calls set with the first field line of every name, to replace what stands
// in the header already, and add with the further ones. A reply without a
// content type sets an empty one: none was kept, none is to be guessed.
func (r *Reply) Each(set, add func(name, value string)) {
	if _, ok := r.field("Content-Type"); !ok {
		set("Content-Type", "")
	}
	for i, f := range r.Fields {
		again := slices.ContainsFunc(r.Fields[:i], func(before Field) bool { return before.Name == f.Name })
		if again {
			add(f.Name, f.Value)
		} else {
			set(f.Name, f.Value)
		}
	}
}

// keep gathers what is kept of the answer's header (design: HTTP section 3).
// before are the fields that stood there before the handler was entered: where
// they still do, whoever set them outside sets them for a repeat again, with
// that request's values. The content type stays, as it says what the body is.
func (r *Reply) keep(x Exchange, before []Field, limit int64) {
	var named []string // by Connection: hop-by-hop (RFC 9110 section 7.6.1)
	x.Fields(func(name, value string) {
		f := Field{name, value}
		switch {
		case isKept(name):
			if name == "Content-Type" || !slices.Contains(before, f) {
				r.Fields = append(r.Fields, f)
			}
		case strings.EqualFold(name, "Connection"):
			for option := range strings.SplitSeq(value, ",") {
				named = append(named, strings.Trim(option, " \t"))
			}
		case strings.EqualFold(name, "Trailer"), strings.HasPrefix(name, http.TrailerPrefix):
			r.Partial = true // what comes after the body cannot be sent again
		}
	})
	r.Partial = r.Partial || int64(len(r.Body)) > limit
	if r.Partial {
		r.Body = nil
	}
	if r.Partial || len(named) > 0 {
		r.Fields = slices.DeleteFunc(r.Fields, func(f Field) bool {
			hop := slices.ContainsFunc(named, func(n string) bool { return strings.EqualFold(n, f.Name) })
			return hop || r.Partial && !strings.EqualFold(f.Name, "Location")
		})
	}
}

// replayed is the kept reply as it is sent again.
func (r *Reply) replayed() *Reply {
	r.Fields = append(r.Fields, Field{StatusHeader, idem.Replayed.String()}, Field{ReplayedHeader, "true"})
	return r
}

// bodyAllowed says whether answers of a status can have a body (RFC 9110
// sections 15.2, 15.3.5 and 15.4.5).
func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// acceptedBy says whether the repeat accepts the coding of a kept body (RFC
// 9110 section 12.5.3). A handler that encodes by itself chose it for the first
// client.
func (r *Reply) acceptedBy(request Request) bool {
	coding, encoded := r.field("Content-Encoding")
	if !encoded || len(r.Body) == 0 || strings.EqualFold(coding, "identity") {
		return true
	}
	lines := request.Header("Accept-Encoding")
	if len(lines) == 0 {
		return true // no preference was said
	}
	accept := strings.Join(lines, ",")
	for one := range strings.SplitSeq(coding, ",") {
		if quality(accept, strings.Trim(one, " \t"), "*") == 0 {
			return false
		}
	}
	return true
}
