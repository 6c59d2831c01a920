package httpflow

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	idem "github.com/go-idem/idem/core"
)

// capture is the ResponseWriter of a guarded run. It holds the answer back
// until its outcome is written, and lets it go at once where it cannot be held:
// when the handler flushes, hijacks, declares trailers or passes the limit.
//
// What the handler sees is what it would see of the server's own writer: the
// header map is the server's, its state is taken when the head is written, and
// a Flusher, Hijacker or ResponseController works as far as the server's does.
type capture struct {
	under  http.ResponseWriter
	header http.Header
	limit  int64

	state    captureState
	verdict  idem.Verdict // told in the head
	status   int
	head     http.Header // the header when the head was written
	declared int64       // its Content-Length, -1 if there is none
	body     *[]byte
	written  int64
}

type captureState uint8

const (
	holding  captureState = iota // nothing has left
	letGo                        // the head has left; everything goes through
	hijacked                     // the connection is the handler's
	over                         // the handler has returned
)

var errReturned = errors.New("httpflow: the answer is written to after its handler returned")

// buffers hold answers back. Big ones are not kept for long.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 2048); return &b }}

const biggestKept = 64 << 10

func newCapture(under http.ResponseWriter, limit int64) *capture {
	return &capture{under: under, header: under.Header(), limit: limit, verdict: idem.Executed, declared: -1}
}

// writer returns c with the abilities that the server's writer has.
func (c *capture) writer() http.ResponseWriter {
	_, flusher := c.under.(http.Flusher)
	_, hijacker := c.under.(http.Hijacker)
	switch {
	case flusher && hijacker:
		return flushHijackWriter{c}
	case flusher:
		return flushWriter{c}
	case hijacker:
		return hijackWriter{c}
	}
	return c
}

// Header returns the server's header map.
func (c *capture) Header() http.Header { return c.header }

// WriteHeader takes the head. An informational one goes straight through: it is
// neither kept nor replayed.
func (c *capture) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("httpflow: status %d is none", status)) // as the server does, but before anything is settled
	}
	switch {
	case c.state == over: // nobody is there to be told
	case c.state != holding:
		c.under.WriteHeader(status) // and the server says what it thinks of that
	case status < 200 && status != http.StatusSwitchingProtocols:
		c.under.WriteHeader(status)
	case c.status == 0:
		c.take(status)
	}
}

// take fixes status and header as they are now.
func (c *capture) take(status int) {
	c.status, c.head = status, maps.Clone(c.header)
	if n, err := strconv.ParseInt(c.header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		c.declared = n
	}
	if c.declared > c.limit || len(c.header["Trailer"]) > 0 || status == http.StatusSwitchingProtocols {
		c.release()
	}
}

// Write holds p back, or lets everything go where it gets too much.
func (c *capture) Write(p []byte) (int, error) {
	if c.state == holding && c.status == 0 {
		c.take(http.StatusOK)
	}
	switch {
	case c.state == over:
		return 0, errReturned
	case c.state != holding:
		return c.under.Write(p)
	case !bodyAllowed(c.status):
		return 0, http.ErrBodyNotAllowed
	case c.declared >= 0 && c.written+int64(len(p)) > c.declared:
		return 0, http.ErrContentLength
	case c.written+int64(len(p)) > c.limit:
		c.release()
		return c.under.Write(p)
	}
	b := c.buffer()
	*b = append(*b, p...)
	c.written += int64(len(p))
	return len(p), nil
}

// WriteString is Write without a copy.
func (c *capture) WriteString(s string) (int, error) {
	if c.state == letGo {
		return io.WriteString(c.under, s)
	}
	return c.Write([]byte(s))
}

// ReadFrom holds src back as far as the limit goes; what follows goes the
// server's own way, which may be sendfile.
func (c *capture) ReadFrom(src io.Reader) (n int64, err error) {
	if c.state == holding && c.status == 0 {
		c.take(http.StatusOK)
	}
	for c.state == holding {
		if !bodyAllowed(c.status) {
			return n, http.ErrBodyNotAllowed
		}
		b := c.buffer()
		*b = slices.Grow(*b, 512)
		got, err := src.Read((*b)[len(*b):cap(*b)])
		if c.declared >= 0 && c.written+int64(got) > c.declared {
			return n, http.ErrContentLength
		}
		*b = (*b)[:len(*b)+got]
		c.written += int64(got)
		n += int64(got)
		if c.written > c.limit {
			c.release()
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
	if c.state == over {
		return n, errReturned
	}
	rest, err := io.Copy(c.under, src)
	return n + rest, err
}

func (c *capture) buffer() *[]byte {
	if c.body == nil {
		c.body = buffers.Get().(*[]byte)
	}
	return c.body
}

// FlushError lets everything go and flushes. It is what a ResponseController
// finds first, so that no flush goes round us.
func (c *capture) FlushError() error {
	if c.state == holding {
		if c.status == 0 {
			c.take(http.StatusOK)
		}
		c.release()
	}
	if c.state == over {
		return errReturned
	}
	return http.NewResponseController(c.under).Flush()
}

func (c *capture) hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(c.under).Hijack()
	if err == nil && c.state != over {
		c.state = hijacked
	}
	return conn, rw, err
}

// Unwrap leads a ResponseController on to the server's writer, past hijacking.
func (c *capture) Unwrap() http.ResponseWriter { return controlled{c} }

// release lets the head and what is held back leave.
func (c *capture) release() {
	if c.state != holding {
		return
	}
	c.state = letGo
	c.restore()
	c.header[StatusHeader] = verdictLine[c.verdict]
	c.under.WriteHeader(c.status)
	if c.body != nil {
		if len(*c.body) > 0 {
			_, _ = c.under.Write(*c.body) // to a client that may have gone
		}
		c.letBufferGo()
	}
}

func (c *capture) letBufferGo() {
	if cap(*c.body) <= biggestKept {
		*c.body = (*c.body)[:0]
		buffers.Put(c.body)
	}
	c.body = nil
}

// restore undoes what the handler did to the header after it had written the
// head, except for trailers, which come then.
func (c *capture) restore() {
	for name, values := range c.header {
		if _, ok := c.head[name]; !ok && !strings.HasPrefix(name, http.TrailerPrefix) {
			delete(c.header, name)
		} else if ok && !same(values, c.head[name]) {
			c.header[name] = c.head[name]
		}
	}
	if len(c.header) < len(c.head) {
		for name, values := range c.head {
			c.header[name] = values
		}
	}
}

// same says that two values are one slice, as two looks at an untouched header.
func same(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// reply is the answer once the handler has returned. Its body points into what
// is held back.
func (c *capture) reply() *Reply {
	if c.state == hijacked {
		return &Reply{Status: http.StatusSwitchingProtocols, Partial: true}
	}
	if c.state == holding && c.status == 0 {
		c.take(http.StatusOK)
	}
	r := &Reply{Status: c.status, Partial: c.state != holding}
	if c.body != nil {
		r.Body = *c.body
	}
	return r
}

// fields tells the header that the answer has, with the content type that the
// server will guess where the handler named none: another server, which sends
// the answer again, may guess otherwise.
func (c *capture) fields(yield func(name, value string)) {
	for name, values := range c.head {
		for _, value := range values {
			yield(name, value)
		}
	}
	for name := range c.header {
		if strings.HasPrefix(name, http.TrailerPrefix) { // set without being declared
			yield(name, "")
		}
	}
	if _, ok := c.head["Content-Type"]; !ok && c.body != nil && len(*c.body) > 0 && len(c.head["Content-Encoding"]) == 0 {
		yield("Content-Type", http.DetectContentType(*c.body))
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
