// Command run shows that the tests of the protocol's rules can fail: it breaks
// one rule at a time and expects the rule's test to notice. It stands behind
//
//	make broken                  every rule, and those of idem.js
//	make broken RULE=P1-claim    one of them, by its name in broken.Rules
//
// For each row of broken.Rules the package's test program is built once, the
// named test is run with nothing broken and must pass, and is run again with
// IDEM_BROKEN set to the rule's name and must fail. The exit status is 0 only if
// every rule was noticed.
//
// What goes wrong most: the package's TestMain does not call broken.Set, or the
// switch stands on a path the test never takes; both show as "does not notice".
// A broken run that merely hangs or takes the whole process down is not counted
// either: a test that notices says so.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

func main() {
	rule := flag.String("rule", "", "run only the rules of these `names`, separated by commas")
	limit := flag.Duration("limit", 3*time.Minute, "time for one run of one test")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := runAll(ctx, *rule, *limit)
	if err != nil {
		fmt.Fprintln(os.Stderr, "broken:", err)
	}
	if err != nil || !ok {
		stop()
		os.Exit(1)
	}
}

// runAll runs the chosen rows and the browser code's own runner, prints what it
// saw and returns whether every rule was noticed.
func runAll(ctx context.Context, names string, limit time.Duration) (bool, error) {
	root, err := findRoot()
	if err != nil {
		return false, err
	}
	entries, err := choose(broken.Rules, names)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "idem-broken-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	r := &runner{root: root, bin: dir, limit: limit, out: os.Stdout}
	noticed := 0
	var rest []row
	for _, e := range entries {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		w := r.judge(ctx, e)
		fmt.Println(w)
		if w.verdict == noticedIt {
			noticed++
		} else {
			rest = append(rest, w)
		}
	}
	ok := len(rest) == 0
	for _, w := range rest {
		fmt.Printf("\n%s %s: %s\n  what is broken: %s\n", w.entry.Name, w.title(), w.verdict, w.entry.What)
		for line := range strings.Lines(w.said) {
			fmt.Print("    ", line)
		}
	}
	if names == "" {
		ok = browser(ctx, root, os.Stdout) && ok
	}
	fmt.Printf("\nrows of broken.Rules: %d, noticed: %d\n", len(entries), noticed)
	return ok, nil
}

// choose picks the entries of the given names, or all of them.
func choose(all []broken.Entry, names string) ([]broken.Entry, error) {
	if len(all) == 0 {
		return nil, fmt.Errorf("broken.Rules is empty: there is nothing to show")
	}
	if names == "" {
		return all, nil
	}
	var chosen []broken.Entry
	for name := range strings.SplitSeq(names, ",") {
		before := len(chosen)
		for _, e := range all { // a rule may have several tests, each in a row of its own
			if e.Name == name {
				chosen = append(chosen, e)
			}
		}
		if len(chosen) == before {
			return nil, fmt.Errorf("no rule is named %q: the names are in internal/broken/rules.go", name)
		}
	}
	return chosen, nil
}

// findRoot walks up from the working directory to the folder with go.work.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for up := filepath.Dir(dir); ; dir, up = up, filepath.Dir(up) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		if up == dir {
			return "", fmt.Errorf("no go.work above the working directory: start this inside the repository")
		}
	}
}
