package httpflow

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/broken"
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
	// hijacked, too large, or broke off.
	Partial bool
	// TooLarge says of a Partial answer that it had more bytes than are kept; it is
	// told to telemetry.
	TooLarge bool
	// BrokeOff says of a Partial answer that there is less of it than was announced;
	// it is told to telemetry.
	BrokeOff bool
	// Read says of an answer to be sent that the request's body was read to its
	// end. Where it was not, a server that cannot skip a body has to close.
	Read bool
}

// field returns the first value of a field.
func (r *Reply) field(name string) (string, bool) {
	for _, f := range r.Fields {
		if len(f.Name) == len(name) && strings.EqualFold(f.Name, name) {
			return f.Value, true
		}
	}
	return "", false
}

// has says whether there is a field whose name is spelt just so.
func (r *Reply) has(name string) bool {
	return slices.ContainsFunc(r.Fields, func(f Field) bool { return f.Name == name })
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

// replayed is the kept reply as it is sent again.
func (r *Reply) replayed() *Reply {
	if broken.Is(broken.I4ReplayTidied) {
		r.Body = bytes.TrimSpace(r.Body)
	}
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
		if quality(accept, strings.Trim(one, " \t"), "*") <= 0 {
			return false
		}
	}
	return true
}
