package httpflow

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
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
	head     []headLine // the header when the head was written
	declared int64      // its Content-Length, -1 if there is none
	body     *[]byte
	written  int64
	large    bool        // it was let go because it got too much
	space    [6]headLine // for the heads of most answers
}

type headLine struct {
	name   string
	values []string
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

func (c *capture) begin(under http.ResponseWriter, limit int64) {
	c.under, c.header, c.limit, c.verdict, c.declared = under, under.Header(), limit, idem.Executed, -1
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
	case c.state == over: // the answer has left
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
	c.status, c.head = status, c.space[:0]
	for name, values := range c.header {
		c.head = append(c.head, headLine{name, values})
	}
	if length := c.header["Content-Length"]; len(length) > 0 {
		if n, err := strconv.ParseInt(length[0], 10, 64); err == nil && n >= 0 {
			c.declared = n
		}
	}
	c.large = c.declared > c.limit
	if c.large || len(c.header["Trailer"]) > 0 || status == http.StatusSwitchingProtocols {
		c.release()
	}
}

// taken returns a field as it was when the head was written.
func (c *capture) taken(name string) (values []string, ok bool) {
	for _, line := range c.head {
		if line.name == name {
			return line.values, true
		}
	}
	return nil, false
}

// Write holds p back, or lets everything go where it gets too much.
func (c *capture) Write(p []byte) (int, error) {
	if through, err := c.admit(len(p)); err != nil {
		return 0, err
	} else if through {
		return c.under.Write(p)
	}
	*c.body = append(*c.body, p...)
	return len(p), nil
}

// WriteString is Write without a copy.
func (c *capture) WriteString(s string) (int, error) {
	if through, err := c.admit(len(s)); err != nil {
		return 0, err
	} else if through {
		return io.WriteString(c.under, s)
	}
	*c.body = append(*c.body, s...)
	return len(s), nil
}

// admit says whether n more bytes go straight through, or are held back, or are
// no part of this answer: those are refused as the server would refuse them.
func (c *capture) admit(n int) (through bool, err error) {
	if c.state == holding && c.status == 0 {
		c.take(http.StatusOK)
	}
	after := c.written + int64(n)
	switch {
	case c.state == over:
		return false, errReturned
	case c.state != holding:
		return true, nil
	case !bodyAllowed(c.status):
		return false, http.ErrBodyNotAllowed
	case c.declared >= 0 && after > c.declared:
		return false, http.ErrContentLength
	case after > c.limit:
		c.large = true
		c.release()
		return true, nil
	}
	c.written = after
	c.buffer()
	return false, nil
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
			c.large = true
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
// finds first, so that no flush goes round us. Under a writer that cannot flush, as
// that of http.TimeoutHandler, nothing leaves and all of it is kept.
func (c *capture) FlushError() error {
	if c.state == holding && flushes(c.under) {
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

// hijack hands the connection over. A head that the handler has written leaves
// before that, as it does without us.
func (c *capture) hijack() (net.Conn, *bufio.ReadWriter, error) {
	if c.state == holding && c.status != 0 && hijacks(c.under) {
		c.release()
	}
	conn, rw, err := http.NewResponseController(c.under).Hijack()
	if err == nil && c.state != over {
		c.state = hijacked
	}
	return conn, rw, err
}

// Unwrap leads a ResponseController on to the server's writer, past hijacking.
func (c *capture) Unwrap() http.ResponseWriter { return controlled{c} }
