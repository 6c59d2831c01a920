package httpflow

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	idem "github.com/go-idem/idem/core"
)

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
	switch {
	case errors.Is(err, errNoRoom):
		j.trouble("request body cannot be held", err)
		return j.refuse(idem.Unavailable, err)
	case errors.Is(err, errTaken):
		j.trouble("request body was read before the guard", err)
		return j.refuse(idem.Unavailable, err)
	}
	return j.refuse(idem.Malformed, err)
}

// refuse ends the request with a refusal.
func (j *judgement) refuse(v idem.Verdict, why error) error {
	return j.refuseWith(&idem.RefusedError{Verdict: v, Err: why})
}

func (j *judgement) refuseWith(why *idem.RefusedError) error {
	if j.plan.observe && !j.besides {
		return j.runBeside(why)
	}
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
	r.Read = j.read
	j.x.Send(r)
}

// trouble tells the house's own log what no client is told.
func (j *judgement) trouble(what string, err error) {
	j.plan.flow.Guard.Logger().LogAttrs(j.ctx, slog.LevelError, what,
		slog.String("idem.operation", j.plan.policy.Operation), slog.String("error", err.Error()))
}

// begin starts the observer's step of the whole request, once it is clear that
// the request is judged.
func (j *judgement) begin() {
	guard := j.plan.flow.Guard
	if j.watched || !guard.Watches(idem.StepAnswer) {
		return
	}
	from := j.named.from
	if from == "" {
		from = "none"
	}
	j.watched = true
	j.ctx, j.observed = guard.Observe(j.ctx, idem.Step{Kind: idem.StepAnswer, Operation: j.plan.policy.Operation, Source: from})
}

// end is the end of every judgement, that of a panic and of runtime.Goexit
// included, which go on by themselves.
func (j *judgement) end() {
	if j.running {
		j.handled()
		c, _ := idem.ClaimFrom(j.entered)
		j.verdict, j.err = c.Verdict(), errAbrupt // what its settle, which is behind us, made of it
		j.x.Drop()
		j.x.Mark(j.verdict)
	}
	j.body.close()
	guard := j.plan.flow.Guard
	if j.watched {
		j.observed.End(idem.StepResult{Verdict: j.verdict, Err: j.err, Handler: j.handler, Waited: j.waited})
	}
	if log := guard.Logger(); j.verdict != 0 && log.Enabled(j.ctx, slog.LevelDebug) {
		logJudged(log, j.ctx, j.plan.policy.Operation, j.verdict)
	}
	j.reset()
	judgements.Put(j)
}

func logJudged(log *slog.Logger, ctx context.Context, operation string, v idem.Verdict) {
	log.LogAttrs(ctx, slog.LevelDebug, "request judged", slog.String("idem.operation", operation), slog.String("idem.verdict", v.String()))
}

var errAbrupt = errors.New("the handler ended by a panic or runtime.Goexit")

// tooEarly is the plain answer to early data without a key: no verdict, because
// nothing was judged, and nothing ran. The client sends the same request again
// once the handshake is done (RFC 8470 section 5.2; design: PROTOCOL T5).
func tooEarly() *Reply {
	return &Reply{Status: http.StatusTooEarly, Fields: []Field{{"Cache-Control", "no-store"}, {"Content-Type", "text/plain; charset=utf-8"}},
		Body: []byte("Send this request again without TLS early data.\n")}
}
