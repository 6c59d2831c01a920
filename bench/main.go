package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-idem/idem/internal/redistest"
)

func main() {
	rounds := flag.Int("rounds", 15, "how often each row is measured; the median counts")
	length := flag.Duration("for", 60*time.Millisecond, "how long a row is measured each time")
	only := flag.String("only", "", "measure one part: memory, redis or http-redis")
	docs := flag.String("docs", "", "write benchmarks.md and benchmarks.svg into this folder, too")
	flag.Parse()
	if err := run(*rounds, *length, *only, *docs); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// part is a group of rows with what is promised about it.
type part struct {
	name, title string
	open        func(ctx context.Context, addr string) (*group, error)
	budgets     []budget
}

var parts = []part{
	{"memory", "In this process, without a network", func(context.Context, string) (*group, error) { return memoryRows() }, memoryBudgets},
	{"http-redis", "Whole requests, records in Redis", redisHTTPRows, redisHTTPBudgets},
	{"redis", "The store on Redis", redisRows, redisBudgets},
}

func run(rounds int, length time.Duration, only, docs string) error {
	addr, stop, err := redistest.Launch()
	if err != nil {
		return err
	}
	defer stop()
	began := loadOfTheMachine()
	fmt.Println(began)
	var measured []result
	for _, p := range parts {
		if only != "" && only != p.name {
			continue
		}
		r, err := p.measure(addr, rounds, length)
		if err != nil {
			return err
		}
		print(os.Stdout, r.figures, r.rows, p.budgets)
		measured = append(measured, r)
	}
	if docs == "" {
		return nil
	}
	if err := write(filepath.Join(docs, "benchmarks.svg"), func(w io.Writer) { chart(w, measured) }); err != nil {
		return err
	}
	return write(filepath.Join(docs, "benchmarks.md"), func(w io.Writer) {
		page(w, measured, strings.TrimSpace(began), strings.TrimSpace(loadOfTheMachine()), rounds, length)
	})
}

func (p part) measure(addr string, rounds int, length time.Duration) (result, error) {
	group, err := p.open(context.Background(), addr)
	if err != nil {
		return result{}, err
	}
	defer group.end()
	all, err := group.measure(rounds, length)
	return result{p, group.rows, all}, err
}

func write(path string, by func(io.Writer)) error {
	var b strings.Builder
	by(&b)
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
