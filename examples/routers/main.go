// Command routers shows that whatever ends in an http.Handler needs no adapter of
// its own: chi as it is, gin with forty lines between, both by adapters/stdhttp.
//
//	go run ./examples/routers -selfcheck   # the same requests to both, in one table
//	                                       # (one panics, and chi's recover prints that)
//	go run ./examples/routers -router gin  # serves, and prints its address
//
// chi's handlers are http.Handlers, and its middleware wraps them, so
// stdhttp.Guard fits as it is; chi tells its path values to the request, where the
// policy's "path:NAME" finds them. gin has a context and a writer of its own:
// gin.go puts the guard's writer into gin's and gives it back afterwards.
//
// Each serves the same routes: POST /shops/{shop}/orders, whose token is for one
// shop (Context "path:shop"), and the endpoints of idem.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/stores/memstore"
)

const operation = "shop:order:create"

// routers are the two, each with a handler over its own shop.
var routers = map[string]func(*shop) http.Handler{"chi": chiRoutes, "gin": ginRoutes}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) int {
	set := flag.NewFlagSet("routers", flag.ContinueOnError)
	set.SetOutput(errs)
	router := set.String("router", "chi", "chi or gin")
	check := set.Bool("selfcheck", false, "send the same requests to both, and print what came of them")
	if err := set.Parse(args); err != nil {
		return 2
	}
	if routers[*router] == nil || set.NArg() > 0 {
		fmt.Fprintf(errs, "routers: -router %q is neither chi nor gin, and there are no arguments\n", *router)
		return 2
	}
	do := func() error { return serve(*router, out) }
	if *check {
		do = func() error { return selfCheck(out) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(errs, "routers:", err)
		return 1
	}
	return 0
}

// shop is what a router serves.
type shop struct {
	guard *idem.Guard
	flow  *httpflow.Flow
	runs  chan struct{} // one in it for each run of the handler
}

func newShop() (*shop, error) {
	guard, err := idem.New(idem.Config{
		Store:    memstore.New(memstore.Options{}),
		Policies: []idem.Policy{{Operation: operation, Preset: idem.API, Context: "path:shop", Key: []string{"token", "header:Idempotency-Key"}}},
	})
	if err != nil {
		return nil, err
	}
	flow, err := httpflow.New(httpflow.Config{Guard: guard, Scope: who})
	return &shop{guard, flow, make(chan struct{}, 100)}, err
}

// who says whose key it is. Yours asks your authentication; this one trusts a header.
func who(r httpflow.Request) (string, error) {
	if user := r.Header("X-User"); len(user) == 1 {
		return user[0], nil
	}
	return "", nil
}

// started is a server on the loopback; stop closes it.
func started(handler http.Handler) (base string, stop func() error, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: handler}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	return "http://" + l.Addr().String(), func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err := server.Shutdown(ctx)
		if serving := <-ended; !errors.Is(serving, http.ErrServerClosed) {
			err = errors.Join(err, serving)
		}
		return err
	}, nil
}

func serve(router string, out io.Writer) error {
	s, err := newShop()
	if err != nil {
		return err
	}
	base, stop, err := started(routers[router](s))
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	fmt.Fprintf(out, "listening on %s (Ctrl-C ends)\n", base)
	fmt.Fprintf(out, "try: curl -i -X POST -H 'X-User: ann' -H 'Idempotency-Key: a1' %s/shops/tea/orders\n", base)
	<-ctx.Done()
	return errors.Join(stop(), s.guard.Close(context.Background()))
}
