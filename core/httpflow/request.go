package httpflow

import (
	"context"
	"io"
	"net/url"

	idem "github.com/go-idem/idem/core"
)

// Request is what the engine, and an application's own functions in [Config],
// read of a request. All of it is read-only, and all of it belongs to the
// request: in Fiber, strings point into buffers that are used again once the
// request is over, so whoever keeps one clones it.
type Request interface {
	// Context is the request's context; middleware leaves its findings there.
	Context() context.Context
	// Method is the method of the request line. Override headers are not read.
	Method() string
	// Path is the path as it stands on the request line, percent-encoding and all.
	Path() string
	// RawQuery is the query without its question mark.
	RawQuery() string
	// Header returns the values of all field lines of that name, in order, nil
	// if there are none. Names are spelt in any case; "Host" is a header here.
	Header(name string) []string
	// PathValue returns what the route's wildcard of that name matched, its
	// percent-encoding undone, "" if there is none.
	PathValue(name string) string
	// RemoteAddr is the peer of the connection: an address, or address:port.
	RemoteAddr() string
	// Body returns the unread body and its length in bytes, -1 where that is not
	// known. A reader with a method Bytes() []byte holds it in memory already.
	Body() (io.Reader, int64)
	// Native is the framework's own request: *http.Request, echo.Context or
	// *fiber.Ctx. A scope function finds there what the framework's
	// middleware left.
	Native() any
}

// Cause is [idem.Cause], for adapters.
func Cause(err error) error { return idem.Cause(err) }

// Exchange is one request together with its answer, in the hands of an adapter.
// The engine ends every request with one call of Pass, of Send, or of Run and
// then Release or Drop.
type Exchange interface {
	Request

	// SetBody gives back a body that was read, before Pass or Run.
	SetBody(b *Body)

	// SetContext gives the request another context, before Pass.
	SetContext(ctx context.Context)

	// Pass runs the handler as if there were no guard, and returns its error.
	Pass() error

	// Run runs the handler with ctx as its context and holds its answer back for
	// as long as an answer can be held: not once it is flushed, streamed or
	// hijacked, or over keep bytes where it leaves piece by piece. Then its head
	// leaves at that moment, with the verdict of a Mark before, else executed,
	// and the reply is Partial. Run fills in the reply's status and body; its
	// fields are asked for by Fields. An error that the handler returns the
	// framework's way is turned into the answer that the framework makes of it,
	// and returned too. A panic goes through.
	Run(ctx context.Context, keep int64, r *Reply) error

	// Fields tells the field lines of the answer's header: those that stand
	// there before Run, and after Run those that the answer has.
	Fields(to FieldReader)

	// Mark puts the verdict into the header of an answer that has not left. The
	// last one counts. The zero Verdict takes [ReplayedHeader] away, which another
	// server's answer that the handler passed on may have brought.
	Mark(v Verdict)

	// Release lets the answer that Run held back go.
	Release()

	// Drop drops it, because a panic or runtime.Goexit is on its way out and
	// whoever stands outside answers.
	Drop()

	// Send writes an answer that the handler did not make for this request: a
	// refusal, or one that was kept. Fields of the same names that stand in the
	// header already are replaced, the others stay.
	Send(r *Reply)
}

// Verdict is the word that an adapter puts into an answer: see [idem.Verdict].
type Verdict = idem.Verdict

// FieldReader is told field lines, one by one. The strings need to hold only
// until the answer has left.
type FieldReader interface{ Field(name, value string) }

// Unescaped undoes the percent-encoding of a path value, for adapters whose
// framework hands it out as it stands on the request line: two spellings of one
// path are one key. What cannot be read as encoded stays as it is.
func Unescaped(value string) string {
	if plain, err := url.PathUnescape(value); err == nil {
		return plain
	}
	return value
}

// UnescapedOnce is Unescaped of a framework that may have undone it already: undone
// twice, two paths could be one key.
func UnescapedOnce(value string, undone bool) string {
	if undone {
		return value
	}
	return Unescaped(value)
}
