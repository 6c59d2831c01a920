package httpflow

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"

	idem "github.com/go-idem/idem/core"
)

// NetRequest is a [Request] of net/http, and of frameworks built on it.
type NetRequest struct{ *http.Request }

// Method returns the request's method.
func (r NetRequest) Method() string { return r.Request.Method }

// Path returns the path of the request line, also where a mux has cut a prefix
// off: two mounts of one handler are two paths.
func (r NetRequest) Path() string {
	if line := r.RequestURI; strings.HasPrefix(line, "/") {
		path, _, _ := strings.Cut(line, "?")
		return path
	}
	return r.URL.EscapedPath()
}

// RawQuery returns the query without its question mark.
func (r NetRequest) RawQuery() string { return r.URL.RawQuery }

// Header returns all field lines of a name.
func (r NetRequest) Header(name string) []string {
	lines, ok := r.Request.Header[name]
	if ok {
		return lines
	}
	switch spelt := canonical(name); {
	case spelt == "Host" && r.Host != "": // net/http keeps it elsewhere
		return []string{r.Host}
	case spelt != name:
		return r.Request.Header[spelt]
	}
	return nil
}

// lines is Header of a name that is spelt canonically.
func (r NetRequest) lines(name string) []string {
	if name == "Host" {
		return r.Header(name)
	}
	return r.Request.Header[name]
}

// Unescaped returns a path value with its percent-encoding undone, of frameworks
// that route by the raw path where net/http keeps one.
func (r NetRequest) Unescaped(value string) string {
	if r.URL.RawPath == "" {
		return value
	}
	return Unescaped(value)
}

// RemoteAddr returns address:port of the peer.
func (r NetRequest) RemoteAddr() string { return r.Request.RemoteAddr }

// Native returns the *http.Request.
func (r NetRequest) Native() any { return r.Request }

// Body returns the unread body. A form that something outside has parsed
// already, as protections against forgery do, has no unread body left; it is
// put together again from its fields, so that no two forms count as one.
func (r NetRequest) Body() (io.Reader, int64) {
	kind, boundary := kindOf(contentType(r))
	switch {
	case kind == bodyForm && r.PostForm != nil:
		form := r.PostForm.Encode()
		return bytes.NewBufferString(form), int64(len(form))
	case kind == bodyMultipart && r.MultipartForm != nil:
		return parsedMultipart(r.MultipartForm, boundary)
	}
	return r.Request.Body, r.ContentLength
}

