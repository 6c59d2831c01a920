package adaptertest_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-idem/idem/adapters/adaptertest"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/internal/broken"
	"github.com/go-idem/idem/internal/testserver"
)

func TestMain(m *testing.M) {
	if rule := os.Getenv("IDEM_BROKEN"); !broken.Set(rule) {
		fmt.Fprintf(os.Stderr, "there is no rule %q to break\n", rule)
		os.Exit(2)
	}
	os.Exit(m.Run())
}

// A test that cannot fail says nothing. Given an adapter that serves every
// route without its guard, every single statement must come out red.
func TestEveryStatementFailsWithoutTheGuard(t *testing.T) {
	results := checkAll(unguarded(testserver.StdHTTP()), testserver.Memory())
	if len(results) != len(adaptertest.Statements()) {
		t.Fatalf("%d statements were played, there are %d", len(results), len(adaptertest.Statements()))
	}
	for _, r := range results {
		if r.Holds() {
			t.Errorf("%s holds without a guard: it proves nothing", r.Statement)
		}
		t.Log(r.Took, r)
	}
}

// An adapter may say what its framework cannot do; that is reported, not played.
func TestWhatAFrameworkCannotIsReported(t *testing.T) {
	const statement, reason = "Statement40_RedirectsAreKept", "it has no redirects"
	adapter := testserver.StdHTTP()
	adapter.Cannot = map[string]string{statement: reason}
	results := adaptertest.Check(adapter, testserver.Memory(), statement, "Statement38_NoContentHasNoLength")
	if len(results) != 2 {
		t.Fatalf("%d results, want 2", len(results))
	}
	for _, r := range results {
		if not := r.Statement == statement; r.Holds() == not || (r.NotOfThis == reason) != not {
			t.Errorf("%v", r)
		}
	}
}

func TestStatementsAreNamedByTheirNumber(t *testing.T) {
	names := adaptertest.Statements()
	for _, name := range names {
		if !strings.HasPrefix(name, "Statement") || !strings.Contains(name, "_") {
			t.Errorf("%s: a statement is named StatementNN_WhatItSays", name)
		}
	}
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	if len(slices.Compact(sorted)) != len(names) {
		t.Errorf("two statements have one name: %v", names)
	}
}

// checkAll plays all statements side by side: most of them wait.
func checkAll(adapter adaptertest.Adapter, backend adaptertest.Backend) []adaptertest.Result {
	names := adaptertest.Statements()
	results := make([]adaptertest.Result, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { results[i] = adaptertest.Check(adapter, backend, name)[0] })
	}
	all.Wait()
	return results
}

// unguarded is an adapter that forgets the guard.
func unguarded(a adaptertest.Adapter) adaptertest.Adapter {
	serve := a.Serve
	a.Serve = func(l net.Listener, flow *httpflow.Flow, routes []adaptertest.Route) (func(context.Context) error, error) {
		routes = slices.Clone(routes)
		for i := range routes {
			routes[i].Operation, routes[i].Items = "", nil
		}
		return serve(l, flow, routes)
	}
	return a
}
