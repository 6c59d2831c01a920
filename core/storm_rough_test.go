package idem_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	idem "github.com/go-idem/idem/core"
)

// roughStore fails now and then: refused, slow, applied with the reply lost, applied
// late.
type roughStore struct {
	idem.Store
	storm *storm
	late  sync.WaitGroup
}

var errRough = errors.New("rough: connection reset")

func (s *roughStore) Unwrap() idem.Store  { return s.Store }
func (s *roughStore) UsesStoreStep() bool { return true }
func (s *roughStore) Describe() idem.Description {
	return idem.Description{Name: "rough", WorstCall: 5 * time.Millisecond, MaxValue: 1 << 20, Local: true}
}

func (s *roughStore) Create(ctx context.Context, name string, value []byte, ttl time.Duration) (idem.Result, error) {
	value = bytes.Clone(value) // it may be applied late
	return s.call(ctx, func(ctx context.Context) (idem.Result, error) { return s.Store.Create(ctx, name, value, ttl) })
}

func (s *roughStore) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (idem.Result, error) {
	old, value = bytes.Clone(old), bytes.Clone(value)
	return s.call(ctx, func(ctx context.Context) (idem.Result, error) { return s.Store.Swap(ctx, name, old, value, ttl) })
}

func (s *roughStore) Load(ctx context.Context, name string) (idem.Result, error) {
	return s.call(ctx, func(ctx context.Context) (idem.Result, error) { return s.Store.Load(ctx, name) })
}

func (s *roughStore) call(ctx context.Context, apply func(context.Context) (idem.Result, error)) (idem.Result, error) {
	often := 40
	if idem.StoreStep(ctx) == "renew" {
		often = 4 // so that leases are lost
	}
	if !s.storm.on.Load() || rand.IntN(often) > 0 {
		return apply(ctx)
	}
	s.storm.count("faults")
	switch rand.IntN(4) {
	case 0:
		return idem.Result{}, errRough
	case 1:
		_, _ = apply(ctx)
		return idem.Result{}, errRough
	case 2:
		after := time.After(time.Duration(rand.IntN(30)) * time.Millisecond)
		s.late.Go(func() {
			<-after
			_, _ = apply(context.Background())
		})
		return idem.Result{}, errRough
	}
	select {
	case <-time.After(time.Duration(rand.IntN(4)) * time.Millisecond):
	case <-ctx.Done():
		return idem.Result{}, ctx.Err()
	}
	return apply(ctx)
}

// keeps is an auditor and an observer who keeps whatever is told.
type keeps struct {
	mu   sync.Mutex
	told []any
}

func (k *keeps) keep(what any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.told = append(k.told, what); len(k.told) > 1000 {
		k.told = k.told[500:]
	}
}

func (k *keeps) Audit(ctx context.Context, t idem.Transition) error {
	k.keep(t)
	return nil
}

func (k *keeps) Begin(ctx context.Context, s *idem.Step) (context.Context, idem.StepEnder) {
	k.keep(*s)
	return context.WithValue(ctx, beginKey{}, s.Kind), k
}

func (k *keeps) Ended(ctx context.Context, s *idem.Step, r *idem.StepResult) {
	k.keep(*r)
	k.keep(ctx)
}

func (k *keeps) Start(ctx context.Context, s idem.Step) (context.Context, func(idem.StepResult)) {
	return ctx, func(r idem.StepResult) { k.keep(r) }
}

// The operations of a storm. Of the first two nothing runs twice unless it was
// released, whatever the store does.
var stormPolicies = map[string]func(*idem.Policy){
	"storm:hold:run":   func(p *idem.Policy) {},
	"storm:cancel:run": func(p *idem.Policy) { p.OnDisconnect = idem.Cancel },
	"storm:retake:run": func(p *idem.Policy) { p.OnCrash = idem.Retake },
	"storm:force:run":  func(p *idem.Policy) { p.OnDuplicate = idem.Force },
	"storm:open:run":   func(p *idem.Policy) { p.OnOutage = idem.Open },
	"storm:watch:run":  func(p *idem.Policy) { p.Mode = idem.ModeObserve },
}

var stormOperations = []string{"storm:hold:run", "storm:cancel:run", "storm:retake:run", "storm:force:run", "storm:open:run", "storm:watch:run"}

// stormGuard is one process. A watched one has hooks, an auditor and an observer,
// which keep what they are told; the other uses its claims again.
func stormGuard(t *testing.T, s *storm, store idem.Store, watched bool) *idem.Guard {
	t.Helper()
	cfg := idem.Config{Store: store, NameKey: idem.NameKey("0123456789abcdef0123456789abcdef")}
	for _, operation := range stormOperations {
		p := idem.Policy{
			Operation: operation, Preset: idem.API, OnDuplicate: idem.Wait, Wait: 30 * time.Millisecond,
			Lease: 100 * time.Millisecond, MaxRun: 300 * time.Millisecond,
		}
		stormPolicies[operation](&p)
		cfg.Policies = append(cfg.Policies, p)
	}
	k := &keeps{}
	cfg.ForceAuthorizer = func(_ context.Context, in idem.Intent) bool {
		k.keep(in)
		return rand.IntN(2) == 0
	}
	if watched {
		cfg.Observer, cfg.Auditor = k, k
		cfg.Hooks = idem.Hooks{
			BeforeClaim: func(ctx context.Context, in idem.HookIntent) context.Context { k.keep(in); return ctx },
			BeforeSettle: func(ctx context.Context, p idem.SettlePlan) idem.SettleChange {
				k.keep(ctx)
				return idem.SettleChange{}
			},
			AfterVerdict: func(_ context.Context, v idem.HookVerdict) { k.keep(v) },
		}
	}
	g, err := idem.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
