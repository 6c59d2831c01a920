// Package stdhttp makes net/http handlers safe to submit twice.
//
//	flow, err := httpflow.New(httpflow.Config{Guard: guard, Scope: userOf})
//	mux := http.NewServeMux()
//	mux.Handle("POST /orders", stdhttp.Guard(flow, "shop:order:create", createOrder))
//	mux.Handle("/idempotency/", stdhttp.Endpoints(flow))
//
// A page that is rendered with a form puts a token into it:
//
//	token, err := flow.Issue(stdhttp.Request(r), "shop:order:create", "")
//	data.Token = httpflow.Input(token) // a hidden field
//
// Every router whose handlers are http.Handlers can use it. The policy's context
// "path:NAME" is read by http.Request.PathValue.
//
// Everything is decided in core/httpflow. What the handler sees is the server's
// own ResponseWriter as far as it can be told: Flusher, Hijacker, ReaderFrom and
// http.ResponseController work through the guard, and 1xx answers pass it. Its
// request carries a context without the connection's cancellation: the handler
// runs to its end although the client may have left.
//
// Middleware that answers in the handler's place, such as http.TimeoutHandler,
// belongs outside the guard: inside, it answers for a handler that still runs.
package stdhttp
