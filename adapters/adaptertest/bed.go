package adaptertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/core/storetest"
)

// BedConfig says what a Bed is made of.
type BedConfig struct {
	Store    idem.Store
	Policies []idem.Policy // nil: Policies()
	Prefix   string        // of record names; "idem:" if empty
	NameKey  idem.NameKey
	Signer   *idem.Signer
	Sealer   *idem.Sealer // nil: answers are kept in the clear

	// ClockOffset shifts every reading of the host's clock. Past does the same
	// backwards and also keeps the guard from asking the store for its time, so
	// that it lives in the past whatever the store says.
	ClockOffset, Past time.Duration

	// Control serves /control/… and obeys Do-Gate. Advance moves the store's time
	// on; nil where that cannot be done.
	Control bool
	Advance func(time.Duration) error

	Ledger string    // file to which runs are appended; "" for none
	Log    io.Writer // JSON lines of level debug; nil for none
}

// Bed is a guard with a scripted handler behind each of its operations, and the
// routes to drive and to watch it: the testbed, whatever the framework.
type Bed struct {
	Guard  *idem.Guard
	Flow   *httpflow.Flow
	Counts *Counts
	Gates  *Gates
	Faults *storetest.Faults

	cfg   BedConfig
	watch *watch
	moved atomic.Int64 // nanoseconds by which /control/expire moved our clock on
}

