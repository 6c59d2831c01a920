// Shop is the demonstration of idem: a small shop in which you cannot order
// twice by mistake, whatever goes wrong on the way.
//
//	go run ./examples/shop
//
// starts at once (on an embedded miniredis) and prints the address of a page.
// On it you can order tea, double-click, go back, press again, and let the shop
// stage troubles against itself over real connections: a dropped first request,
// a lost answer, an expired form, a server killed in the middle of an order. With
// JavaScript the page plays them itself, by idem.js; it works without a line of it,
// and a button turns it off. Its trouble lab (/lab) shows the usual helper, "425? New
// token, send again", buying twice in your own browser, beside idem.js, which does not.
//
//	-adapter stdhttp|echo|fiber      the framework it is served with
//	-store miniredis|memory|redis    where records are kept
//	-redis redis://host:port         the Redis of -store redis
//	-addr 127.0.0.1:0                where it listens; port 0 picks a free one
//	-selfcheck                       plays every trouble, prints one table, exits 1 if a row is off
//	-audit FILE                      appends an event for every change of a record, as JSON
//	-without=guard                   the same shop with nothing in front of the order handler
//
// It measures itself: /health draws the four golden figures of token systems and
// shows the latest changes of its audit log, and /metrics has all numbers for a
// Prometheus.
//
// With OTEL_EXPORTER_OTLP_ENDPOINT in the environment it sends traces and metrics
// there (OTLP over HTTP), named by OTEL_SERVICE_NAME, "idem-shop" if that is empty.
//
// Where to read: orderPolicy in shop.go says how an order is guarded,
// placeOrder in handlers.go is the guarded action, serve_stdhttp.go,
// serve_echo.go and serve_fiber.go put the guard before it (one line each),
// visitor.go keeps a form's token with its cart and token.go hands it to idem.js,
// page.html holds the form, trouble.go stages the troubles, scene.go those that the
// page plays (js/scenes.js), lab.go the lab, otlp.go sends traces, trail.go
// is the audit log, and table.go is
// the order table in which everything is counted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// listening is how the first line on standard output begins; the rest of it is
// the address.
const listening = "listening on "

// closeLimit is how long requests under way may take to finish at the end.
const closeLimit = 15 * time.Second

// exportLimit is how long a collector may take to receive what is left.
const exportLimit = 5 * time.Second

func main() {
	if os.Getenv(workerEnv) != "" {
		if err := runWorker(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "shop: second server:", err)
			os.Exit(1)
		}
		return
	}
	redis.SetLogger(quiet{}) // what matters of a Redis the guard says, and this program
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// quiet keeps the Redis driver from writing to standard error by itself.
type quiet struct{}

// Printf says nothing.
func (quiet) Printf(context.Context, string, ...any) {}

// run is the whole program; it returns its exit status: 0, 1 if something went
// wrong or a row of -selfcheck is off, 2 if the flags are wrong.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opts, err := readOptions(args, stderr)
	if errors.Is(err, errHelp) {
		return 0
	} else if err != nil {
		fmt.Fprintln(stderr, "shop:", err)
		return 2
	}
	demo, err := openDemo(ctx, opts, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "shop:", err)
		return 1
	}
	fmt.Fprintln(stdout, listening+demo.srv.url)
	good := true
	if opts.selfcheck {
		good = selfcheck(ctx, demo.srv.shop, stdout)
	} else {
		fmt.Fprintf(stdout, "The shop is open: %s, records in %s, orders in %s.\nOpen the address in a browser. Ctrl-C closes the shop.\n",
			opts.adapter, demo.srv.shop.store, demo.srv.shop.table.path)
		if demo.export != nil {
			fmt.Fprintf(stdout, "It sends %s.\n", demo.export.to)
		}
		select {
		case <-ctx.Done():
		case err := <-demo.srv.done:
			fmt.Fprintln(stderr, "shop: serving ended:", err)
			good = false
		}
	}
	if err := demo.close(); err != nil {
		fmt.Fprintln(stderr, "shop: close:", err)
		good = false
	}
	if !good {
		return 1
	}
	return 0
}

// demo is a shop with everything it stands on.
type demo struct {
	srv    *server
	store  *openedStore
	export *export
	trail  *trail
	dir    string
	stderr io.Writer
}

// openDemo opens the store, builds the shop and serves it.
func openDemo(ctx context.Context, opts options, stderr io.Writer) (d *demo, err error) {
	d = &demo{stderr: stderr}
	defer func() {
		if err != nil {
			over, cancel := context.WithTimeout(context.Background(), exportLimit)
			defer cancel()
			_ = d.export.close(over) // of a shop that never opened
			_ = d.trail.close(over)
			d.free()
		}
	}()
	if d.dir, err = os.MkdirTemp("", "idem-shop-"); err != nil {
		return d, fmt.Errorf("make a directory for the order table: %w", err)
	}
	figures, err := openFigures()
	if err != nil {
		return d, err
	}
	if d.store, err = openStore(ctx, opts, figures.flushed); err != nil {
		return d, err
	}
	if d.export, err = openExport(ctx); err != nil {
		return d, err
	}
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if d.trail, err = openTrail(opts.audit, logger); err != nil {
		return d, err
	}
	s, err := newShop(shopConfig{
		export: d.export, figures: figures, trail: d.trail,
		adapter: opts.adapter, storeWords: d.store.words, server: "this server", guarded: opts.guarded, lease: opts.lease,
		keys: newKeys(), store: d.store.records, table: openTable(filepath.Join(d.dir, "orders.jsonl")),
		logger: logger,
	})
	if err != nil {
		return d, err
	}
	if err = s.guard.Ready(ctx); err != nil {
		return d, errors.Join(fmt.Errorf("the store of records is not ready: %w", err), s.close(ctx))
	}
	ln, err := net.Listen("tcp", opts.addr)
	if err != nil {
		return d, errors.Join(fmt.Errorf("listen on %s: %w", opts.addr, err), s.close(ctx))
	}
	s.player = &player{shop: s, base: urlOf(ln.Addr()), names: map[string]string{}}
	if d.store.redis.URL == "" {
		s.player.spawn = spawnAbandoned(s, d.store.records)
	} else {
		s.player.spawn = spawnProcess(s, d.store.redis)
	}
	host, _, err := net.SplitHostPort(ln.Addr().String())
	if err == nil {
		s.lab, err = openLab(s, host)
	}
	if err == nil {
		d.srv, err = serve(s, ln)
	}
	if err != nil {
		return d, errors.Join(err, s.lab.close(), ln.Close(), s.close(ctx))
	}
	return d, nil
}

// close finishes what runs, for as long as that is allowed to take, and frees
// everything.
func (d *demo) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	defer d.free()
	err := errors.Join(d.srv.close(ctx), d.trail.close(ctx), d.store.redis.sweep(ctx, d.srv.shop.keys.Prefix))
	ctx, cancel = context.WithTimeout(context.Background(), exportLimit)
	defer cancel()
	if lost := d.export.close(ctx); lost != nil {
		fmt.Fprintln(d.stderr, "shop: the last traces and metrics were not taken:", lost) // no reason to fail
	}
	return err
}

func (d *demo) free() {
	if d.store != nil {
		d.store.close()
	}
	if d.dir != "" {
		_ = os.RemoveAll(d.dir)
	}
}
