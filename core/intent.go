package idem

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Intent is what somebody wants done once.
type Intent struct {
	Operation string
	Scope     string // whose key it is
	Key       string // a client's key, or one derived from the message; or
	Token     Token  // a token issued by this house
	Context   string // what the token is bound to, such as a cart
	Traits    []string
	// Fingerprint decides whether a repeat is the same request.
	Fingerprint Fingerprint
	// Refingerprint computes the same by another choice of fields: asked for only
	// where a record was made by the choice before the present one, see
	// [Guard.EarlierFingerprint]. Without it such a record is replayed or held,
	// and never compared.
	Refingerprint func(FingerprintChoice) (Fingerprint, error)
	Trace         []byte // the traceparent of the span that this request runs in
	// Force asks to run although the record refuses it: see Policy.OnDuplicate
	// and Config.ForceAuthorizer.
	Force bool
	// Wait bounds the wait for another owner's run: zero waits as long as the
	// policy says, and never longer; negative not at all.
	Wait   time.Duration
	Source string // where the key came from, for telemetry
	// Judged says that the caller tells the observer of the whole request itself
	// (StepAnswer), as httpflow does; without it [Do] and [DoBatch] do.
	Judged bool
	// Client is the client's address, for the audit log and nothing else. Leave it
	// empty where it may not be kept.
	Client string
	// Note is what the record says of its claim from its first write on, up to
	// 256 bytes: see the function of that name, which replaces it.
	Note string
	// Waited, if not nil, is given the time that the intent waited for another owner's
	// run, once it is decided: it is no time of ours. [DoBatch] gives each item that
	// of the whole batch.
	Waited *time.Duration
	// Refused is what somebody who has judged before would refuse the intent
	// with, such as a body that cannot be read. It is refused with that, and
	// under ModeObserve it runs beside.
	Refused *RefusedError

	id *identity
}

// identity is what names and judges a claim, computed once (PROTOCOL P9).
type identity struct {
	op     *operation
	name   string
	token  bool
	bound  bool
	off    bool // none of the guard's business
	issued time.Time
	life   time.Duration
	scope  scopeHash // zero where the operation has no resolver
}

// maxIntentKey bounds a key from a caller that is not HTTP.
const maxIntentKey = 1024

// Verify judges an intent from its head alone, without a store call: is there
// a key, is the token ours, of this scope and operation. It returns the intent
// with its identity computed, which Claim and Do then use. A refusal is a
// [*RefusedError] with Missing, Malformed or Foreign; ErrNoScope and
// ErrUnknownOperation say that the caller is wrong. A token that is ours but
// not for this context passes: whatever it ran already is still answered. Where
// nothing is guarded everything passes: see [Intent.Unguarded].
func (g *Guard) Verify(ctx context.Context, in Intent) (Intent, error) {
	id := new(identity)
	if err := g.verify(&in, id); err != nil {
		return in, err
	}
	in.id = id
	return in, nil
}

// verify is Verify, with the identity computed into id, which is left as it is
// where the intent is refused.
func (g *Guard) verify(in *Intent, id *identity) error {
	op := g.operation(in.Operation)
	switch {
	case op == nil:
		return fmt.Errorf("%w: %q", ErrUnknownOperation, in.Operation)
	case op.policy.Mode == ModeOff:
		*id = identity{op: op, off: true}
		return nil
	case in.Refused != nil:
		return in.Refused
	}
	return g.identify(op, in, id, op.policy.Share < 1)
}

// identify computes who an intent is. Where only a share of keys is guarded, what
// is outside of it is not judged: a key by its name, and a request without one
// by that. What cannot be read is refused as ever, because it might be inside.
func (g *Guard) identify(op *operation, in *Intent, as *identity, share bool) error {
	if in.Scope == "" && !g.unscoped && !(share && in.Token.IsZero() && in.Key == "") {
		return ErrNoScope
	}
	refuse := func(v Verdict, err error) error {
		return &RefusedError{Verdict: v, Operation: in.Operation, Err: err}
	}
	if len(in.Note) > maxNote {
		return fmt.Errorf("idem: a note has at most %d bytes, this one has %d", maxNote, len(in.Note))
	}
	id := identity{op: op, bound: true}
	if op.resolver != nil {
		id.scope = g.names.scopeSum(in.Scope)
	}
	switch {
	case !in.Token.IsZero():
		if !op.policy.UsesToken() {
			return refuse(Malformed, errors.New("this operation takes no tokens"))
		}
		if share && !op.policy.inShare(g.names.tokenRecord(g.prefix, in.Operation, in.Scope, in.Token)) {
			id.off = true
			break
		}
		ours, bound := g.signer.verify(in.Token, g.clock.corrected(), in.Operation, in.Scope, in.Context, in.Traits)
		if !ours {
			return refuse(Foreign, nil)
		}
		id.token, id.bound = true, bound
		id.issued, id.life = in.Token.issuedAt(), in.Token.life()
		id.name = g.names.tokenRecord(g.prefix, in.Operation, in.Scope, in.Token)
	case in.Key != "":
		if len(in.Key) > maxIntentKey {
			return refuse(Malformed, fmt.Errorf("the key is longer than %d bytes", maxIntentKey))
		}
		id.name = g.names.keyRecord(g.prefix, in.Operation, in.Scope, in.Key)
		id.off = share && !op.policy.inShare(id.name)
	case share:
		id.off = true
	default:
		return refuse(Missing, nil)
	}
	*as = id
	return nil
}
