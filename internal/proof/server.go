package proof

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/stores/redisstore"
)

// What a client says beside the key. A request's name is its own: no two
// attempts share one, so that an answer tells whose run it is.
const (
	requestHeader = "Proof-Request"
	delayHeader   = "Proof-Delay"  // how long the handler takes
	refuseHeader  = "Proof-Refuse" // the handler refuses, without effect
	markHeader    = "Proof-Mark"   // the handler marks its effects
	dieHeader     = "Proof-Die"    // where the process kills itself, as places names it
	verdictHeader = httpflow.StatusHeader
)

// Main is the program of a proof server: operations that run on a redis-server
// behind the guard, or behind [naive]. It prints "listening on http://HOST:PORT",
// ends when its standard input does, and returns the exit code.
func Main(args []string) int {
	var o serverOptions
	set := flag.NewFlagSet("proofserver", flag.ContinueOnError)
	set.StringVar(&o.redis, "redis", "", "HOST:PORT of a redis-server")
	set.StringVar(&o.prefix, "prefix", "idem:", "of record names")
	set.StringVar(&o.ledger, "ledger", "", "the file in which runs are written down")
	set.DurationVar(&o.lease, "lease", time.Second, "of both operations")
	set.DurationVar(&o.call, "call", 40*time.Millisecond, "the store's call time-out")
	set.StringVar(&o.framework, "framework", NetHTTP, strings.Join(Frameworks, ", "))
	set.BoolVar(&o.naive, "naive", false, "claim by SET NX without a nonce: the control, on "+NetHTTP)
	if err := set.Parse(args); err != nil {
		return 2
	}
	if frameworks[o.framework] == nil || o.naive && o.framework != NetHTTP {
		fmt.Fprintf(os.Stderr, "proofserver: -framework %q cannot be served: it is one of %s, of which the control knows %s\n", o.framework, strings.Join(Frameworks, ", "), NetHTTP)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); stop() }()
	if err := serve(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "proofserver: %v\n", err)
		return 1
	}
	return 0
}

type serverOptions struct {
	redis, prefix, ledger string
	lease, call           time.Duration
	framework             string
	naive                 bool
}

func serve(ctx context.Context, o serverOptions) (err error) {
	ledger, err := OpenLedger(o.ledger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()
	behind := guarded
	if o.naive {
		behind = unguarded
	}
	site, closing, err := behind(ctx, o, ledger)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	stop := site(l)
	fmt.Printf("listening on http://%s\n", l.Addr())
	<-ctx.Done()
	drain, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(stop(drain), closing(drain))
}

// unguarded puts one operation behind the control.
func unguarded(_ context.Context, o serverOptions, ledger *Ledger) (serving, closing, error) {
	client := redis.NewClient(&redis.Options{Addr: o.redis, MaxRetries: -1, ReadTimeout: o.call, DialTimeout: o.call})
	mux := http.NewServeMux()
	mux.Handle("POST /retake/{key}", naive{client, o.prefix, o.lease}.guard(netHandler(ledger)))
	return serveNet(carrying(mux)), func(context.Context) error { return client.Close() }, nil
}

// guarded puts the two operations behind a guard: what a crash leaves is taken
// over in one and held in the other.
func guarded(ctx context.Context, o serverOptions, ledger *Ledger) (serving, closing, error) {
	base, err := redisstore.Open(ctx, redisstore.Options{CallTimeout: o.call, Universal: &redis.UniversalOptions{Addrs: []string{o.redis}}})
	if err != nil {
		return nil, nil, err
	}
	policies := []idem.Policy{
		{Operation: "proof:retake:run", OnCrash: idem.Retake},
		{Operation: "proof:hold:run", OnCrash: idem.Hold},
	}
	for i := range policies {
		p := &policies[i]
		p.Preset, p.KeyRequired, p.Key, p.Lease, p.MaxRun = idem.API, idem.Yes, []string{"header:Idempotency-Key"}, o.lease, time.Minute
	}
	nameKey, err := idem.NewNameKey([]byte("every proof server knows this one"))
	if err != nil {
		return nil, nil, err
	}
	guard, err := idem.New(idem.Config{
		Store: mortal{base}, Policies: policies, Prefix: o.prefix, NameKey: nameKey, Unscoped: true,
		Observer: watcher{ledger}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, nil, errors.Join(err, base.Close())
	}
	end := func(ctx context.Context) error { return errors.Join(guard.Close(ctx), base.Close()) }
	flow, err := httpflow.New(httpflow.Config{Guard: guard})
	if err != nil {
		return nil, nil, errors.Join(err, end(ctx))
	}
	return frameworks[o.framework](flow, ledger), end, nil
}

// about is what is to be known of a request far from it.
type about struct{ request, die string }

type aboutKey struct{}

func aboutOf(ctx context.Context) about {
	a, _ := ctx.Value(aboutKey{}).(about)
	return a
}

// carried is ctx with what a request says about itself, by its headers.
func carried(ctx context.Context, header func(string) string) context.Context {
	a := about{header(requestHeader), header(dieHeader)}
	a.dies(beforeTheClaim)
	return context.WithValue(ctx, aboutKey{}, a)
}

// action is the handler, whatever the framework: it is written down, takes its
// time, and answers with the name of the request it ran for.
func action(ctx context.Context, ledger *Ledger, header func(string) string) (status int, body string) {
	a := aboutOf(ctx)
	ledger.began(a.request, idem.Fence(ctx))
	a.dies(inTheHandler)
	status, to := act(ctx, ledger, a, header)
	ledger.ended(a.request, to)
	return status, a.request
}

// act takes its time, marks its effects half-way where it is asked to, and says
// what is to be answered and what becomes of the record.
func act(ctx context.Context, ledger *Ledger, a about, header func(string) string) (status int, to phase) {
	delay, _ := time.ParseDuration(header(delayHeader)) // none where there is none
	<-time.After(delay / 2)
	_, guarded := idem.ClaimFrom(ctx) // the control has nothing to mark
	marks := guarded && header(markHeader) != ""
	if marks {
		ledger.marking(a.request)
		if err := idem.MarkEffects(ctx); err != nil {
			return http.StatusServiceUnavailable, doubt // any such ending is (section 8)
		}
		ledger.marked(a.request)
		a.dies(afterTheMark)
	}
	<-time.After(delay / 2)
	switch {
	case header(refuseHeader) == "":
		return http.StatusCreated, done
	case marks || ctx.Err() != nil: // it had an effect, or was stopped half-way (P7)
		return http.StatusUnprocessableEntity, doubt
	}
	return http.StatusUnprocessableEntity, free
}

// watcher writes down which outcomes were not known to be kept when their
// clients were answered.
type watcher struct{ ledger *Ledger }

func (o watcher) Start(ctx context.Context, s idem.Step) (context.Context, func(idem.StepResult)) {
	if s.Kind != idem.StepSettle || s.Attempt > 1 {
		return ctx, nil
	}
	request := aboutOf(ctx).request
	return ctx, func(r idem.StepResult) {
		if r.Result == "retry" {
			o.ledger.soft(request)
		}
	}
}
