// Command testbed is a server whose handler does what the request says: for
// people who write a client, a store or an adapter for idem, and for trying a
// proxy in front of it.
//
//	go run ./examples/testbed -adapter echo -store miniredis -control
//
// Its first line on stdout is "listening on http://HOST:PORT". Then
//
//	curl -i -X POST -H 'Idempotency-Key: a' -H 'Do-Status: 202' http://HOST:PORT/do/something
//	curl -i -X POST -H 'Idempotency-Key: a' -H 'Do-Status: 202' http://HOST:PORT/do/something
//	curl -s http://HOST:PORT/runs
//
// runs the handler once, replays its answer, and tells that it ran once.
//
// # Paths
//
//	/do/…     test:do:run    preset API, key optional
//	/form/…   test:form:run  preset Form; a token's context is the rest of the path
//	/pay/…    test:pay:run   preset Payment
//	/key/…    test:key:run   preset API, key required
//	/batch/…  test:batch:run preset API, item by item: {"items":[{"key":"a","status":201}]}
//	GET /runs, POST /runs/reset
//	POST /idempotency/tokens, /idempotency/status, /idempotency/discard
//	GET /idempotency/policies, /idem.min.js
//	POST /control/fault, /control/expire, /control/policy  (with -control)
//
// "Authorization: Bearer NAME.anything" makes the scope NAME; without it
// everybody is anonymous, which only a testbed may do. GET /runs answers
// {"total","effects","byKey"}: effects are runs that marked them or answered 2xx.
//
// # What the handler obeys
//
// Do-Status, Do-Delay, Do-Body, Do-Body-Bytes, Do-Empty, Do-Header (repeatable),
// Do-Flush, Do-Stream, Do-Panic, Do-Error, Do-Effects, Do-Note, Do-Encoding,
// Do-Hang, Do-Read (none, body, form, multipart), Do-Trailer, Do-Early-Hints.
// They are no part of the fingerprint. One that the framework cannot obey is
// named in the answer's Testbed-Ignored.
//
// # Policies
//
// -policy FILE reads a JSON array of policies, which replace those above by
// operation; POST /control/policy takes one of them and changes it while the
// server runs. docs/reference/policies.md has the names.
//
// SIGTERM finishes what runs and exits 0. A flag that cannot be honoured is an
// error, exit code 2. Its keys stand in the source: never put it on the net.
package main

import (
	"os"

	"github.com/go-idem/idem/internal/testserver"
)

func main() { os.Exit(testserver.Testbed(os.Args[1:])) }
