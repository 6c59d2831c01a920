package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/go-idem/idem/internal/redistest"
)

func main() {
	if served() {
		return
	}
	var o options
	flag.IntVar(&o.rounds, "rounds", 15, "how often each row is measured; the median counts")
	flag.DurationVar(&o.length, "for", 60*time.Millisecond, "how long a row is measured each time")
	flag.StringVar(&o.only, "only", "", "measure some parts, with commas between them: "+strings.Join(partNames(), ", "))
	flag.StringVar(&o.docs, "docs", "", "write benchmarks.md and benchmarks.svg into this folder, too")
	flag.BoolVar(&o.check, "check", false, "fail on a budget that the best round misses by more than a quarter, or a count at all; waits are left out where the machine is busy")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds     int
	length     time.Duration
	only, docs string
	check      bool
}

func (o options) measures(p part) bool {
	if o.only == "" {
		return true
	}
	for name := range strings.SplitSeq(o.only, ",") {
		if name == p.name {
			return true
		}
	}
	return false
}

func run(o options) error {
	for name := range strings.SplitSeq(o.only, ",") {
		if name != "" && !strings.Contains(" "+strings.Join(partNames(), " ")+" ", " "+name+" ") {
			return fmt.Errorf("there is no part %q: %s", name, strings.Join(partNames(), ", "))
		}
	}
	if err := manyFiles(); err != nil {
		return err
	}
	addr, stop, err := redistest.Launch()
	if err != nil {
		return err
	}
	defer stop()
	began := theMachine()
	fmt.Printf("%v\n\n", began)
	var measured []result
	var broken []error
	for _, p := range parts {
		if !o.measures(p) {
			continue
		}
		start := time.Now()
		r, err := p.measure(addr, o)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		print(os.Stdout, r)
		fmt.Printf("(%s took %.0f s)\n\n", p.name, time.Since(start).Seconds())
		measured = append(measured, r)
		for _, b := range p.budgets {
			broken = append(broken, b.check(r.figures, began.busy()))
		}
	}
	if o.docs != "" {
		err := errors.Join(
			write(filepath.Join(o.docs, "benchmarks.svg"), func(w io.Writer) { chart(w, measured) }),
			write(filepath.Join(o.docs, "benchmarks.md"), func(w io.Writer) { page(w, measured, began, theMachine(), o) }))
		if err != nil {
			return err
		}
	}
	if err := errors.Join(broken...); err != nil && o.check {
		return fmt.Errorf("budgets are broken:\n%w", err)
	}
	return nil
}

// measure begins with an empty server: parts have name keys of their own.
func (p part) measure(addr string, o options) (result, error) {
	if err := empty(addr); err != nil {
		return result{}, err
	}
	group, err := p.open(context.Background(), addr)
	if err != nil {
		return result{}, err
	}
	defer group.end()
	rounds, length := p.turns(o)
	all, err := group.measure(rounds, length)
	return result{p, group.rows, all, rounds, length}, err
}

func empty(addr string) error {
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer c.Close()
	return c.FlushAll(context.Background()).Err()
}

func write(path string, by func(io.Writer)) error {
	var b strings.Builder
	by(&b)
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
