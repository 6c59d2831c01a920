package httpflow

import (
	"context"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/broken"
)

// Serve takes one request through every room of the house: key or token →
// verify → fingerprint → claim → wait → run → settle → answer. Adapters call it
// once for each request of a guarded route. It returns the error of a handler
// that ran unguarded, for the framework to deal with; everything else it answers
// itself.
func (rt *Route) Serve(x Exchange) error {
	p := rt.plan()
	head := p.fromHead(x)
	if !p.guards(x.Method()) {
		if !head.sent {
			return x.Pass()
		}
		return p.unguarded(x, head)
	}
	// A token in the body wins over a key in the head, so a body that can hold
	// one is looked into before anything is decided.
	look := p.tokens && head.token.IsZero() && head.err == nil && canHoldToken(x)
	if !head.sent && !look {
		if isEarly(x) && !broken.Is(broken.T5EarlyDataRuns) {
			x.Send(tooEarly())
			return nil
		}
		if !p.required {
			return x.Pass()
		}
	}
	j := &judgement{plan: p, x: x, named: head, ctx: x.Context()}
	defer j.end()
	return j.judge(look)
}

// canHoldToken says whether the request's content type has a place for a token.
func canHoldToken(r Request) bool {
	kind, _ := kindOf(contentType(r))
	return kind != bodyOpaque
}

// unguarded runs the handler of a method that is not guarded although a key was
// sent, and says so.
func (p *plan) unguarded(x Exchange, n named) error {
	j := &judgement{plan: p, x: x, named: n, ctx: x.Context()}
	defer j.end()
	j.begin()
	j.verdict = idem.Unguarded
	x.Mark(idem.Unguarded)
	return x.Pass()
}

// judgement is one request on its way to its one verdict.
type judgement struct {
	plan   *plan
	x      Exchange
	named  named
	ctx    context.Context
	scope  string
	body   Body
	read   bool // body is the request's
	intent idem.Intent
	kept   keeper

	verdict idem.Verdict
	err     error // why, where a refusal has more to say
	ran     bool  // the handler was entered for this very request
	running bool  // and has not returned

	observed idem.Ending
	watched  bool
	began    time.Time
	handler  time.Duration
}

// judge decides from the head alone as long as that is possible, so that nobody
// can make the server read a body with a key that is no good: key syntax, then
// scope, then the token. Only then is the body read.
func (j *judgement) judge(look bool) error {
	p, x := j.plan, j.x
	if j.named.err != nil {
		return j.refuse(idem.Malformed, j.named.err)
	}
	known := j.named.sent || p.required
	if known {
		if ok, err := j.whose(); !ok {
			return err
		}
	}
	if look {
		if ok, err := j.lookInBody(); !ok {
			return err
		}
		if !known {
			if ok, err := j.whose(); !ok {
				return err
			}
		}
	}
	j.begin()
	j.intent = idem.Intent{
		Operation: p.policy.Operation, Scope: j.scope, Key: j.named.key, Token: j.named.token, Source: j.named.from,
		Context: p.context.find(x, &j.body), Traits: p.flow.traits(p.policy, x), Trace: p.trace(x.Context()),
	}
	if ok, err := j.verify(); !ok {
		return err
	}
	if !j.read {
		if ok, err := j.readBody(); !ok {
			return err
		}
		// A context in the body is known only now. Until here a token of ours
		// was looked at without it, which forbids running and nothing else.
		if p.context.inBody() && !j.named.token.IsZero() {
			j.intent.Context = p.context.find(x, &j.body)
			if ok, err := j.verify(); !ok {
				return err
			}
		}
	}
	print, err := p.fingerprint(x, &j.body)
	if err != nil {
		return j.refuseBody(err)
	}
	j.intent.Fingerprint = print
	return j.do()
}

// whose finds out whose key it is.
func (j *judgement) whose() (ok bool, err error) {
	scope, err := j.plan.flow.scope(j.x)
	switch {
	case err != nil:
		return false, j.refuse(idem.Unavailable, err)
	case scope == "" && !j.plan.flow.Guard.Unscoped():
		return false, j.refuse(idem.Foreign, idem.ErrNoScope)
	}
	j.scope = scope
	return true, nil
}

// lookInBody reads the body to look for a token there. ok is false where that
// was the end: the body cannot be read, what it holds is no token, or neither
// key nor token was sent and none is needed.
func (j *judgement) lookInBody() (ok bool, err error) {
	if ok, err := j.readBody(); !ok {
		return false, err
	}
	n, err := tokenFromBody(contentType(j.x), &j.body)
	switch {
	case err != nil:
		return false, j.refuseBody(err)
	case n.err != nil:
		return false, j.refuse(idem.Malformed, n.err)
	case n.sent:
		j.named = n
	case j.named.sent: // a client's key, in the head
	case isEarly(j.x) && !broken.Is(broken.T5EarlyDataRuns):
		j.x.Send(tooEarly())
		return false, nil
	case !j.plan.required:
		j.giveBack()
		return false, j.x.Pass()
	}
	return true, nil
}

// readBody reads the body; ok is false where it cannot be read and that was said.
func (j *judgement) readBody() (ok bool, err error) {
	if err = j.body.read(j.x, j.plan.policy.MaxBody); err != nil {
		return false, j.refuseBody(err)
	}
	j.read = true
	return true, nil
}

// verify judges key and token without a store call.
func (j *judgement) verify() (ok bool, err error) {
	j.intent, err = j.plan.flow.Guard.Verify(j.ctx, j.intent)
	if err != nil {
		return false, j.refuseFor(err)
	}
	return true, nil
}

// do claims, runs, settles and answers, or says why not.
func (j *judgement) do() error {
	reply, verdict, err := idem.Do(j.ctx, j.plan.flow.Guard, j.intent, idem.Codec[*Reply](j.plan.codec), j.run)
	if j.ran {
		j.verdict = verdict
		if !broken.Is(broken.I6NoVerdict) {
			j.x.Mark(verdict)
		}
		j.x.Release()
		return nil
	}
	switch {
	case err == nil && reply.acceptedBy(j.x):
		j.verdict = verdict
		j.send(reply.replayed())
		return nil
	case err == nil:
		return j.refuseUsed(reply)
	case verdict == idem.Used:
		return j.refuseUsed(reply)
	}
	return j.refuseFor(err)
}

// run runs the handler inside its claim.
func (j *judgement) run(ctx context.Context) (*Reply, error) {
	j.ran, j.running = true, true
	j.giveBack()
	j.x.Fields(&j.kept)
	var begin time.Time
	if j.watched {
		begin = j.plan.flow.Guard.Now()
	}
	reply, err := j.x.Run(ctx, j.plan.policy.MaxKeptBody)
	j.running = false
	j.kept.keep(reply, j.x, j.plan.policy.MaxKeptBody)
	if j.watched {
		j.handler = j.plan.flow.Guard.Now().Sub(begin)
	}
	return reply, err
}

// giveBack gives the handler the body that was read.
func (j *judgement) giveBack() {
	if j.read && !j.body.lent {
		j.x.SetBody(&j.body)
	}
}