// NewBed builds the guard and the flow. Its error is the guard's: a policy the
// store does not allow, or a store whose records have another name key.
func NewBed(cfg BedConfig) (*Bed, error) {
	if cfg.Policies == nil {
		cfg.Policies = Policies()
	}
	if cfg.Prefix == "" {
		cfg.Prefix = "idem:"
	}
	b := &Bed{cfg: cfg, watch: newWatch(), Gates: &Gates{}, Faults: storetest.NewFaults()}
	store := cfg.Store
	if cfg.Past > 0 {
		store = noClock{store}
	}
	logger := slog.New(slog.DiscardHandler)
	if cfg.Log != nil {
		logger = slog.New(slog.NewJSONHandler(cfg.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	var err error
	b.Guard, err = idem.New(idem.Config{
		ForceAuthorizer: func(_ context.Context, in idem.Intent) bool { return in.Scope == mayForce },
		Funcs:           keyFuncs(),

		Store: b.watch.over(b.Faults.Wrap(store)), Policies: cfg.Policies, Prefix: cfg.Prefix,
		NameKey: cfg.NameKey, Signer: cfg.Signer, Sealer: cfg.Sealer, Observer: b.watch, Logger: logger,
		Clock: b.clock,
	})
	if err != nil {
		return nil, err
	}
	if b.Flow, err = httpflow.New(httpflow.Config{Guard: b.Guard, Scope: bearerScope}); err != nil {
		return nil, errors.Join(err, b.Guard.Close(context.Background()))
	}
	if b.Counts, err = NewCounts(b.identify, cfg.Ledger); err != nil {
		return nil, errors.Join(err, b.Guard.Close(context.Background()))
	}
	return b, nil
}

// clock is the host's clock as this bed reads it.
func (b *Bed) clock() time.Time {
	return time.Now().Add(b.cfg.ClockOffset - b.cfg.Past + time.Duration(b.moved.Load()))
}

// Close waits for the guard's work until ctx ends. Gates still shut are opened.
func (b *Bed) Close(ctx context.Context) error {
	b.Gates.OpenAll()
	return errors.Join(b.Guard.Close(ctx), b.Counts.Close())
}

// bearerScope reads "Bearer name.anything" as the scope name; a login that was
// refreshed is still the same person's. Without a header everybody is anonymous,
// which only a test server may say.
func bearerScope(r httpflow.Request) (string, error) {
	values := r.Header("Authorization")
	if len(values) == 0 {
		return "anonymous", nil
	}
	return scopeOf(values[0]), nil
}

// mayForce is the only user whose requests may be forced.
const mayForce = "root"

func scopeOf(authorization string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(authorization, "Bearer "), ".")
	return name
}

// Routes are the bed's routes, for Adapter.Serve.
func (b *Bed) Routes() []Route {
	script := Script(b.Counts, b.gates())
	var routes []Route
	for _, p := range b.Guard.Policies() {
		r := Route{Prefix: place(p.Operation), Operation: p.Operation, Handler: script}
		if p.Operation == "test:timed:run" {
			r.Timeout = timedOut
		}
		r.Compress = p.Operation == "test:zip:run"
		if r.Items = b.itemsOf(&p); r.Items != nil {
			r.Method, r.Operation, r.Handler, r.Each = http.MethodPost, "", b.bareItems, b.Items()
		}
		routes = append(routes, r)
	}
	routes = append(routes,
		Route{Prefix: "/idempotency/", Endpoints: true},
		Route{Method: http.MethodGet, Prefix: "/runs", Handler: func(x Exchange) error { return answerJSON(x, http.StatusOK, b.Counts.Tally()) }},
		Route{Method: http.MethodPost, Prefix: "/runs/reset", Handler: func(x Exchange) error {
			b.Counts.Reset()
			return answerJSON(x, http.StatusOK, b.Counts.Tally())
		}})
	if b.cfg.Control {
		routes = append(routes, b.controls()...)
	}
	return routes
}

func (b *Bed) gates() *Gates {
	if b.cfg.Control {
		return b.Gates
	}
	return nil
}

// identify names the intent behind a run as "<scope>|<record name>": the claim
// knows it, whatever the key was made of. A run without one is named by the key or
// token that it came with, by nothing where there was none that could be read.
func (b *Bed) identify(x Exchange) string {
	scope, operation := "anonymous", ""
	if values := x.Header("Authorization"); len(values) > 0 {
		scope = scopeOf(values[0])
	}
	if claim, ok := idem.ClaimFrom(x.Context()); ok && claim.Record() != "" {
		return scope + "|" + claim.Record()
	}
	for _, p := range b.cfg.Policies {
		if strings.HasPrefix(x.Path(), place(p.Operation)) {
			operation = p.Operation
		}
	}
	kind, key := b.named(x, operation)
	if key == "" {
		return scope + "|"
	}
	return scope + "|" + idem.RecordName(b.cfg.NameKey, b.cfg.Prefix, operation, scope, kind, key)
}

// named finds the key or token that was sent, where no claim tells it; the handler
// of an application has no need to.
func (b *Bed) named(x Exchange, operation string) (idem.KeyKind, string) {
	if p, ok := b.Guard.Policy(operation); ok && p.UsesToken() {
		for _, name := range []string{"Idempotency-Token", "X-Idempotent-Token"} {
			if values := x.Header(name); len(values) > 0 {
				return idem.KindToken, values[0]
			}
		}
		if token := b.tokenInBody(x); token != "" {
			return idem.KindToken, token
		}
	}
	if values := x.Header("Idempotency-Key"); len(values) > 0 {
		if key, err := idem.ParseKey(values[0], false); err == nil {
			return idem.KindKey, key
		}
	}
	return idem.KindKey, ""
}

// tokenInBody looks for a token in a form or a JSON body.
func (b *Bed) tokenInBody(x Exchange) string {
	kind := strings.Join(x.Header("Content-Type"), "")
	switch {
	case strings.HasPrefix(kind, "application/json"):
		body, err := x.Body()
		var member struct {
			Token string `json:"idempotentToken"`
		}
		if err != nil || json.Unmarshal(body, &member) != nil {
			return ""
		}
		return member.Token
	case strings.HasPrefix(kind, "application/x-www-form-urlencoded"), strings.HasPrefix(kind, "multipart/form-data"):
		fields, _, err := x.Form()
		if err != nil {
			return ""
		}
		return fields.Get("idempotent-token")
	}
	return ""
}

// answerJSON answers v as JSON.
func answerJSON(x Exchange, status int, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing an answer as JSON: %w", err)
	}
	x.SetHeader("Content-Type", "application/json")
	x.SetHeader("Cache-Control", "no-store")
	return x.Answer(status, text)
}
