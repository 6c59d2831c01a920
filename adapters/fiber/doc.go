// Package fiberidem makes Fiber (v2) routes safe to submit twice.
//
//	flow, err := httpflow.New(httpflow.Config{Guard: guard, Scope: userOf})
//	app := fiber.New(fiber.Config{StreamRequestBody: true})
//	app.Use(recover.New()) // outside of the guard
//	app.Post("/orders", fiberidem.Guard(flow, "shop:order:create"), createOrder)
//	app.All("/idempotency/*", fiberidem.Endpoints(flow))
//
// A page that is rendered with a form puts a token into it:
//
//	token, err := flow.Issue(fiberidem.Request(c), "shop:order:create", "")
//	data.Token = httpflow.Input(token) // a hidden field
//
// What middleware left for the scope function it finds in the request itself:
//
//	Scope: func(r httpflow.Request) (string, error) {
//		user, _ := r.Native().(*fiber.Ctx).Locals("user").(string)
//		return user, nil
//	}
//
// An error that the handler returns is handed to the application's ErrorHandler
// inside the guard, so that the run ends by the status that is really answered.
//
// # What Fiber does its own way
//
// Without StreamRequestBody, Fiber has read the whole body before any handler is
// called, so a forged token cannot keep it from being read. With it, a request
// that is refused unread closes its connection: fasthttp would take what is left
// of the body for the next request. A multipart body of a told length fasthttp reads
// and takes apart before any handler either way, unless the application sets
// DisablePreParseMultipartForm.
//
// The handler's UserContext carries no cancellation of the connection, as in
// Fiber anyway. Answers leave once the chain of handlers has returned: one that
// is streamed (SetBodyStream, SetBodyStreamWriter, SendFile) or hijacked is
// settled before its stream runs, and its repeat is told "used". Informational
// (1xx) answers and http.ResponseController do not exist.
//
// A guard of a group (app.Group("/carts", fiberidem.Guard(…))) runs before Fiber
// knows the route: it finds the path values of the group's own prefix only. Where
// the policy reads one of the route's, put the guard on the route.
//
// Strings that Fiber hands out point into buffers that the next request
// overwrites; the engine and this package keep none. Everything is decided in
// core/httpflow.
package fiberidem
