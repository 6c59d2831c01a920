package httpflow

import (
	"context"

	idem "github.com/go-idem/idem/core"
)

// This file is what becomes of requests while a guard is rolled out (design:
// PROTOCOL section 8): Observe refuses nothing, Off and what is outside the share
// are not guarded.

// off returns an intent that stands for no guard, where the policy's mode is off.
// Nothing of the request is looked at for it.
func (p *plan) off(ctx context.Context) (in idem.Intent, ok bool) {
	if p.policy.Mode != idem.ModeOff {
		return in, false
	}
	in, err := p.flow.Guard.Verify(ctx, idem.Intent{Operation: p.policy.Operation})
	return in, err == nil && in.Unguarded() // not where the policy was changed just now
}

// passOff runs a request for which nothing is guarded. Only what its client chose
// to send counts as a key here: no function is asked, and no body read.
func (p *plan) passOff(x Exchange, off idem.Intent) error {
	sent := p.sentKey(x)
	j := newJudgement(p, x, &sent)
	defer j.end()
	return j.unguarded(off)
}

// unguarded runs the handler without a guard, with a claim in its context that
// answers what handlers of a guarded route ask for.
func (j *judgement) unguarded(in idem.Intent) error {
	ctx := j.x.Context()
	if c, err := j.plan.flow.Guard.Claim(ctx, in); err == nil && c.Won() {
		defer c.End(ctx)
		j.x.SetContext(c.Context())
	}
	return j.pass()
}

// pass runs the handler as if there were no guard, and says so where a key or
// token was sent.
func (j *judgement) pass() error {
	if j.named.sent {
		j.begin()
		j.verdict = idem.Unguarded
		j.x.Mark(idem.Unguarded)
	}
	j.giveBack()
	return j.x.Pass()
}

// runBeside runs the handler although the request would be refused: what Observe
// would have said is counted, and not said. A body that was not read to its end
// is given back with what comes behind it.
func (j *judgement) runBeside(why *idem.RefusedError) error {
	j.begin()
	j.besides = true
	j.intent = idem.Intent{Operation: j.plan.policy.Operation, Scope: j.scope, Source: j.named.from, Refused: why}
	return j.do()
}
