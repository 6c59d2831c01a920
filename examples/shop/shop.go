package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/stores/memstore"
)

// orderOperation is the one thing this shop guards.
const orderOperation = "shop:order:create"

// The times of the demonstration. A real shop leaves the lease at its default
// of 30 s; here a person wants to see a dead server's claim run out. Where nobody
// looks on, and the machine is busy, -lease makes it longer.
const (
	shortLease = 2 * time.Second
	longLease  = 10 * time.Second // a press is repeated for longer than that: resendFor
	tokenLife  = 15 * time.Minute
	briefLife  = time.Second // of the forms that the tea break leaves lying
	retention  = time.Hour
	slowPace   = 3 * time.Second
)

// orderPolicy says how placing an order is guarded. Form answers most
// questions: a token is required, a second press waits for the first, a refusal
// leaves the form usable.
//
// OnCrash is Retake, and it is right only because the handler marks the point of
// no return (idem.MarkEffects) just before it writes the row: a server that died
// before the mark has written nothing, so the next press may run the order; one
// that died after it may have, and then the mark makes the form `uncertain`
// whatever OnCrash says. Without the mark this shop would have to hold both.
func orderPolicy(life, lease time.Duration) idem.Policy {
	return idem.Policy{
		Operation: orderOperation, Preset: idem.Form, Context: "form:cart",
		OnCrash: idem.Retake,
		Lease:   lease, MaxRun: time.Minute, Retention: retention, TokenLife: life,
	}
}

// keys is what every process of one shop shares.
type keys struct {
	Name   idem.NameKey
	Sign   []byte
	Prefix string
}

// secretKeys are keys on their way to a child process: idem's own types refuse
// to be written out.
type secretKeys struct {
	Name, Sign []byte
	Prefix     string
}

// shop is the shop in one process.
type shop struct {
	adapter string
	store   string // in words, for the page
	server  string // what this process is called in the order table
	guarded bool
	lease   time.Duration

	keys  keys
	guard *idem.Guard
	brief *idem.Guard // issues forms that expire at once; asks nothing of the store
	flow  *httpflow.Flow

	table   *table
	log     *requestLog
	stages  stages
	shows   shows
	player  *player  // plays troubles; nil in a worker
	doom    *doom    // how this process is to die; nil if it is not
	lab     *lab     // nil in a worker
	export  *export  // nil where nothing is traced
	figures *figures // nil in a worker
	trail   *trail   // nil where nothing is audited

	opened  time.Time // by the guard's clock, after it had made its records' card
	closing sync.Once
	closed  chan struct{}
}

// shopConfig is what a shop is built from.
type shopConfig struct {
	adapter, storeWords, server string
	guarded                     bool
	lease                       time.Duration
	keys                        keys
	store                       idem.Store
	table                       *table
	doom                        *doom
	export                      *export
	figures                     *figures
	trail                       *trail
	logger                      *slog.Logger
}

// newShop builds a shop; close it when it is no longer served.
func newShop(cfg shopConfig) (*shop, error) {
	s := &shop{
		adapter: cfg.adapter, store: cfg.storeWords, server: cfg.server, guarded: cfg.guarded, lease: cfg.lease,
		keys: cfg.keys, table: cfg.table, doom: cfg.doom, export: cfg.export, figures: cfg.figures, trail: cfg.trail, log: &requestLog{}, closed: make(chan struct{}),
	}
	signer, err := idem.NewSigner(idem.SigningKey{ID: 1, Secret: cfg.keys.Sign})
	if err != nil {
		return nil, fmt.Errorf("build the shop: %w", err)
	}
	config := idem.Config{
		Store: cfg.store, Policies: []idem.Policy{orderPolicy(tokenLife, cfg.lease), labPolicy(cfg.lease)},
		Signer: signer, NameKey: cfg.keys.Name, Prefix: cfg.keys.Prefix, Logger: cfg.logger,
		Observer: idem.Observers(cfg.export.steps(), cfg.figures.steps()), Auditor: cfg.trail.auditor(),
	}
	if s.guard, err = idem.New(config); err != nil {
		return nil, fmt.Errorf("build the shop: %w", err)
	}
	s.opened = s.guard.Now()
	if err := s.figures.watch(s.guard, s.trail.drops()); err != nil {
		return nil, errors.Join(fmt.Errorf("build the shop: %w", err), s.guard.Close(context.Background()))
	}
	// Issuing asks nothing of the store: this one only hands on the time.
	config.Store = memstore.New(memstore.Options{Clock: s.guard.Now})
	config.Policies, config.Logger, config.Observer, config.Auditor = []idem.Policy{orderPolicy(briefLife, cfg.lease)}, nil, nil, nil
	if s.brief, err = idem.New(config); err != nil {
		return nil, errors.Join(fmt.Errorf("build the shop: %w", err), s.guard.Close(context.Background()))
	}
	s.flow, err = httpflow.New(httpflow.Config{Guard: s.guard, Scope: whoAsks, TraceParent: cfg.export.parent()})
	if err != nil {
		return nil, fmt.Errorf("build the shop: %w", err)
	}
	return s, nil
}

// whoAsks is the scope of the shop's tokens: the visitor.
func whoAsks(r httpflow.Request) (string, error) {
	for _, line := range r.Header("Cookie") {
		if v := visitorFrom(line); v != "" {
			return strings.Clone(string(v)), nil // Fiber uses the bytes of a request again
		}
	}
	return "", nil // nobody: the guard refuses
}

// close ends the guards of a shop that is not served.
func (s *shop) close(ctx context.Context) error {
	return errors.Join(s.figures.close(ctx), s.guard.Close(ctx), s.brief.Close(ctx))
}
