// Package httpflow is the HTTP engine: it takes a request through every room of
// the house and decides everything on the way. Adapters for net/http, Echo and
// Fiber translate between it and their framework, and decide nothing.
//
// Applications build one [Flow] beside their guard and hand it to an adapter:
//
//	guard, err := idem.New(idem.Config{
//		Store:    memstore.New(memstore.Options{}),
//		Policies: []idem.Policy{{Operation: "shop:order:create", Preset: idem.Form}},
//	})
//	flow, err := httpflow.New(httpflow.Config{
//		Guard: guard,
//		Scope: func(r httpflow.Request) (string, error) { return userOf(r), nil },
//	})
//	mux.Handle("POST /orders", stdhttp.Guard(flow, "shop:order:create", createOrder))
//	mux.Handle("/idempotency/", stdhttp.Endpoints(flow))
//
// # One request
//
// Head: a token or key is looked for (keys.go), the scope is asked for, the
// token is verified. Nobody gets further, or has a byte of body read, with a key
// that is no good. Body: read once, at most the policy's MaxBody, into memory or
// a temporary file (body.go); hashed into the fingerprint (content.go). Then
// idem.Do claims, waits, runs and settles, and only when the outcome is written,
// or SettleWait is over, does the answer leave (serve.go). A repeat is sent what
// was kept (reply.go, codec.go); everybody else a problem document, or a page if
// a person is waiting (refuse.go, words.go, page.go).
//
// Every request that is judged is answered with one verdict, in the header
// Idempotency-Status. A request without a key on a route where it is optional is
// not judged, and nothing is added to its answer.
//
// # What goes wrong without it
//
// The handler runs on a context without the connection's cancellation, because a
// browser drops the first request of every double click. An answer is held back
// until its outcome is written, because a process that dies in between would
// have told a client of an order that the next process knows nothing of. An
// answer that was flushed, streamed or hijacked cannot be held back: its repeat
// is told "used", and the handler still never runs again.
//
// # While it is brought in
//
// Under idem.ModeObserve nothing is refused (rollout.go): whatever would be, from
// a key that cannot be read to a duplicate, runs beside at once with its whole
// body, is told "unprotected" and is counted. Under idem.ModeOff, and outside the
// policy's share of keys, the request is passed on as if there were no guard; the
// handler finds a claim in its context all the same, so that one handler serves
// every mode.
//
// # Where to put it
//
// recover → trace → authenticate, authorise, limit → compress → idem →
// preconditions → handler. Somebody who has lost access gets 403, not a kept
// answer; a timeout belongs outside, as one inside answers for a handler that is
// still running.
//
// Cookies are not replayed: a login whose answer was lost replays without its
// session.
//
// # Other frameworks
//
// An adapter implements [Exchange] and calls [Route.Serve]. Frameworks built on
// net/http wrap [NetExchange], which already does all of it; one that reads
// requests into buffers of its own may be a [Lender] besides, which saves the
// copies. Run adapters/adaptertest over the result.
package httpflow
