package httpflow

import (
	"log/slog"

	idem "github.com/go-idem/idem/core"
)

// nested says that this very request is being run already, by a guard that
// stands outside of this one: on the group and on its route, say. That one holds
// the claim and gives the request its one verdict (PROTOCOL I6). This one would
// find its own request "in-flight", each time, and the handler would never run.
func (j *judgement) nested() bool {
	if !j.named.sent {
		return false
	}
	held, ok := idem.ClaimFrom(j.ctx)
	if !ok {
		return false
	}
	p, kind, key := j.plan, idem.KindKey, j.named.key
	if !j.named.token.IsZero() {
		kind, key = idem.KindToken, j.named.token.Reveal()
	}
	name := p.flow.Guard.RecordName(p.policy.Operation, j.scope, kind, key)
	if name == "" || name != held.Record() {
		return false // a request that a handler makes of its own accord
	}
	if _, told := p.flow.twice.LoadOrStore(p.policy.Operation, true); !told {
		p.flow.Guard.Logger().LogAttrs(j.ctx, slog.LevelWarn, "route is guarded twice: the inner guard does nothing, take one away",
			slog.String("idem.operation", p.policy.Operation))
	}
	return true
}
