package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/go-idem/idem/internal/redistest"
)

// storeArgs returns the flags of every store the shop can stand on here.
func storeArgs(t *testing.T) map[string][]string {
	return map[string][]string{
		"memory":    {"-store", "memory"},
		"miniredis": {"-store", "miniredis"},
		"redis":     {"-store", "redis", "-redis", "redis://" + redistest.Server(t)},
	}
}

var rowsRight = regexp.MustCompile(`(?m)^(\d+) of (\d+) rows are as expected\.$`)

// play runs the self-check as the command does.
func play(t *testing.T, args ...string) (code int, table, errs string, right string) {
	t.Helper()
	var out, stderr bytes.Buffer
	code = run(t.Context(), append([]string{"-selfcheck"}, patient(args...)...), &out, &stderr)
	found := rowsRight.FindStringSubmatch(out.String())
	if found == nil {
		t.Fatalf("no last line:\n%s%s", out.String(), stderr.String())
	}
	if found[2] != fmt.Sprint(len(troubles)) {
		t.Errorf("%s rows, want one for each of %d troubles", found[2], len(troubles))
	}
	return code, out.String(), stderr.String(), found[1]
}

func TestEveryTroubleComesOutRightOnEveryStoreAndFramework(t *testing.T) {
	for store, args := range storeArgs(t) {
		for _, adapter := range adapters {
			t.Run(store+"/"+adapter, func(t *testing.T) {
				t.Parallel()
				code, table, errs, right := play(t, append(args, "-adapter", adapter)...)
				if code != 0 || right != fmt.Sprint(len(troubles)) {
					t.Errorf("exit status %d, want 0 and every row right:\n%s%s", code, table, errs)
				}
			})
		}
	}
}

func TestEveryTroubleComesOutWrongWithoutTheGuard(t *testing.T) {
	for store, args := range storeArgs(t) {
		for _, adapter := range adapters {
			t.Run(store+"/"+adapter, func(t *testing.T) {
				t.Parallel()
				code, table, _, right := play(t, append(args, "-adapter", adapter, "-without=guard")...)
				if code != 1 || right != "0" || strings.Contains(table, "could not be played") {
					t.Errorf("exit status %d, want 1 and every row off, each played to its end:\n%s", code, table)
				}
			})
		}
	}
}

func TestShopLeavesNothingInTheRedisOfOthers(t *testing.T) {
	addr, _ := redistest.Start(t)
	redistest.Do(t, addr, "SET", "somebody-elses", "1")
	var out, errs bytes.Buffer
	if code := run(t.Context(), patient("-selfcheck", "-store", "redis", "-redis", "redis://"+addr), &out, &errs); code != 0 {
		t.Fatalf("exit status %d:\n%s%s", code, out.String(), errs.String())
	}
	if got := redistest.Do(t, addr, "DBSIZE"); !strings.Contains(got, ":1") {
		t.Errorf("after the shop closed, DBSIZE says %q, want the one key of somebody else", got)
	}
	if got := redistest.Do(t, addr, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru"); !strings.Contains(got, "OK") {
		t.Fatal(got)
	}
	if code := run(t.Context(), patient("-selfcheck", "-store", "redis", "-redis", "redis://"+addr), &out, &errs); code != 1 || !strings.Contains(errs.String(), "allkeys-lru") {
		t.Errorf("on a Redis that evicts records: exit status %d and %q, want 1 and the policy named", code, errs.String())
	}
}
