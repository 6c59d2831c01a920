package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/go-idem/idem/core/httpflow"
)

// Adapter is a web framework under test: a way to serve routes through it, the
// guard of idem in front of those that name an operation.
type Adapter struct {
	// Name is a short word for test names and reports, such as "echo".
	Name string

	// Cannot lists the statements that the framework itself makes impossible,
	// each with its reason. They are reported as "not of this framework".
	Cannot map[string]string

	// Serve serves routes on l with a real server of the framework. It returns at
	// once; stop closes the server, waiting until ctx ends for what still runs.
	//
	// The framework's recover must stand outside the guard and answer a panic by
	// [Recovered]. A route's Timeout, where it has one, is the framework's timeout
	// middleware, outside the guard too.
	Serve func(l net.Listener, flow *httpflow.Flow, routes []Route) (stop func(ctx context.Context) error, err error)
}

// Route is one route in neutral terms.
type Route struct {
	Method    string               // "" answers every method
	Prefix    string               // such as "/do/": with a final slash, everything below it; else this path alone
	Operation string               // guarded as this operation; "" is not guarded
	Timeout   time.Duration        // of the framework's timeout middleware around the guard; 0 is none
	Compress  bool                 // the framework's compressor (gzip) stands around the guard
	Handler   func(Exchange) error // a returned error is answered the framework's way
	Items     *httpflow.ItemsRoute // guarded item by item, with Each behind it; Handler does the same unguarded
	Each      httpflow.ItemHandler
	Endpoints bool // serve idem's own endpoints here; Handler is nil
}

// Rest is the name under which a route with a final slash gives the rest of
// its path: the adapter's PathValue("*") must return it, as in Echo and Fiber.
const Rest = "*"

// Exchange is a request and its answer as a handler of the framework sees
// them. It is what [Script] needs and nothing more; an implementation is some
// forty lines (internal/testserver has three).
type Exchange interface {
	// Context is the context that the framework hands to handlers.
	Context() context.Context
	Method() string
	// Path is the request's path, without the query.
	Path() string
	// Header returns every line of a request header, in order; nil if there is none.
	Header(name string) []string
	// Body reads the request's body to its end.
	Body() ([]byte, error)
	// Form reads the request by the framework's own form parser: its fields, and
	// of each file its content.
	Form() (fields url.Values, files map[string][]byte, err error)

	// SetHeader and AddHeader change the answer's head, before it is sent.
	SetHeader(name, value string)
	AddHeader(name, value string)
	// Answer sends the whole answer.
	Answer(status int, body []byte) error
	// Stream sends the head, then what produce hands to chunk, flushing each.
	Stream(status int, produce func(chunk func([]byte) error) error) error
	// AnswerBy sends the whole answer another way than usual: "copy" by io.Copy
	// into the writer, "controller" with a flush through http.ResponseController,
	// "hijack" by hand on a connection that was taken over.
	AnswerBy(how string, status int, body []byte) error
	// Trailer announces a trailer that follows the body. Before Answer.
	Trailer(name, value string) error
	// EarlyHints sends a 103 with a Link header ahead of the answer.
	EarlyHints(link string) error
	// Fail ends the handler with an error, the framework's way: what it returns
	// is returned by the handler. Status 0 is an error without a status.
	Fail(status int, text string) error
}

// ErrCannot is what an Exchange returns for what its framework cannot do.
var ErrCannot = errors.New("adaptertest: this framework cannot do that")

// Panic is the value with which a scripted handler panics. It is a pointer, so
// that a recover outside the guard can tell this very value from a copy of it.
type Panic struct{ Text string }

// Recovered is the answer of the framework's recover to the panic value v: the
// status, and a body that shows whether v is the value the handler panicked
// with or something made of it.
func Recovered(v any) (status int, body string) {
	if p, ok := v.(*Panic); ok {
		return 500, "panic, the same value: " + p.Text
	}
	return 500, fmt.Sprintf("panic, another value: %T", v)
}
