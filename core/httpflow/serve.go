package httpflow

import (
	"context"
	"strings"
	"sync"
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
	if !p.guards(x.Method()) {
		return p.unguarded(x)
	}
	if p.policy.Mode == idem.ModeOff {
		if off, ok := p.off(x.Context()); ok {
			return p.passOff(x, off)
		}
	}
	var head named
	p.fromHead(x, &head)
	if p.passes(x, head.sent) {
		return x.Pass()
	}
	j := newJudgement(p, x, &head)
	defer j.end()
	return j.judge()
}

// unguarded runs a request whose method is not guarded, and says so where its
// client believes that it is.
func (p *plan) unguarded(x Exchange) error {
	sent := p.sentKey(x)
	if !sent.sent {
		return x.Pass()
	}
	j := newJudgement(p, x, &sent)
	defer j.end()
	return j.pass()
}

// Passes says that a request is none of the guard's business: no key was sent,
// and none is needed or could stand elsewhere. Serve would only pass it on, so
// an adapter may ask this before it makes an Exchange.
func (rt *Route) Passes(r Request) bool {
	p := rt.plan()
	sent := p.anySent(r)
	if !p.guards(r.Method()) {
		return !sent
	}
	return !p.derives && p.passes(r, sent)
}

// passes says of a request of a guarded method that nothing in its head names
// it, and that nothing has to, or could elsewhere.
func (p *plan) passes(r Request, found bool) bool {
	return !found && !p.required && !p.mayHoldKey(r, len(p.sources)) && !p.refusesEarly(r)
}

// judgement is one request on its way to its one verdict.
type judgement struct {
	plan   *plan
	x      Exchange
	r      Request // x
	named  named
	ctx    context.Context
	scope  string
	body   Body
	read   bool // body is the request's
	intent idem.Intent
	kept   keeper
	answer room // the handler's, or the kept one

	besides bool // it would have been refused, and runs beside

	verdict idem.Verdict
	err     error           // why, where a refusal has more to say
	entered context.Context // of the handler, where it was entered for this very request
	running bool            // and that has not returned

	observed idem.Ending
	watched  bool
	began    time.Time     // the handler
	handler  time.Duration // how long that took
	waited   time.Duration // for another owner's

	enter func(context.Context) (*Reply, error) // run, bound once
}

// judgements are used again: no handler gets to see one, so none can hold on to
// it after its request.
var judgements = sync.Pool{New: func() any {
	j := new(judgement)
	j.enter = j.run
	return j
}}

func newJudgement(p *plan, x Exchange, n *named) *judgement {
	j := judgements.Get().(*judgement)
	j.plan, j.x, j.r, j.named, j.ctx = p, x, x, *n, x.Context()
	return j
}

// reset leaves nothing of the request behind, save room for the next one's texts.
func (j *judgement) reset() {
	enter, before, text := j.enter, j.kept.before[:0], j.kept.text[:0]
	if broken.Is(broken.I4JudgementKept) {
		*j = judgement{enter: enter, body: j.body, read: j.read}
		return
	}
	*j = judgement{}
	if j.enter = enter; cap(text) <= roomForTexts {
		j.kept.before, j.kept.text = before, text
	}
}

const roomForTexts = 4 << 10

// judge decides from the head alone as long as that is possible, so that nobody
// can make the server read a body with a key that is no good: key syntax, then
// scope, then the token. Only then is the body read, sooner only where the key
// itself can stand in it.
func (j *judgement) judge() error {
	p, r := j.plan, j.r
	// What stands first in the policy's order decides, so a body that can hold it
	// is looked into before anything is decided by what stands in the head.
	look := j.named.err == nil && j.named.failed == nil && p.mayHoldKey(r, j.named.at)
	switch {
	case j.named.err != nil || j.named.failed != nil:
		return j.refuseNamed(j.named)
	case !j.named.sent && !look && p.refusesEarly(r):
		j.x.Send(tooEarly())
		return nil
	}
	known := j.named.sent || p.required && !p.partial
	if known {
		if ok, err := j.whose(); !ok {
			return err
		}
	}
	if look {
		if ok, err := j.lookInBody(); !ok {
			return err
		}
		if !known && j.named.sent {
			if ok, err := j.whose(); !ok {
				return err
			}
		}
	}
	if j.nested() {
		j.giveBack()
		return j.x.Pass()
	}
	if j.named.sent || !p.partial {
		j.begin()
	}
	j.intend()
	if !j.plain() {
		if ok, err := j.verify(); !ok {
			return err
		}
	}
	if !j.read {
		if ok, err := j.readBody(); !ok {
			return err
		}
		// A context in the body is known only now. Until here a token of ours
		// was looked at without it, which forbids running and nothing else.
		if p.context.inBody() && !j.named.token.IsZero() {
			j.intent.Context = p.context.find(r, &j.body)
			if ok, err := j.verify(); !ok {
				return err
			}
		}
	}
	print, err := p.fingerprint(p.policy, r, &j.body)
	if err != nil {
		return j.refuseBody(err)
	}
	j.intent.Fingerprint = print
	if _, changed := p.flow.Guard.EarlierFingerprint(p.policy.Operation); changed {
		j.intent.Refingerprint = func(by idem.FingerprintChoice) (idem.Fingerprint, error) {
			return p.fingerprint(&idem.Policy{Fingerprint: by}, r, &j.body)
		}
	}
	return j.do()
}

