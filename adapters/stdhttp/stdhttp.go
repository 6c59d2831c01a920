package stdhttp

import (
	"net/http"

	"github.com/go-idem/idem/core/httpflow"
)

// Guard makes h safe to submit twice, as the policy of the operation says. It
// panics where flow's guard has no policy for the operation, or h is nil.
func Guard(flow *httpflow.Flow, operation string, h http.Handler) http.Handler {
	if h == nil {
		panic("stdhttp: the handler of " + operation + " is nil")
	}
	route, guarded := flow.Route(operation), httpflow.NetHandler(handler{h})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if route.Passes(Request(r)) {
			h.ServeHTTP(w, r)
			return
		}
		_ = route.Serve(&httpflow.NetExchange{NetRequest: httpflow.NetRequest{Request: r}, Writer: w, Handler: guarded})
	})
}

// Items serves a route whose requests hold many items: see [httpflow.Items].
func Items(r *httpflow.ItemsRoute, h httpflow.ItemHandler) http.Handler { return send(r.By(h)) }

// Endpoints serves the token, status and discard endpoints, told apart by the
// end of the path: mount it at "/idempotency/".
func Endpoints(flow *httpflow.Flow) http.Handler { return send(flow.Endpoint) }

func send(by func(httpflow.Request) *httpflow.Reply) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := httpflow.NetExchange{NetRequest: httpflow.NetRequest{Request: r}, Writer: w}
		x.Send(by(x))
	})
}

// Request is r as flow.Issue takes it, for a page that is rendered with a token.
func Request(r *http.Request) httpflow.Request { return httpflow.NetRequest{Request: r} }

// handler runs an http.Handler, which has no errors to return.
type handler struct{ http.Handler }

func (h handler) ServeNet(w http.ResponseWriter, r *http.Request, _ bool) error {
	h.ServeHTTP(w, r)
	return nil
}
