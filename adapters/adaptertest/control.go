package adaptertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/storetest"
)

// The control endpoints. /control/fault, /control/expire and /control/policy are
// for everybody who drives a testbed; the others are what the statements need
// besides.

func (b *Bed) controls() []Route {
	post := func(path string, h func(Exchange) error) Route {
		return Route{Method: http.MethodPost, Prefix: path, Handler: h}
	}
	return []Route{
		post("/control/fault", b.controlFault),
		post("/control/expire", b.controlExpire),
		post("/control/policy", b.controlPolicy),
		post("/control/gate", b.controlGate),
		post("/control/seen", func(x Exchange) error { return answerJSON(x, http.StatusOK, b.seen()) }),
		post("/control/spans", func(x Exchange) error {
			return answerJSON(x, http.StatusOK, map[string]string{"text": b.watch.spans()})
		}),
		post("/control/issue", b.controlIssue),
	}
}

// seen is what the guard did so far.
func (b *Bed) seen() Seen {
	s := b.watch.now()
	s.Stats, s.Injected = b.Guard.Stats(), map[string]int{}
	for _, step := range storetest.Steps() {
		if n := b.Faults.Injected(step, ""); n > 0 {
			s.Injected[step] = n
		}
	}
	return s
}

// order reads the JSON of a control request; it answers 400 by itself.
func order(x Exchange, into any) (ok bool, err error) {
	body, err := x.Body()
	if err != nil {
		return false, err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return false, answerJSON(x, http.StatusBadRequest, map[string]string{"error": err.Error()})
	}
	return true, nil
}

func answerError(x Exchange, status int, err error) error {
	return answerJSON(x, status, map[string]string{"error": err.Error()})
}

// duration is a time.Duration as Go writes it.
type duration time.Duration

func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = duration(v)
	return err
}

func (d duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// controlFault has the next store calls made for a step misbehave.
func (b *Bed) controlFault(x Exchange) error {
	var o struct {
		Op    string   `json:"op"`
		Mode  string   `json:"mode"`
		Times int      `json:"times"` // 0 clears, below 0 is until cleared
		Delay duration `json:"delay"`
	}
	if ok, err := order(x, &o); !ok {
		return err
	}
	fault := storetest.Fault{Mode: storetest.Mode(o.Mode), Times: o.Times, Delay: time.Duration(o.Delay)}
	plan := []storetest.Fault{fault}
	if o.Times == 0 {
		plan = nil
	}
	if err := b.Faults.Set(o.Op, plan...); err != nil {
		return answerError(x, http.StatusBadRequest, err)
	}
	return answerJSON(x, http.StatusOK, map[string]any{"op": o.Op, "mode": o.Mode, "times": o.Times})
}

// controlExpire moves the time of tokens and records on.
func (b *Bed) controlExpire(x Exchange) error {
	var o struct {
		Advance duration `json:"advance"`
	}
	if ok, err := order(x, &o); !ok {
		return err
	}
	if b.cfg.Advance == nil {
		return answerError(x, http.StatusConflict, errors.New("the time of this store cannot be moved: use memory or miniredis"))
	}
	if o.Advance <= 0 {
		return answerError(x, http.StatusBadRequest, errors.New("advance must be a positive duration, such as 16m"))
	}
	if err := b.cfg.Advance(time.Duration(o.Advance)); err != nil {
		return answerError(x, http.StatusInternalServerError, err)
	}
	b.moved.Add(int64(o.Advance)) // the guard reads the store's clock once a minute only
	return answerJSON(x, http.StatusOK, map[string]any{"advanced": o.Advance})
}

// controlPolicy puts a policy in the place of the running one of its operation
// and answers it as it runs, with its defaults.
func (b *Bed) controlPolicy(x Exchange) error {
	body, err := x.Body()
	if err != nil {
		return err
	}
	var p idem.Policy
	if err := json.Unmarshal(body, &p); err != nil {
		return answerError(x, http.StatusBadRequest, err)
	}
	switch err := b.Guard.SetPolicy(p); {
	case errors.Is(err, idem.ErrUnavailable):
		return answerError(x, http.StatusServiceUnavailable, err)
	case err != nil:
		return answerError(x, http.StatusBadRequest, err)
	}
	running, _ := b.Guard.Policy(p.Operation) // SetPolicy knew it
	return answerJSON(x, http.StatusOK, running)
}

// controlGate opens a gate, or tells how many handlers have come to it.
func (b *Bed) controlGate(x Exchange) error {
	var o struct {
		Name string `json:"name"`
		Open bool   `json:"open"`
	}
	if ok, err := order(x, &o); !ok {
		return err
	}
	if o.Open {
		b.Gates.Open(o.Name)
	}
	return answerJSON(x, http.StatusOK, map[string]int{"arrived": b.Gates.Arrived(o.Name)})
}

// controlIssue issues a token as it would have been issued some time ago: by a
// guard of the same keys whose clock is behind, over a store of its own.
func (b *Bed) controlIssue(x Exchange) error {
	var o struct {
		Operation string   `json:"operation"`
		Scope     string   `json:"scope"`
		Context   string   `json:"context"`
		Age       duration `json:"age"`
	}
	if ok, err := order(x, &o); !ok {
		return err
	}
	running, ok := b.Guard.Policy(o.Operation)
	if !ok {
		return answerError(x, http.StatusBadRequest, idem.ErrUnknownOperation)
	}
	policy := *running
	policy.OnDuplicate = idem.Reject // nothing runs there
	behind := time.Until(b.Guard.Now().Add(-time.Duration(o.Age)))
	past, err := idem.New(idem.Config{
		Store: &drawer{}, Policies: []idem.Policy{policy}, Prefix: b.cfg.Prefix, NameKey: b.cfg.NameKey, Signer: b.cfg.Signer,
		Clock: func() time.Time { return time.Now().Add(behind) }, Funcs: keyFuncs(),
	})
	if err != nil {
		return fmt.Errorf("building a guard in the past: %w", err)
	}
	token, err := past.Issue(x.Context(), idem.TokenRequest{Operation: o.Operation, Scope: o.Scope, Context: o.Context})
	if err := errors.Join(err, past.Close(x.Context())); err != nil {
		return answerError(x, http.StatusBadRequest, err)
	}
	return answerJSON(x, http.StatusOK, map[string]string{"token": token.Reveal()})
}
