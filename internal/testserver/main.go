package testserver

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/go-idem/idem/adapters/adaptertest"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/storetest"
)

// Adapters are the three frameworks.
func Adapters() []adaptertest.Adapter {
	return []adaptertest.Adapter{StdHTTP(), Echo(), Fiber()}
}

func adapterNames() (names []string) {
	for _, a := range Adapters() {
		names = append(names, a.Name)
	}
	return names
}

// Testbed is the program examples/testbed, Main that of test servers, which has
// flags besides. Both print "listening on http://HOST:PORT" as their first line,
// end with what runs finished on SIGTERM or SIGINT, and return the exit code: 2
// for flags that cannot be honoured, 1 for what fails later.
func Testbed(args []string) int { return runAs("testbed", args, false) }

// Main is the program of a test server.
func Main(args []string) int { return runAs("testserver", args, true) }

func runAs(name string, args []string, forTests bool) int {
	o, err := parse(name, args, forTests, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if o.tied {
		var cut context.CancelFunc
		ctx, cut = context.WithCancel(ctx)
		go func() { _, _ = io.Copy(io.Discard, os.Stdin); cut() }()
	}
	serve := serveBed
	if o.serveMini {
		serve = serveMini
	}
	if err := serve(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return 1
	}
	return 0
}

func serveMini(ctx context.Context, o options) error {
	mini, err := StartMini(o.addr)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", mini.Addr()) // the same form for every program here
	<-ctx.Done()
	mini.Close()
	return nil
}

func serveBed(ctx context.Context, o options) (err error) {
	store, advance, closing, err := openStore(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closing()) }()
	bed, err := newBed(o, store, advance)
	if err != nil {
		return err
	}
	if o.lose > 0 {
		bed.Faults.Seed(o.seed)
		if err := bed.Faults.Set("", storetest.Fault{Mode: storetest.LostReply, Times: -1, Chance: o.lose}); err != nil {
			return errors.Join(err, bed.Close(ctx))
		}
	}
	l, err := net.Listen("tcp", o.addr)
	if err != nil {
		return errors.Join(fmt.Errorf("-addr: %w", err), bed.Close(ctx))
	}
	var stop func(context.Context) error
	for _, a := range Adapters() {
		if a.Name == o.adapter {
			stop, err = a.Serve(l, bed.Flow, append(bed.Routes(), scripts()...))
		}
	}
	if err != nil {
		return errors.Join(err, bed.Close(ctx))
	}
	fmt.Printf("listening on http://%s\n", l.Addr())
	<-ctx.Done()
	bed.Gates.OpenAll()
	drain, cancel := context.WithTimeout(context.Background(), 45*time.Second)
	defer cancel()
	return errors.Join(stop(drain), bed.Close(drain))
}

func newBed(o options, store idem.Store, advance func(time.Duration) error) (*adaptertest.Bed, error) {
	policies := adaptertest.Policies()
	if o.suite {
		policies = append(policies, adaptertest.SuitePolicies(idem.Describe(store))...)
	}
	policies, err := replaced(policies, o.policies)
	if err != nil {
		return nil, err
	}
	signer, err := adaptertest.TestSigner(o.ring...)
	if err != nil {
		return nil, err
	}
	sealer, err := adaptertest.TestSealer(o.sealing...)
	if err != nil {
		return nil, err
	}
	cfg := adaptertest.BedConfig{
		Store: store, Policies: policies, Prefix: o.prefix, NameKey: adaptertest.TestNameKey(o.nameKey), Signer: signer, Sealer: sealer,
		ClockOffset: o.clockOffset, Past: o.past, Control: o.control, Advance: advance, Ledger: o.ledger,
	}
	if o.suite {
		cfg.Log = os.Stderr
	}
	return adaptertest.NewBed(cfg)
}

// openStore opens the store that the flags name; advance is nil where its time
// cannot be moved.
func openStore(o options) (store idem.Store, advance func(time.Duration) error, closing func() error, err error) {
	nothing := func() error { return nil }
	switch o.store {
	case "memory":
		m := newMemory()
		return m, m.advance, nothing, nil
	case "miniredis":
		mini, err := StartMini("127.0.0.1:0")
		if err != nil {
			return nil, nil, nil, err
		}
		if store, err = openRedis(&redis.Options{Addr: mini.Addr()}, o, miniEviction); err != nil {
			mini.Close()
			return nil, nil, nil, err
		}
		closing = func() error { defer mini.Close(); return closeStore(store) }
		return store, func(d time.Duration) error { mini.Advance(d); return nil }, closing, nil
	}
	url, err := redis.ParseURL(o.redis)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("-redis: %w", err)
	}
	checked := ""
	if o.mini {
		checked = miniEviction
	}
	if store, err = openRedis(url, o, checked); err != nil {
		return nil, nil, nil, err
	}
	if o.mini {
		advance = func(d time.Duration) error { return advanceMini(url.Addr, d) }
	}
	return store, advance, func() error { return closeStore(store) }, nil
}

func closeStore(store idem.Store) error {
	switch c := store.(type) {
	case interface{ Close() error }:
		return c.Close()
	case interface{ Close() }:
		c.Close()
	}
	return nil
}
