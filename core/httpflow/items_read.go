package httpflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	idem "github.com/go-idem/idem/core"
)

// read takes the request apart; a refusal is about the request as a whole.
func (b *itemBatch) read() *Reply {
	p, r := b.plan, b.r
	scope, err := p.flow.scope(r)
	var whole *idem.RefusedError
	switch {
	case err != nil:
		b.trouble(err)
		whole = &idem.RefusedError{Verdict: idem.Unavailable, Err: err}
	case scope == "" && !p.flow.Guard.Unscoped():
		whole = &idem.RefusedError{Verdict: idem.Foreign, Err: idem.ErrNoScope}
	}
	if whole != nil && !p.observe {
		return b.refuseAll(whole)
	}
	if err := b.body.read(r, p.policy.MaxBody); err != nil {
		if errors.Is(err, errNoRoom) || errors.Is(err, errTaken) {
			b.trouble(err)
			return b.refuseAll(&idem.RefusedError{Verdict: idem.Unavailable, Err: err})
		}
		return b.refuseAll(&idem.RefusedError{Verdict: idem.Malformed, Err: err})
	}
	if err := b.takeApart(); err != nil {
		return b.refuseAll(&idem.RefusedError{Verdict: idem.Malformed, Err: err})
	}
	traits := p.flow.traits(p.policy, r)
	if err := b.bounded(traits); err != nil {
		return b.refuseAll(&idem.RefusedError{Verdict: idem.Malformed, Err: err})
	}
	b.intents = make([]idem.Intent, len(b.bodies))
	for i, item := range b.bodies {
		b.intents[i] = b.intent(scope, traits, item)
		if whole != nil {
			b.intents[i] = idem.Intent{Operation: p.policy.Operation, Scope: scope, Refused: whole}
		}
	}
	return nil
}

// takeApart finds the items in the body.
func (b *itemBatch) takeApart() error {
	if kind, _ := kindOf(contentType(b.r)); kind != bodyJSON {
		return errors.New("the body is not declared as JSON")
	}
	doc, err := b.body.Bytes()
	if err != nil {
		return err
	}
	if !json.Valid(doc) {
		return errors.New("the body is no JSON")
	}
	array, twice := jsonFind(bytes.Clone(doc), b.items) // items may outlive the framework's buffer
	switch array = bytes.TrimSpace(array); {
	case twice:
		return fmt.Errorf("a member on the way to the items stands twice; looked for %s", b.places)
	case len(array) == 0 || array[0] != '[':
		return fmt.Errorf("there are no items; looked for %s", b.places)
	}
	c := cursor{doc: array}
	c.members(func(_ string, item []byte) { b.bodies = append(b.bodies, slices.Clip(item)) })
	if len(b.bodies) > MostItems {
		return fmt.Errorf("there are %d items; one request holds at most %d", len(b.bodies), MostItems)
	}
	return nil
}

// mostHeads bounds the bytes of all items' heads together: each item is compared
// with the request's path and query, and its token with the client's traits. With
// the most items that a request holds it leaves 16 KiB for these.
const mostHeads = (16 << 10) * MostItems

// bounded refuses a head that is too long for so many items.
func (b *itemBatch) bounded(traits []string) error {
	n := len(b.r.Path()) + len(b.r.RawQuery())
	for _, trait := range traits {
		n += len(trait)
	}
	if n*len(b.bodies) > mostHeads {
		return fmt.Errorf("path, query and traits have %d bytes, which is too much for %d items; send fewer", n, len(b.bodies))
	}
	return nil
}

// intent is what one item wants done.
func (b *itemBatch) intent(scope string, traits []string, item json.RawMessage) idem.Intent {
	p, r := b.plan, b.r
	in := idem.Intent{
		Operation: p.policy.Operation, Scope: scope, Source: "json", Traits: traits,
		Trace: p.trace(r), Force: asksForce(r), Wait: wait(r),
	}
	n := b.named(item)
	if n.err != nil {
		in.Refused = &idem.RefusedError{Verdict: idem.Malformed, Operation: in.Operation, Err: n.err}
		return in
	}
	in.Key, in.Token = n.key, n.token
	if !n.token.IsZero() {
		in.Source = "token"
	}
	in.Context = p.context.find(r, &Body{mem: item, size: int64(len(item))})
	content := idem.Content{Method: r.Method(), Path: r.Path(), Query: r.RawQuery(), ContentType: contentType(r), Body: item}
	in.Fingerprint = p.flow.Guard.Fingerprint(p.policy, content)
	in.Refingerprint = func(by idem.FingerprintChoice) (idem.Fingerprint, error) {
		return p.flow.Guard.Fingerprint(&idem.Policy{Fingerprint: by}, content), nil
	}
	return in
}

// named finds what names an item: a token, else the key.
func (b *itemBatch) named(item json.RawMessage) named {
	p := b.plan
	place := fmt.Sprintf("the item's member %q", tokenMember)
	value, twice := []byte(nil), false
	if p.tokens {
		value, twice = jsonFind(item, []string{tokenMember})
	}
	isToken := value != nil || twice
	if !isToken {
		place = "the item's key"
		value, twice = jsonFind(item, b.key)
		isToken = p.tokens && len(p.sources) == 1
	}
	text, readable := jsonText(bytes.TrimSpace(value))
	switch {
	case value == nil && !twice || string(value) == "null":
		return named{}
	case twice:
		return malformed("json", "%s stands twice", place)
	case !readable:
		return malformed("json", "%s is neither a string nor a number", place)
	case isToken:
		token, err := readToken(text)
		if err != nil {
			return malformed("token", "%s: %w", place, err)
		}
		return named{sent: true, token: token, from: "token"}
	}
	key, err := idem.ParseKey(text, false)
	if err != nil {
		return malformed("json", "%s: %w", place, err)
	}
	return named{sent: true, key: key, from: "json"}
}

// observe starts the observer's step of each item.
func (b *itemBatch) observe() {
	for i := range b.intents {
		b.intents[i].Judged, b.intents[i].Waited = true, &b.waited
	}
	guard := b.plan.flow.Guard
	if !guard.Watches(idem.StepAnswer) {
		return
	}
	b.seen = make([]idem.Ending, len(b.intents))
	for i := range b.seen {
		_, b.seen[i] = guard.Observe(b.r.Context(), idem.Step{Kind: idem.StepAnswer, Operation: b.plan.policy.Operation, Source: b.intents[i].Source})
	}
}

// judged tells the observer and the log what became of one item.
func (b *itemBatch) judged(i int, r idem.StepResult) {
	if b.seen != nil {
		b.seen[i].End(r)
	}
	if log, ctx := b.plan.flow.Guard.Logger(), b.r.Context(); log.Enabled(ctx, slog.LevelDebug) {
		logJudged(log, ctx, b.plan.policy.Operation, r.Verdict)
	}
}

func (b *itemBatch) trouble(err error) {
	b.plan.flow.Guard.Logger().LogAttrs(b.r.Context(), slog.LevelError, "items cannot be judged",
		slog.String("idem.operation", b.plan.policy.Operation), slog.String("error", err.Error()))
}
