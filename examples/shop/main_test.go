package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-idem/idem/internal/broken"
	"github.com/go-idem/idem/internal/leaktest"
)

// TestMain lets the test program be the shop's second server too: the shop
// starts its own program again, and here that is this one. Nothing may be left
// running when all is closed.
func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		if err := runWorker(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "second server:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if !broken.Set(os.Getenv("IDEM_BROKEN")) {
		fmt.Fprintln(os.Stderr, "IDEM_BROKEN names no rule")
		os.Exit(2)
	}
	leaktest.Main(m)
}

// buffer is a bytes.Buffer for many goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// patient gives a shop times that a machine keeps on which much else runs: a store
// that is called over a connection needs more than one in this process.
func patient(args ...string) []string {
	if slices.Contains(args, "memory") {
		return append(args, "-lease", "4s")
	}
	return append(args, "-lease", "8s")
}

// openTestDemo opens a shop that is closed with the test, and returns what it
// logs.
func openTestDemo(t *testing.T, args ...string) (*demo, *buffer) {
	t.Helper()
	logged := &buffer{}
	opts, err := readOptions(patient(args...), logged)
	if err != nil {
		t.Fatal(err)
	}
	d, err := openDemo(t.Context(), opts, logged)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.close(); err != nil {
			t.Errorf("close the shop: %v", err)
		}
	})
	return d, logged
}

func TestFlagsThatCannotBeHonouredAreErrors(t *testing.T) {
	for _, c := range []struct {
		given string
		says  []string
	}{
		{"-adapter gin", []string{`-adapter "gin" is none of stdhttp, echo, fiber`}},
		{"-store postgres", []string{`-store "postgres" is none of miniredis, memory, redis`}},
		{"-addr 8080", []string{`-addr "8080" is not host:port`}},
		{"-redis redis://127.0.0.1:1", []string{"-redis is for -store redis"}},
		{"-without tea", []string{`-without "tea": only the guard`}},
		{"-selfchek", []string{"flag provided but not defined: -selfchek"}},
		{"serve", []string{`arguments ["serve"]`}},
		{"-lease 1s", []string{"-lease 1s is not from 2s to 10s"}},
		{"-adapter gin -store disk", []string{`-adapter "gin"`, `-store "disk"`}},
	} {
		t.Run(c.given, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := run(t.Context(), strings.Fields(c.given), &out, &errs); code != 2 {
				t.Errorf("exit status %d, want 2", code)
			}
			for _, want := range c.says {
				if !strings.Contains(errs.String(), want) {
					t.Errorf("it says %q, which does not name %q", errs.String(), want)
				}
			}
			if out.Len() > 0 {
				t.Errorf("it began all the same: %q", out.String())
			}
		})
	}
}

func TestHelpIsGivenAndIsNoError(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"-h"}, &out, &errs); code != 0 {
		t.Errorf("exit status %d, want 0", code)
	}
	for _, flag := range []string{"-addr", "-adapter", "-store", "-redis", "-selfcheck", "-audit", "-without"} {
		if !strings.Contains(errs.String(), flag) {
			t.Errorf("the help does not name %s", flag)
		}
	}
}

func TestRedisThatDoesNotAnswerIsSaidAtOnce(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"-store", "redis", "-redis", "redis://127.0.0.1:1"}, &out, &errs); code != 1 {
		t.Errorf("exit status %d, want 1", code)
	}
	if !strings.Contains(errs.String(), "127.0.0.1:1") {
		t.Errorf("it does not say which Redis: %q", errs.String())
	}
}

func TestShopOpensPrintsItsAddressAndClosesWhenTold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, errs := &buffer{}, &buffer{}
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, []string{"-store", "memory"}, out, errs) }()
	deadline := time.After(time.Minute)
	for !strings.Contains(out.String(), "Ctrl-C") {
		select {
		case code := <-ended:
			t.Fatalf("it ended with %d: %s", code, errs)
		case <-deadline:
			t.Fatal("it did not say that it is open")
		case <-time.After(5 * time.Millisecond):
		}
	}
	first, _, _ := strings.Cut(out.String(), "\n")
	base, ok := strings.CutPrefix(first, listening)
	if !ok {
		t.Fatalf("its first line is %q, want one that begins with %q", first, listening)
	}
	b := &browser{base: base, cookies: map[string]string{}}
	if _, err := b.visit(t.Context(), "/", nil); err != nil {
		t.Errorf("the address it printed: %v", err)
	}
	cancel()
	select {
	case code := <-ended:
		if code != 0 {
			t.Errorf("exit status %d, want 0: %s", code, errs)
		}
	case <-time.After(time.Minute):
		t.Fatal("it did not close")
	}
}

func TestNothingIsLeftWhenTheShopIsClosed(t *testing.T) {
	for _, adapter := range adapters {
		t.Run(adapter, func(t *testing.T) {
			_ = run(t.Context(), patient("-selfcheck", "-store", "memory", "-adapter", adapter), &buffer{}, &buffer{})
			eventually(t, "no goroutine of ours is left", func() bool { return len(ourGoroutines()) == 0 })
			if left := ourGoroutines(); len(left) > 0 {
				t.Fatalf("%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
			}
		})
	}
}

// eventually waits, a minute at most, until something is so; it reports where
// it does not come to be.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for begun := time.Now(); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Error("it did not come to be: " + what)
			return
		}
	}
}

// ourGoroutines returns the stacks of the goroutines that run this project's
// code, the tests themselves left out. A framework may keep some of its own.
func ourGoroutines() (list []string) {
	stacks := make([]byte, 4<<20)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, "go-idem/idem/") && !strings.Contains(stack, "testing.") {
			list = append(list, stack)
		}
	}
	return list
}

func TestTableHoldsWholeRowsOfSeveralProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "orders.jsonl")
	const each = 50
	var all sync.WaitGroup
	numbers := make(chan int, 4*each)
	for range 4 { // four handles are as good as four processes: they share the file only
		handle := openTable(path)
		all.Go(func() {
			for range each {
				n, err := handle.insert(placedOrder{Owner: "o", Lines: "1 × tea"})
				if err != nil {
					t.Error(err)
				}
				numbers <- n
			}
		})
	}
	all.Wait()
	close(numbers)
	seen := map[int]bool{}
	for n := range numbers {
		if seen[n] || n < firstNumber || n >= firstNumber+4*each {
			t.Errorf("order number %d was given twice or is out of range", n)
		}
		seen[n] = true
	}
	table := openTable(path)
	if n, err := table.countOf("o"); err != nil || n != 4*each {
		t.Errorf("the table has %d rows (%v), want %d", n, err, 4*each)
	}

	// A row whose end is not there yet is no row.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(`{"id":"half`); err != nil {
		t.Fatal(err)
	}
	if n, err := table.countOf("o"); err != nil || n != 4*each {
		t.Errorf("with half a row more the table has %d rows (%v), want %d", n, err, 4*each)
	}
	if err := openTable(path).reset(); err != nil {
		t.Fatal(err)
	}
	if rows, err := table.all(); err != nil || len(rows) != 0 {
		t.Errorf("emptied by another, the table has %d rows (%v)", len(rows), err)
	}
}
