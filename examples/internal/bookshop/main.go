package bookshop

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
)

// Server is a program with its routes, ready to serve.
type Server struct {
	// Serve serves on l and returns nil once Shutdown was called.
	Serve func(l net.Listener) error
	// Shutdown lets what runs finish, closes the server, and then the guard.
	Shutdown func(ctx context.Context) error
}

// Build makes a server of a framework around the shop.
type Build func(*Shop) (*Server, error)

// Main is the program: it serves until it is interrupted, or checks itself. It
// returns the exit code: 2 for flags that it does not know, 1 for a trouble that
// did not end as promised, or for anything that fails.
func Main(args []string, out, errs io.Writer, build Build) int {
	set := flag.NewFlagSet("bookshop", flag.ContinueOnError)
	set.SetOutput(errs)
	addr := set.String("addr", "127.0.0.1:0", "the address to listen on")
	check := set.Bool("selfcheck", false, "play every trouble, print what came of it, and end")
	charging := set.Duration("charging", 200*time.Millisecond, "how long the provider takes for a charge")
	without := set.String("without", "", `"guard" leaves the routes unguarded`)
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if *without != "" && *without != "guard" || set.NArg() > 0 {
		fmt.Fprintln(errs, "bookshop: -without takes the word guard, and there are no arguments")
		return 2
	}
	if err := serve(*addr, *check, *without == "", *charging, build, out); err != nil {
		fmt.Fprintln(errs, "bookshop:", err)
		return 1
	}
	return 0
}

// errBroken is the end of a self-check with a red row.
var errBroken = errors.New("a trouble did not end as promised")

func serve(addr string, check, guarded bool, charging time.Duration, build Build, out io.Writer) (err error) {
	shop := &Shop{Orders: &Book{}, Guarded: guarded, provider: newProvider(charging)}
	defer shop.provider.close()
	server, err := build(shop)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return errors.Join(err, server.Shutdown(context.Background()))
	}
	base := "http://" + l.Addr().String()
	shop.provider.callBackTo(base + "/provider/events")
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	defer func() {
		shop.provider.close() // who still calls would keep the server open
		http.DefaultClient.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = errors.Join(err, server.Shutdown(ctx), <-ended)
	}()

	if check {
		return SelfCheck(base, shop, out)
	}
	shop.provider.log = out // nobody has ordered yet
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Fprintf(out, "listening on %s (Ctrl-C ends)\n", base)
	fmt.Fprintf(out, "try: curl -i -H 'Authorization: Bearer key-of-acme' -H 'Idempotency-Key: a1' --json '{\"item\":\"Emma\"}' %s/api/orders\n", base)
	<-ctx.Done()
	return nil
}
