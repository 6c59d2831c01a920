package idem

import (
	"fmt"
	"log/slog"
	"strings"
)

const slogError = slog.LevelError

// The names of log attributes are those of spans.
func attrOperation(c *Claim) slog.Attr { return attrOp(c.id.op) }

func attrOp(op *operation) slog.Attr { return slog.String("idem.operation", op.policy.Operation) }

func attrKey(c *Claim) slog.Attr { return slog.String("idem.key", KeyHash(c.id.name)) }

func attrError(err error) slog.Attr { return slog.String("error", err.Error()) }

// Report describes the guard for a person: the store, and every operation with
// its numbers, a sample of a record name, and the sentence that each risky
// choice costs. It is logged at start.
func (g *Guard) Report() string {
	var b strings.Builder
	d := Describe(g.store) // its details are as of now
	fmt.Fprintf(&b, "store %s: worst call %v, values up to %d bytes", d.Name, d.WorstCall, d.MaxValue)
	if d.Local {
		b.WriteString(", lives and dies with this process")
	}
	fmt.Fprintf(&b, ", %s\n", g.whoseClock())
	for line := range strings.Lines(strings.TrimSpace(d.Details)) {
		fmt.Fprintf(&b, "  %s\n", strings.TrimRight(line, "\n"))
	}
	switch {
	case !g.sealer.sealing():
		fmt.Fprintf(&b, "answers and notes are kept in the clear: %v\n", g.sealer)
	case g.readUnsealed:
		fmt.Fprintf(&b, "answers and notes are sealed: %v; what is not sealed is read all the same\n", g.sealer)
	default:
		fmt.Fprintf(&b, "answers and notes are sealed: %v\n", g.sealer)
	}
	if g.hooks != nil {
		fmt.Fprintf(&b, "hooks: %s\n", strings.Join(g.hooks.set(), ", "))
	}
	for _, p := range g.Policies() {
		op := g.operation(p.Operation)
		fmt.Fprintf(&b, "%s (%s): key %s, required %v; lease %v, margin %v, maxRun %v, retention %v, tokenLife %v\n",
			p.Operation, or(string(p.Preset), "no preset"), strings.Join(p.Key, ", "), p.KeyRequired == Yes,
			p.Lease, g.margin(p.Lease), p.MaxRun, p.Retention, p.TokenLife)
		if p.AdaptiveLease {
			fmt.Fprintf(&b, "  lease is adaptive: now %v, %v to %v once %d runs are known\n",
				op.leaseNow(), p.adapted(0, op.leastLease), p.mostLease(), learnFrom)
		}
		fmt.Fprintf(&b, "  mode %s, share %v\n", p.Mode, p.Share)
		fmt.Fprintf(&b, "  record name, say: %s\n", g.names.keyRecord(g.prefix, p.Operation, "scope", "key"))
		fmt.Fprintf(&b, "  duplicate %s, 4xx %s, other 4xx %s, 5xx %s, crash %s, outage %s\n",
			p.duplicates(), p.On4xx, p.OnOther4xx, p.On5xx, p.OnCrash, p.OnOutage)
		if op.resolver != nil {
			fmt.Fprintf(&b, "  held records: a resolver is asked, %s\n", g.foundBy(&p))
		}
		for _, cost := range costs(&p) {
			fmt.Fprintf(&b, "  in writing: %s\n", cost)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// duplicates says what becomes of a request whose like is running.
func (p *Policy) duplicates() string {
	if p.OnDuplicate == Wait {
		return fmt.Sprintf("wait up to %v", p.Wait)
	}
	return string(p.OnDuplicate)
}

// whoseClock says by which clock tokens age and runs are ordered.
func (g *Guard) whoseClock() string {
	_, can := ability[Clocker](g.store)
	switch {
	case !can || g.clock.untold.Load():
		return fmt.Sprintf("its clock is not told: hosts must agree within %v", slack)
	case g.clock.anchor.Load() == nil:
		return "its clock is used as soon as it answers"
	}
	return "its clock is used"
}

// foundBy says how a reconciler comes by the held records of a policy.
func (g *Guard) foundBy(p *Policy) string {
	if g.indexes && p.OnCrash == Hold {
		return "found by an index"
	}
	return "found by a walk over all records"
}

// costs are the sentences that stand behind the promise (PROTOCOL section 1).
func costs(p *Policy) (list []string) {
	switch p.Mode {
	case ModeObserve:
		list = append(list, "nothing is refused: what a record would have refused or answered runs beside it, without a record, so a duplicate can run twice")
	case ModeOff:
		list = append(list, "nothing is guarded and no record is made: every request runs, as often as it comes")
	}
	if p.Share < 1 {
		list = append(list, "keys outside the share, and requests without a key, are not guarded: they run as often as they come")
	}
	if p.On5xx == Release {
		list = append(list, "a 5xx, a panic or a returned error means that the handler's work was undone; where that is not true, the action can run twice")
	}
	if p.OnCrash == Retake {
		list = append(list, "a run that a crash cut short is run again; where its effects were not undone, the action runs twice")
	}
	if p.OnOutage == Open {
		list = append(list, "while the store is out of reach the action runs without a record; what ran then can run twice, and expired tokens are never told to be dead")
	}
	if p.OnDuplicate == Force {
		list = append(list, "whoever the ForceAuthorizer lets may run the action over a record that refuses it")
	}
	return list
}
