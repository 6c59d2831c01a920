package httpflow

import (
	"maps"
	"net/http"
	"strings"
)

// release lets the head and what is held back leave.
func (c *capture) release() {
	if c.state != holding {
		return
	}
	c.state = letGo
	after := c.restore()
	c.header[StatusHeader] = verdictLine[c.verdict]
	delete(c.header, ReplayedHeader) // of another server that the handler asked
	c.under.WriteHeader(c.status)
	if c.body != nil {
		if len(*c.body) > 0 {
			_, _ = c.under.Write(*c.body) // to a client that may have gone
		}
		c.letBufferGo()
	}
	maps.Copy(c.header, after)
}

func (c *capture) letBufferGo() {
	if cap(*c.body) <= biggestKept {
		*c.body = (*c.body)[:0]
		buffers.Put(c.body)
	}
	c.body = nil
}

// restore undoes what the handler did to the header after it had written the
// head, and returns the trailers among that: their place is behind the body.
func (c *capture) restore() (trailers http.Header) {
	same := 0
	for name, values := range c.header {
		if before, ok := c.taken(name); ok && sameSlice(values, before) {
			same++
		} else if !ok && strings.HasPrefix(name, http.TrailerPrefix) {
			if trailers == nil {
				trailers = http.Header{}
			}
			trailers[name] = values
		}
	}
	if same == len(c.head) && same == len(c.header) {
		return nil
	}
	clear(c.header)
	for _, line := range c.head {
		c.header[line.name] = line.values
	}
	return trailers
}

// sameSlice says that two values are one slice, as two looks at an untouched
// header are.
func sameSlice(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// reply is the answer once the handler has returned. Its body points into what
// is held back.
func (c *capture) reply(r *Reply) {
	if c.state == hijacked {
		r.Status, r.Partial = http.StatusSwitchingProtocols, true
		return
	}
	if c.state == holding && c.status == 0 {
		c.take(http.StatusOK)
	}
	r.Status, r.TooLarge, r.BrokeOff = c.status, c.large, c.state == holding && c.broken()
	r.Partial = c.state != holding || r.BrokeOff
	if c.body != nil {
		r.Body = *c.body
	}
}

// broken says that the handler wrote less than it announced, as one does whose own
// source failed half-way. The server breaks such an answer off, so that its client
// sees that something is missing: sent again it would look whole.
func (c *capture) broken() bool {
	return c.declared > c.written && bodyAllowed(c.status)
}

// fields tells the header that the answer has, with the content type that the
// server will guess where the handler named none: another server, which sends
// the answer again, may guess otherwise.
func (c *capture) fields(to FieldReader) {
	for _, line := range c.head {
		for _, value := range line.values {
			to.Field(line.name, value)
		}
	}
	for name := range c.header {
		if strings.HasPrefix(name, http.TrailerPrefix) { // set without being declared
			to.Field(name, "")
		}
	}
	_, typed := c.taken("Content-Type")
	encoded, _ := c.taken("Content-Encoding")
	if !typed && len(encoded) == 0 && c.body != nil && len(*c.body) > 0 {
		to.Field("Content-Type", http.DetectContentType(*c.body))
	}
}

// finish lets an answer go that was held back to the end.
func (c *capture) finish() {
	c.release()
	c.state = over
}

// drop drops what is held back.
func (c *capture) drop() {
	if c.body != nil {
		c.letBufferGo()
	}
	if c.state == holding {
		c.state = over
	}
}
