package testserver

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	idem "github.com/go-idem/idem/core"
)

// options are what the flags say.
type options struct {
	adapter, store, addr, redis string
	call, clockOffset           time.Duration
	control                     bool
	policies                    []idem.Policy

	// Of test servers only.
	suite, tied, mini, serveMini bool
	prefix, ledger, nameKey      string
	past                         time.Duration
	ring, sealing                []int
	lose                         float64
	seed                         uint64
	pipelines                    int
}

// stores that a flag may name, and whether they are there.
var storeNames = map[string]bool{
	"memory": true, "miniredis": true, "redis": true, "postgres": false, "mysql": false, "etcd": false, "tiered": false,
}

// parse reads the flags. A flag that cannot be honoured is an error that says
// so; there is no falling back.
func parse(name string, args []string, forTests bool, errOut io.Writer) (options, error) {
	var o options
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.SetOutput(errOut)
	set.StringVar(&o.adapter, "adapter", "stdhttp", "stdhttp, echo or fiber")
	set.StringVar(&o.store, "store", "memory", "memory, miniredis or redis; postgres, mysql, etcd and tiered are not there yet")
	set.StringVar(&o.addr, "addr", "127.0.0.1:0", "the address to listen on")
	set.StringVar(&o.redis, "redis", "", "redis://HOST:PORT, with -store redis")
	set.DurationVar(&o.call, "call", 250*time.Millisecond, "the store's call time-out; 20ms allows leases from 400 ms")
	set.DurationVar(&o.clockOffset, "clock-offset", 0, "shifts every reading of the host's clock in this process")
	set.BoolVar(&o.control, "control", false, "serve /control/…")
	absent := map[string]*string{}
	for flag, what := range map[string]string{
		"postgres": "the URL of a PostgreSQL server", "mysql": "the URL of a MySQL server", "etcd": "the URL of an etcd server",
		"tier": "how tiered stores work together",
	} {
		absent[flag] = set.String(flag, "", what+" (not there yet)")
	}
	policy, ring, sealing := "", "", ""
	set.StringVar(&policy, "policy", "", "a file with a JSON array of policies that replace the built-in ones by operation")
	if forTests {
		set.BoolVar(&o.suite, "suite", false, "serve the policies of the statement suite too")
		set.BoolVar(&o.tied, "tied", false, "end when the standard input does")
		set.BoolVar(&o.mini, "mini", false, "the redis is a Mini, whose time can be moved on")
		set.BoolVar(&o.serveMini, "serve-miniredis", false, "serve a Mini on -addr and nothing else")
		set.StringVar(&o.prefix, "prefix", "", "of record names")
		set.StringVar(&o.ledger, "ledger", "", "the file in which runs are counted")
		set.StringVar(&o.nameKey, "name-key", "", "which of the test name keys")
		set.DurationVar(&o.past, "past", 0, "live so long ago, whatever the store's clock says")
		set.StringVar(&ring, "ring", "", "ids of the test signing keys, the one that signs first")
		set.StringVar(&sealing, "sealing", "", "ids of the test sealing keys, the one that seals first; none seal nothing")
		set.Float64Var(&o.lose, "lose", 0, "the chance with which a store call's reply is lost")
		set.IntVar(&o.pipelines, "pipelines", 0, "how many may be under way to a redis; of 1 most calls leave together")
		set.Uint64Var(&o.seed, "seed", 1, "of that chance")
	}
	if err := set.Parse(args); err != nil {
		return o, err
	}
	errs := []error{o.check()}
	if set.NArg() > 0 {
		errs = append(errs, fmt.Errorf("%q is no flag", set.Arg(0)))
	}
	for name, value := range absent {
		if *value != "" {
			errs = append(errs, fmt.Errorf("-%s: not there yet", name))
		}
	}
	if policy != "" {
		var err error
		if o.policies, err = readPolicies(policy); err != nil {
			errs = append(errs, fmt.Errorf("-policy: %w", err))
		}
	}
	var ringErr, sealingErr error
	o.ring, ringErr = ids(ring)
	o.sealing, sealingErr = ids(sealing)
	errs = append(errs, ringErr, sealingErr)
	return o, errors.Join(errs...)
}

// ids reads numbers with commas between them; none of "".
func ids(text string) (list []int, err error) {
	if text == "" {
		return nil, nil
	}
	for _, number := range strings.Split(text, ",") {
		id, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("%q is no list of key ids: %w", text, err)
		}
		list = append(list, id)
	}
	return list, nil
}

func (o *options) check() error {
	var errs []error
	if !slices.Contains(adapterNames(), o.adapter) {
		errs = append(errs, fmt.Errorf("-adapter %q is none of %s", o.adapter, strings.Join(adapterNames(), ", ")))
	}
	if there, known := storeNames[o.store]; !known {
		errs = append(errs, fmt.Errorf("-store %q is none of memory, miniredis, redis", o.store))
	} else if !there {
		errs = append(errs, fmt.Errorf("-store %s: not there yet; memory, miniredis and redis are", o.store))
	}
	switch {
	case o.store == "redis" && o.redis == "":
		errs = append(errs, errors.New("-store redis needs -redis URL"))
	case o.store != "redis" && o.redis != "":
		errs = append(errs, fmt.Errorf("-redis goes with -store redis, not with %s", o.store))
	}
	if o.call <= 0 {
		errs = append(errs, fmt.Errorf("-call %v: a call time-out is above zero", o.call))
	}
	if o.lose < 0 || o.lose > 1 {
		errs = append(errs, fmt.Errorf("-lose %v: a chance lies between 0 and 1", o.lose))
	}
	return errors.Join(errs...)
}
