package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/go-idem/idem/internal/redistest"
)

func main() {
	rounds := flag.Int("rounds", 15, "how often each row is measured; the median counts")
	length := flag.Duration("for", 60*time.Millisecond, "how long a row is measured each time")
	flag.Parse()
	if err := run(*rounds, *length); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(rounds int, length time.Duration) error {
	addr, stop, err := redistest.Launch()
	if err != nil {
		return err
	}
	defer stop()
	group, err := redisRows(context.Background(), addr)
	if err != nil {
		return err
	}
	defer group.end()
	fmt.Print(loadOfTheMachine())
	all, err := group.measure(rounds, length)
	if err != nil {
		return err
	}
	print(os.Stdout, all, group.rows, redisBudgets)
	return nil
}
