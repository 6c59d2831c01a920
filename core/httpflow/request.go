package httpflow

import (
	"context"
	"io"

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
	// PathValue returns what the route's wildcard of that name matched, "" if
	// there is none.
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

// Exchange is one request together with its answer, in the hands of an adapter.
// The engine ends every request with exactly one call of Pass, Send or Finish;
// Finish follows a Run.
type Exchange interface {
	Request

	// Pass runs the handler as if there were no guard. v is the verdict to be
	// said in the answer, zero for none. body is what was read of the request
	// already and has to be given back, nil if nothing was. The handler's own
	// error is returned.
	Pass(body *Body, v idem.Verdict) error

	// Run runs the handler with ctx as its context and holds its answer back,
	// as long as the answer can be held: not once it is flushed, streamed,
	// hijacked or over keep bytes. Then its head leaves at that moment, with
	// the verdict executed, and the reply is Partial. An error that the handler
	// returns the framework's way has been turned into the answer the framework
	// makes of it. A panic goes through.
	Run(ctx context.Context, body *Body, keep int64) *Reply

	// Finish lets the answer that Run held back go, with its verdict. Of an
	// answer that has left already it is a no-op.
	Finish(v idem.Verdict)

	// Send writes an answer that the handler did not make for this request: a
	// refusal, or one that was kept.
	Send(r *Reply)
}
