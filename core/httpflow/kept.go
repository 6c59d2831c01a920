package httpflow

import (
	"fmt"
	"net/http"
	"slices"

	idem "github.com/go-idem/idem/core"
)

// KeptAnswer is an answer as a record keeps it, for whoever settles a record in
// the place of a handler: a resolver, an operator. Repeats get it byte for byte.
// Of the header, which may be nil, what is not kept of a handler's answer either
// is left out; a body that the status cannot have is dropped. The error is a
// status that is none of 200 to 999.
func KeptAnswer(status int, header http.Header, body []byte) (idem.Payload, error) {
	if status < 200 || status > 999 {
		return idem.Payload{}, fmt.Errorf("httpflow: an answer with status %d cannot be kept: it is 200 to 999", status)
	}
	r := &Reply{Status: status, Body: body}
	if !bodyAllowed(status) {
		r.Body = nil
	}
	names := make([]string, 0, len(header))
	for name := range header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range header[name] {
			if isKept(name) {
				r.Fields = append(r.Fields, Field{name, value})
			}
		}
	}
	return codec{}.Encode(r)
}
