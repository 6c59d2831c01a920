package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

// options are the flags of this program.
type options struct {
	addr, adapter, store, redis, audit string
	selfcheck, guarded                 bool
	lease                              time.Duration
}

// errHelp says that help was asked for and given.
var errHelp = flag.ErrHelp

// readOptions reads the flags. One that cannot be honoured is an error, never
// something else instead. Everything that is wrong is reported at once.
func readOptions(args []string, out io.Writer) (options, error) {
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the caller says what is wrong, once
	addr := flags.String("addr", "127.0.0.1:0", "address to listen on; port 0 picks a free one")
	adapter := flags.String("adapter", "stdhttp", "framework: "+strings.Join(adapters, ", "))
	store := flags.String("store", "miniredis", "where records are kept: "+strings.Join(storeNames, ", "))
	redisURL := flags.String("redis", "", "URL of the Redis, with -store redis (default "+defaultRedis+")")
	auditTo := flags.String("audit", "", "`file` to which the audit log is appended, one line of JSON an event")
	lease := flags.Duration("lease", shortLease, "how long a claim lives that nobody renews; on a busy machine, more than suits a person who looks on")
	check := flags.Bool("selfcheck", false, "play every trouble over HTTP, print one table, exit 1 if a row is off")
	without := flags.String("without", "", "`guard` serves the same shop without the guard")
	if err := flags.Parse(args); errors.Is(err, errHelp) {
		flags.SetOutput(out)
		flags.Usage()
		return options{}, err
	} else if err != nil {
		return options{}, err
	}
	o := options{addr: *addr, adapter: *adapter, store: *store, redis: *redisURL, audit: *auditTo, selfcheck: *check, guarded: *without == "", lease: *lease}
	var errs []error
	if rest := flags.Args(); len(rest) > 0 {
		errs = append(errs, fmt.Errorf("arguments %q are none of this program's: it takes flags only", rest))
	}
	if !slices.Contains(adapters, o.adapter) {
		errs = append(errs, fmt.Errorf("-adapter %q is none of %s", o.adapter, strings.Join(adapters, ", ")))
	}
	if !slices.Contains(storeNames, o.store) {
		errs = append(errs, fmt.Errorf("-store %q is none of %s", o.store, strings.Join(storeNames, ", ")))
	}
	if _, _, err := net.SplitHostPort(o.addr); err != nil {
		errs = append(errs, fmt.Errorf("-addr %q is not host:port: %w", o.addr, err))
	}
	if o.redis != "" && o.store != "redis" {
		errs = append(errs, fmt.Errorf("-redis is for -store redis, but -store is %s", o.store))
	}
	if o.lease < shortLease || o.lease > longLease {
		errs = append(errs, fmt.Errorf("-lease %v is not from %v to %v", o.lease, shortLease, longLease))
	}
	if o.redis == "" {
		o.redis = defaultRedis
	}
	if *without != "" && *without != "guard" {
		errs = append(errs, fmt.Errorf("-without %q: only the guard can be left out", *without))
	}
	return o, errors.Join(errs...)
}