// parsedMultipart writes a parsed form out again.
func parsedMultipart(form *multipart.Form, boundary string) (io.Reader, int64) {
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	_ = w.SetBoundary(boundary) // it was read from a form
	for name, values := range form.Value {
		for _, value := range values {
			_ = w.WriteField(name, value) // writing to memory
		}
	}
	for _, files := range form.File {
		for _, header := range files {
			part, _ := w.CreatePart(header.Header)
			file, err := header.Open()
			if err != nil {
				return failing{err}, -1
			}
			_, err = io.Copy(part, file)
			_ = file.Close()
			if err != nil {
				return failing{err}, -1
			}
		}
	}
	_ = w.Close()
	return &out, int64(out.Len())
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// NetHandler runs a handler of a framework built on net/http. In a guarded run
// (held is true) it turns an error that the handler returned into an answer on w
// itself, and returns it too; else it only returns it.
type NetHandler interface {
	ServeNet(w http.ResponseWriter, r *http.Request, held bool) error
}

// NetExchange is an [Exchange] of net/http, and of frameworks built on it.
type NetExchange struct {
	NetRequest
	// Writer is where a refusal and a kept answer go.
	Writer http.ResponseWriter
	// Under is where the handler's own answer goes, if that is another.
	Under   http.ResponseWriter
	Handler NetHandler

	body   *Body
	held   *heldRun
	marked idem.Verdict // before Run
	values [6]string    // of the fields of most answers that are sent
}

// heldRun is what a handler of net/http gets, in one piece of memory. It is not
// used again: handlers may keep what they were given.
type heldRun struct {
	capture
	request http.Request
	body    memReader
}

// SetBody implements [Exchange].
func (x *NetExchange) SetBody(b *Body) { x.body = b }

// SetContext implements [Exchange].
func (x *NetExchange) SetContext(ctx context.Context) { x.Request = x.WithContext(ctx) }

// request is the request for the handler: its context, and its body again.
func (x *NetExchange) request(ctx context.Context) *http.Request {
	if x.body == nil && ctx == x.Context() {
		return x.Request
	}
	r := x.WithContext(ctx)
	if x.body != nil {
		r.Body = x.body.Reader()
	}
	return r
}

// inside is request for the run that is held back.
func (x *NetExchange) inside(ctx context.Context) *http.Request {
	r := &x.held.request
	*r = *x.WithContext(ctx)
	switch {
	case x.body == nil:
	case x.body.inMemory():
		x.held.body.Reset(x.body.mem)
		r.Body = &x.held.body
	default:
		r.Body = x.body.Reader()
	}
	return r
}

// Pass implements [Exchange].
func (x *NetExchange) Pass() error {
	return x.Handler.ServeNet(x.under(), x.request(x.Context()), false)
}

// Run implements [Exchange].
func (x *NetExchange) Run(ctx context.Context, keep int64, r *Reply) error {
	x.held = new(heldRun)
	x.held.begin(x.under(), keep)
	if x.marked != 0 {
		x.held.verdict = x.marked
	}
	err := x.Handler.ServeNet(x.held.writer(), x.inside(ctx), true)
	x.held.reply(r)
	return err
}

// Fields implements [Exchange].
func (x *NetExchange) Fields(to FieldReader) {
	if x.held != nil {
		x.held.fields(to)
		return
	}
	for name, values := range x.Writer.Header() {
		for _, value := range values {
			to.Field(name, value)
		}
	}
}

// Mark implements [Exchange].
func (x *NetExchange) Mark(v idem.Verdict) {
	switch {
	case x.held != nil && x.held.state == holding:
		x.held.verdict = v
	case !x.Gone():
		x.marked = v
		x.Writer.Header()[StatusHeader] = verdictLine[v]
	}
}

// Release implements [Exchange].
func (x *NetExchange) Release() { x.held.finish() }

// Drop implements [Exchange].
func (x *NetExchange) Drop() { x.held.drop() }

// Gone says that the head of the handler's answer has left, or its connection.
func (x *NetExchange) Gone() bool {
	return x.held != nil && (x.held.state == letGo || x.held.state == hijacked)
}

func (x *NetExchange) under() http.ResponseWriter {
	if x.Under != nil {
		return x.Under
	}
	return x.Writer
}

// Send implements [Exchange].
func (x *NetExchange) Send(r *Reply) {
	h, values := x.Writer.Header(), x.values[:0]
	if len(r.Fields)+2 > len(x.values) { // a content type and a length may come to them
		values = make([]string, 0, len(r.Fields)+2)
	}
	r.Each(func(name, value string) {
		if values = append(values, value); value == "" && name == "Content-Type" {
			h[name] = nil // which keeps the server from guessing
			return
		}
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}, func(name, value string) { h[name] = append(h[name], value) })
	if bodyAllowed(r.Status) {
		values = append(values, strconv.Itoa(len(r.Body)))
		h["Content-Length"] = slices.Clip(values[len(values)-1:])
	} else {
		delete(h, "Content-Length")
	}
	x.Writer.WriteHeader(r.Status)
	if len(r.Body) > 0 && bodyAllowed(r.Status) {
		_, _ = x.Writer.Write(r.Body) // to a client that may have gone
	}
}

// verdictLine holds each verdict as the value of its field, ready for a header
// map. The slices are full, so that adding to one copies it.
var verdictLine = func() (lines [idem.Unguarded + 1][]string) {
	for _, v := range idem.Verdicts() {
		lines[v] = slices.Clip([]string{v.String()})
	}
	return lines
}()
