package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// serverEnv, set to the address of a redis-server, makes this program the server
// that is measured: a process of its own, so that its CPU is not the load's.
const serverEnv = "IDEM_BENCH_SERVER"

// addresses is the first line that it writes: where each framework listens.
type addresses map[string]string

// tally is its answer to every line that it reads: what it has used and counted
// since the line "reset".
type tally struct {
	spent
	Runs   int   // of the storm's handler
	Astray int   // users whose order was not made exactly once
	Calls  int64 // of the store
	Read   int64 // bytes, from all connections
}

// served does a server's work until its standard input ends, if this process is
// to be one.
func served() bool {
	redis := os.Getenv(serverEnv)
	if redis == "" {
		return false
	}
	if err := serve(redis); err != nil {
		fmt.Fprintln(os.Stderr, "bench server:", err)
		os.Exit(1)
	}
	return true
}

func serve(redis string) error {
	if err := manyFiles(); err != nil {
		return err
	}
	s, err := newSite(context.Background(), redis)
	if err != nil {
		return err
	}
	where, err := s.listen()
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(where); err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if strings.TrimSpace(lines.Text()) == "reset" {
			s.reset()
			runtime.GC()
		}
		if err := out.Encode(s.tally()); err != nil {
			return err
		}
	}
	return s.close()
}
