package testserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-idem/idem/adapters/adaptertest"
	"github.com/go-idem/idem/adapters/stdhttp"
	"github.com/go-idem/idem/core/httpflow"
)

// StdHTTP is net/http under test.
func StdHTTP() adaptertest.Adapter {
	return StdHTTPBehind(func(h http.Handler) http.Handler { return h })
}

// StdHTTPBehind is net/http with something between the server and the guard:
// what an adapter does wrong can be done there, to see that the suite finds out.
func StdHTTPBehind(between func(http.Handler) http.Handler) adaptertest.Adapter {
	return adaptertest.Adapter{
		Name: "stdhttp",
		Serve: func(l net.Listener, flow *httpflow.Flow, routes []adaptertest.Route) (func(context.Context) error, error) {
			return serveHTTP(l, stdHTTPRoutes(flow, routes, between)), nil
		},
	}
}

func stdHTTPRoutes(flow *httpflow.Flow, routes []adaptertest.Route, between func(http.Handler) http.Handler) http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes {
		if r.Endpoints {
			mux.Handle(r.Prefix, stdhttp.Endpoints(flow))
			continue
		}
		h := stdHandler(r.Handler)
		if r.Items != nil {
			h = stdhttp.Items(r.Items, r.Each)
		}
		if r.Operation != "" {
			h = between(stdhttp.Guard(flow, r.Operation, h))
		}
		if r.Compress {
			h = gzipping(h)
		}
		if r.Timeout > 0 {
			h = http.TimeoutHandler(h, r.Timeout, "timeout")
		}
		pattern := strings.TrimSpace(r.Method + " " + r.Prefix)
		if strings.HasSuffix(r.Prefix, "/") {
			pattern += "{rest...}"
		}
		mux.Handle(pattern, recovering(restNamed(h)))
	}
	return mux
}

// stdHandler is a handler for net/http, which has no way to return an error: it
// does what a careful one does.
func stdHandler(h func(adaptertest.Exchange) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h(&stdExchange{w: w, r: r}); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
}

// serveHTTP serves h on l until the returned stop.
func serveHTTP(l net.Listener, h http.Handler) (stop func(context.Context) error) {
	server := &http.Server{Handler: h}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	return func(ctx context.Context) error {
		err := server.Shutdown(ctx)
		if err != nil {
			_ = server.Close() // the time is over: cut what is left
		}
		if serving := <-ended; !errors.Is(serving, http.ErrServerClosed) {
			err = errors.Join(err, serving)
		}
		ended <- http.ErrServerClosed // for a second stop
		return err
	}
}

// restNamed gives the rest of the path the name that Echo and Fiber give it.
func restNamed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.SetPathValue(adaptertest.Rest, r.PathValue("rest"))
		h.ServeHTTP(w, r)
	})
}

// recovering is the recover that net/http programs put around everything.
func recovering(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if v := recover(); v != nil {
				status, body := adaptertest.Recovered(v)
				http.Error(w, body, status)
			}
		}()
		h.ServeHTTP(w, r)
	})
}

// stdExchange is adaptertest.Exchange for net/http.
type stdExchange struct {
	w        http.ResponseWriter
	r        *http.Request
	trailers [][2]string
}

func (x *stdExchange) Context() context.Context     { return x.r.Context() }
func (x *stdExchange) Method() string               { return x.r.Method }
func (x *stdExchange) Path() string                 { return x.r.URL.Path }
func (x *stdExchange) Header(name string) []string  { return x.r.Header.Values(name) }
func (x *stdExchange) Body() ([]byte, error)        { return wholeBody(x.r) }
func (x *stdExchange) SetHeader(name, value string) { x.w.Header().Set(name, value) }
func (x *stdExchange) AddHeader(name, value string) { x.w.Header().Add(name, value) }
func (x *stdExchange) Trailer(name, value string) error {
	x.w.Header().Add("Trailer", name)
	x.trailers = append(x.trailers, [2]string{name, value})
	return nil
}

func (x *stdExchange) Form() (url.Values, map[string][]byte, error) { return wholeForm(x.r) }

func (x *stdExchange) Answer(status int, body []byte) error {
	x.w.WriteHeader(status)
	if len(body) > 0 {
		if _, err := x.w.Write(body); err != nil {
			return err
		}
	}
	for _, t := range x.trailers {
		x.w.Header().Set(t[0], t[1])
	}
	return nil
}

func (x *stdExchange) Stream(status int, produce func(chunk func([]byte) error) error) error {
	x.w.WriteHeader(status)
	control := http.NewResponseController(x.w)
	return produce(func(b []byte) error {
		if _, err := x.w.Write(b); err != nil {
			return err
		}
		return control.Flush()
	})
}

func (x *stdExchange) AnswerBy(how string, status int, body []byte) error {
	return answerBy(x.w, how, status, body)
}

func (x *stdExchange) EarlyHints(link string) error {
	x.w.Header().Set("Link", link)
	x.w.WriteHeader(http.StatusEarlyHints)
	x.w.Header().Del("Link")
	return nil
}

func (x *stdExchange) Fail(status int, text string) error {
	if status == 0 {
		status = http.StatusInternalServerError
	}
	http.Error(x.w, text, status)
	return nil
}

// wholeBody reads the body and leaves it as it was, for whoever reads it next.
func wholeBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

// wholeForm reads the form by the standard library's parsers.
func wholeForm(r *http.Request) (url.Values, map[string][]byte, error) {
	body, err := wholeBody(r)
	if err != nil {
		return nil, nil, err
	}
	defer func() { r.Body = io.NopCloser(bytes.NewReader(body)) }()
	files := map[string][]byte{}
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		err := r.ParseForm()
		return r.PostForm, files, err
	}
	if err := r.ParseMultipartForm(32 << 20); err != nil {
		return nil, nil, err
	}
	return r.PostForm, files, readFiles(r.MultipartForm, files)
}