// intend fills in what the intent is known by from the head. The guard hashes a
// key and keeps it nowhere, so it may be a piece of the framework's buffers; whoever
// is asked whether to force it may keep it.
func (j *judgement) intend() {
	p, r, in := j.plan, j.r, &j.intent
	in.Operation, in.Scope, in.Key, in.Token, in.Source = p.policy.Operation, j.scope, j.named.key, j.named.token, j.named.from
	if p.context.kind != "" {
		in.Context = p.context.find(r, &j.body)
	}
	in.Traits, in.Trace, in.Wait, in.Client = p.flow.traits(p.policy, r), p.trace(r), wait(r), p.flow.client(r)
	if asksForce(r) {
		in.Force, in.Key = true, strings.Clone(in.Key)
	}
}

// whose finds out whose key it is.
func (j *judgement) whose() (ok bool, err error) {
	scope, err := j.plan.flow.scope(j.x)
	switch {
	case err != nil:
		j.trouble("scope cannot be told", err)
		return false, j.refuse(idem.Unavailable, err)
	case scope == "" && !j.plan.flow.Guard.Unscoped():
		return false, j.refuse(idem.Foreign, idem.ErrNoScope)
	}
	j.scope = scope
	return true, nil
}

// lookInBody reads the body to look for a token or key there. ok is false where
// that was the end: the body cannot be read, what it holds is no key, or neither
// key nor token was sent and none is needed.
func (j *judgement) lookInBody() (ok bool, err error) {
	if ok, err := j.readBody(); !ok {
		return false, err
	}
	n, err := j.plan.fromBody(j.x, &j.body, j.named.at)
	switch {
	case err != nil:
		return false, j.refuseBody(err)
	case n.err != nil || n.failed != nil:
		return false, j.refuseNamed(n)
	case n.sent:
		j.named = n
	case j.named.sent: // in the head
	case j.plan.refusesEarly(j.x):
		j.send(tooEarly())
		return false, nil
	case !j.plan.required:
		j.giveBack()
		return false, j.x.Pass()
	}
	return true, nil
}

// refuseNamed refuses what names an intent and cannot be read.
func (j *judgement) refuseNamed(n named) error {
	j.named = n
	if n.failed != nil {
		j.trouble("key cannot be told", n.failed)
		return j.refuse(idem.Unavailable, n.failed)
	}
	return j.refuse(idem.Malformed, n.err)
}

// readBody reads the body; ok is false where it cannot be read and that was said.
func (j *judgement) readBody() (ok bool, err error) {
	if err = j.body.read(j.x, j.plan.policy.MaxBody); err != nil {
		return false, j.refuseBody(err)
	}
	j.read = true
	return true, nil
}

// plain says of a key that there is nothing about it that the head could be refused
// for. Do judges it then, which costs less than to have it judged before.
func (j *judgement) plain() bool {
	return j.named.key != "" && len(j.named.key) <= maxPlainKey && !j.plan.partial
}

// maxPlainKey is the longest key that a client can choose, in bytes (design:
// PROTOCOL section 7).
const maxPlainKey = 255

// verify judges key and token without a store call.
func (j *judgement) verify() (ok bool, err error) {
	j.intent, err = j.plan.flow.Guard.Verify(j.ctx, j.intent)
	switch {
	case err != nil:
		return false, j.refuseFor(err)
	case j.intent.Unguarded():
		return false, j.unguarded(j.intent)
	}
	return true, nil
}

// do claims, runs, settles and answers, or says why not.
func (j *judgement) do() error {
	j.intent.Judged, j.intent.Waited = true, &j.waited
	reply, verdict, err := idem.Do(j.ctx, j.plan.flow.Guard, j.intent, idem.Codec[*Reply](codec{&j.answer}), j.enter)
	if j.entered != nil {
		j.verdict = verdict
		if !broken.Is(broken.I6NoVerdict) {
			if j.kept.replayed {
				j.x.Mark(0)
			}
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
	j.entered, j.running = ctx, true
	j.giveBack()
	j.x.Fields(&j.kept)
	if !idem.Recorded(ctx) {
		j.x.Mark(idem.Unprotected) // what leaves before it has ended says so, too
	}
	if j.watched {
		j.began = j.plan.flow.Guard.Now()
	}
	reply := j.answer.empty()
	err := j.x.Run(ctx, j.plan.policy.MaxKeptBody, reply)
	j.running = false
	j.kept.keep(reply, j.x, j.plan.policy.MaxKeptBody)
	j.handled()
	return reply, err
}

// handled takes down how long the handler took.
func (j *judgement) handled() {
	if j.watched {
		j.handler = j.plan.flow.Guard.Now().Sub(j.began)
	}
}

// giveBack gives the handler the body that was read.
func (j *judgement) giveBack() {
	if (j.read || j.body.rest != nil) && !j.body.lent {
		j.x.SetBody(&j.body)
	}
}
