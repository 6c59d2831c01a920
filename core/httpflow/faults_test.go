package httpflow_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/stores/memstore"
)

// Given no way to tell whose key it is, when guard and flow are built, then they
// are not: one scope for everybody has to be asked for by name.
//
// Faults: 47.
func TestNoScopeIsNoConfiguration(t *testing.T) {
	cfg := idem.Config{Store: memstore.New(memstore.Options{}), Policies: []idem.Policy{{Operation: operation, Preset: idem.API}}}
	g, err := idem.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close(context.Background()) }()
	if _, err := httpflow.New(httpflow.Config{Guard: g}); err == nil || !strings.Contains(err.Error(), "Scope") {
		t.Errorf("without a scope function: %v", err)
	}
	if _, err := g.Claim(context.Background(), idem.Intent{Operation: operation, Key: "k"}); !errors.Is(err, idem.ErrNoScope) {
		t.Errorf("an intent of nobody: %v", err)
	}
	cfg.Store, cfg.Unscoped = memstore.New(memstore.Options{}), true
	shared, err := idem.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = shared.Close(context.Background()) }()
	if _, err := httpflow.New(httpflow.Config{Guard: shared}); err != nil {
		t.Errorf("asked for by name: %v", err)
	}
}

// Faults: 65.
func TestARepeatThatLostItsBodyIsAConflict(t *testing.T) {
	b := newBed(t, created)
	b.want(b.send(`{"amount":1}`, "Idempotency-Key: a"), 201, "executed", 1)
	b.want(b.send("", "Idempotency-Key: a"), 422, "conflict", 1)
	b.want(b.send(`{"amount":1}`, "Idempotency-Key: a"), 201, "replayed", 1)
}
