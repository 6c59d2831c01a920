package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/reconcile"
	"github.com/go-idem/idem/stores/redisstore"
)

const (
	operation = "shop:order:pay"
	// shortLease is short, so that nobody waits for long.
	shortLease    = time.Second
	diedAsPlanned = 3
)

// orders are those that the first process does not bring to an end: what the
// provider makes of each stands in provider.go.
var orders = []string{"book", "lamp", "pen", "vase"}

// receipt is the answer of a payment, kept and replayed.
type receipt struct {
	Charge  string `json:"charge,omitempty"`
	Refused string `json:"refused,omitempty"`
}

func (r receipt) String() string {
	if r.Refused != "" {
		return r.Refused
	}
	return "charge " + r.Charge
}

// shop is a process that takes payments.
type shop struct {
	guard    *idem.Guard
	store    *redisstore.Store
	provider string
	// called hears of every order that the provider was called for: the process
	// that dies waits for it, and nobody else does.
	called func(order string)
	// client gives a call up after a lease, see resolve.
	client *http.Client
}

// open opens a shop. A lease has to be nine times what a call of the store may
// take, connecting included.
func open(ctx context.Context, redisAddr, provider string, nameKey []byte, lease time.Duration) (*shop, error) {
	s := &shop{provider: provider, called: func(string) {}, client: &http.Client{Timeout: lease}}
	var err error
	s.store, err = redisstore.Open(ctx, redisstore.Options{
		Universal:   &redis.UniversalOptions{Addrs: []string{redisAddr}},
		CallTimeout: lease / 20, EvictionChecked: "examples/reconcile: a miniredis evicts nothing",
	})
	if err != nil {
		return nil, err
	}
	s.guard, err = idem.New(idem.Config{
		Store: s.store, NameKey: nameKey,
		Policies:  []idem.Policy{{Operation: operation, Preset: idem.Payment, Key: []string{"header:Idempotency-Key"}, Lease: lease}},
		Resolvers: map[string]idem.Resolver{operation: reconcile.Func(s.resolve)},
	})
	return s, err
}

// Close ends the process in order.
func (s *shop) Close() {
	_ = s.guard.Close(context.Background())
	_ = s.store.Close()
}

// pay takes a payment for an order, once.
func (s *shop) pay(ctx context.Context, order string) (receipt, idem.Verdict, error) {
	in := idem.Intent{Operation: operation, Scope: "alice", Key: order}
	return idem.Do(ctx, s.guard, in, idem.JSON[receipt](), func(ctx context.Context) (receipt, error) {
		key, _ := idem.DownstreamKey(ctx, "provider")
		if err := idem.MarkEffects(ctx, "payment of "+order); err != nil {
			return receipt{}, err
		}
		if order == "pen" && s.dies() {
			s.called(order) // this one dies before it calls
			select {}
		}
		body, _ := json.Marshal(charge{Order: order})
		got, _, err := s.ask(ctx, http.MethodPost, "/charges", key, body)
		s.called(order)
		if err != nil {
			return receipt{}, err
		}
		return receipt{Charge: got.ID, Refused: got.Refused}, nil
	})
}

// resolve finds out what became of a payment: the provider knows it by the key
// that the run had called it with.
func (s *shop) resolve(ctx context.Context, r reconcile.Record) (reconcile.Resolution, error) {
	got, status, err := s.ask(ctx, http.MethodGet, "/charges", r.DownstreamKey("provider"), nil)
	switch {
	case err != nil:
		return reconcile.Later(), err
	case status == http.StatusNotFound:
		// It never came to them, and cannot any more: a call has a lease to arrive,
		// and the process that made it has not been heard of for two.
		return reconcile.Released(), nil
	case status == http.StatusAccepted:
		return reconcile.Later(), nil
	case got.Refused != "":
		answer, err := reconcile.JSON(receipt{Refused: got.Refused})
		return reconcile.Failed(answer), err
	}
	answer, err := reconcile.JSON(receipt{Charge: got.ID})
	return reconcile.Succeeded(answer), err
}

// state is the state of an order's record.
func (s *shop) state(ctx context.Context, order string) idem.State {
	r, err := s.guard.Record(ctx, s.guard.RecordName(operation, "alice", idem.KindKey, order))
	if err != nil {
		return idem.StateAbsent
	}
	return r.State
}

// ask calls the provider.
func (s *shop) ask(ctx context.Context, method, path, key string, body []byte) (got charge, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, method, s.provider+path, bytes.NewReader(body))
	if err != nil {
		return got, 0, err
	}
	req.Header.Set("Idempotency-Key", key)
	res, err := s.client.Do(req)
	if err != nil {
		return got, 0, err
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		return got, res.StatusCode, fmt.Errorf("the provider's answer cannot be read: %w", err)
	}
	return got, res.StatusCode, nil
}

// dies tells whether this is the process that dies.
func (s *shop) dies() bool { return os.Getenv(crashEnv) != "" }

// payAndDie is the process that dies: it does so when the provider was called for
// every order but one, and before it hears anything. It returns only where
// something else goes wrong.
func payAndDie(at string) error {
	redisAddr, rest, _ := strings.Cut(at, " ")
	provider, rest, _ := strings.Cut(rest, " ")
	keyText, leaseText, _ := strings.Cut(rest, " ")
	nameKey, err := hex.DecodeString(keyText)
	if err != nil {
		return errors.New("the name key is not hexadecimal")
	}
	lease, err := time.ParseDuration(leaseText)
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := open(ctx, redisAddr, provider, nameKey, lease)
	if err != nil {
		return err
	}
	ends := make(chan error)
	s.called = func(string) {
		ends <- nil
		select {} // it hears nothing any more
	}
	for _, order := range orders {
		go func() {
			_, verdict, err := s.pay(ctx, order)
			ends <- fmt.Errorf("%s was told %s before the provider was called: %w", order, verdict, err)
		}()
	}
	for range orders {
		if err := <-ends; err != nil {
			return err
		}
	}
	os.Exit(diedAsPlanned)
	return nil
}
