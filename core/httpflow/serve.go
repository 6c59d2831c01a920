package httpflow

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
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
	body   *Body
	intent idem.Intent

	verdict idem.Verdict
	err     error // why, where a refusal has more to say
	ran     bool  // the handler was entered for this very request
	running bool  // and has not returned

	observed func(idem.StepResult)
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
		Context: p.context.find(x, j.body), Traits: p.flow.traits(p.policy, x), Trace: p.trace(x.Context()),
	}
	if ok, err := j.verify(); !ok {
		return err
	}
	if j.body == nil {
		if ok, err := j.read(); !ok {
			return err
		}
		// A context in the body is known only now. Until here a token of ours
		// was looked at without it, which forbids running and nothing else.
		if p.context.inBody() && !j.named.token.IsZero() {
			j.intent.Context = p.context.find(x, j.body)
			if ok, err := j.verify(); !ok {
				return err
			}
		}
	}
	print, err := p.fingerprint(x, j.body)
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
	if ok, err := j.read(); !ok {
		return false, err
	}
	n, err := tokenFromBody(contentType(j.x), j.body)
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

// read reads the body; ok is false where it cannot be read and that was said.
func (j *judgement) read() (ok bool, err error) {
	j.body, err = readBody(j.x, j.plan.policy.MaxBody)
	if err != nil {
		return false, j.refuseBody(err)
	}
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
		j.x.Mark(verdict)
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
	var before []Field
	j.x.Fields(func(name, value string) {
		before = append(before, Field{strings.Clone(name), strings.Clone(value)})
	})
	var begin time.Time
	if j.observed != nil {
		begin = j.plan.flow.Guard.Now()
	}
	reply, err := j.x.Run(ctx, j.plan.policy.MaxKeptBody)
	j.running = false
	reply.keep(j.x, before, j.plan.policy.MaxKeptBody)
	if j.observed != nil {
		j.handler = j.plan.flow.Guard.Now().Sub(begin)
	}
	return reply, err
}

// giveBack gives the handler the body that was read.
func (j *judgement) giveBack() {
	if j.body != nil && !j.body.lent {
		j.x.SetBody(j.body)
	}
}

// refuseFor refuses as err says.
func (j *judgement) refuseFor(err error) error {
	var refused *idem.RefusedError
	switch {
	case errors.As(err, &refused):
		return j.refuseWith(refused)
	case errors.Is(err, idem.ErrNoScope):
		return j.refuse(idem.Foreign, err)
	}
	return j.refuse(idem.Unavailable, err)
}

// refuseBody tells a body that is no good from a server that has no room for it.
func (j *judgement) refuseBody(err error) error {
	if errors.Is(err, errNoRoom) {
		return j.refuse(idem.Unavailable, err)
	}
	return j.refuse(idem.Malformed, err)
}

// refuse ends the request with a refusal.
func (j *judgement) refuse(v idem.Verdict, why error) error {
	return j.refuseWith(&idem.RefusedError{Verdict: v, Err: why})
}

func (j *judgement) refuseWith(why *idem.RefusedError) error {
	j.begin()
	j.verdict, j.err = why.Verdict, why.Err
	j.send(j.plan.refusal(prefersHTML(j.x), why))
	return nil
}

// refuseUsed says that the action is done and its answer cannot be sent again,
// with what little is known of it.
func (j *judgement) refuseUsed(kept *Reply) error {
	j.verdict = idem.Used
	refusal := j.plan.refusal(prefersHTML(j.x), &idem.RefusedError{Verdict: idem.Used})
	if kept != nil {
		if location, ok := kept.field("Location"); ok {
			refusal.Fields = append(refusal.Fields, Field{"Location", location})
		}
	}
	j.send(refusal)
	return nil
}

func (j *judgement) send(r *Reply) {
	r.Read = j.body != nil
	j.x.Send(r)
}

// begin starts the observer's step of the whole request, once it is clear that
// the request is judged.
func (j *judgement) begin() {
	guard := j.plan.flow.Guard
	if j.observed != nil || guard.Observer() == nil {
		return
	}
	from := j.named.from
	if from == "" {
		from = "none"
	}
	j.began = guard.Now()
	j.ctx, j.observed = idem.Observe(j.ctx, guard.Observer(), idem.Step{Kind: idem.StepAnswer, Operation: j.plan.policy.Operation, Source: from})
}

// end is the end of every judgement, that of a panic and of runtime.Goexit
// included, which go on by themselves.
func (j *judgement) end() {
	if j.running {
		j.verdict, j.err = abruptVerdict(j.plan.policy), errAbrupt
		j.x.Drop()
		j.x.Mark(j.verdict)
	}
	j.body.Close()
	guard := j.plan.flow.Guard
	if j.observed != nil {
		j.observed(idem.StepResult{Verdict: j.verdict, Err: j.err, Handler: j.handler, Elapsed: guard.Now().Sub(j.began)})
	}
	if log := guard.Logger(); j.verdict != 0 && log.Enabled(j.ctx, slog.LevelDebug) {
		log.LogAttrs(j.ctx, slog.LevelDebug, "request judged",
			slog.String("idem.operation", j.plan.policy.Operation), slog.String("idem.verdict", j.verdict.String()))
	}
}

func abruptVerdict(p *idem.Policy) idem.Verdict {
	switch p.OutcomeOfError() {
	case idem.Releases:
		return idem.Released
	case idem.Doubts:
		return idem.Uncertain
	}
	return idem.Executed
}

var errAbrupt = errors.New("the handler ended by a panic or runtime.Goexit")

// tooEarly is the plain answer to early data without a key: no verdict, because
// nothing was judged, and nothing ran. The client sends the same request again
// once the handshake is done (RFC 8470 section 5.2; design: PROTOCOL T5).
func tooEarly() *Reply {
	return &Reply{Status: http.StatusTooEarly, Fields: []Field{{"Cache-Control", "no-store"}, {"Content-Type", "text/plain; charset=utf-8"}},
		Body: []byte("Send this request again without TLS early data.\n")}
}
