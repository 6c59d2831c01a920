package main

import (
	"fmt"
	"math"
	"slices"
)

// budget is one promise, and what it is made of.
type budget struct {
	name, says string
	of         series
	limit      float64
	sign       string  // ≤, ≥ or =
	counted    bool    // it counts things: the same on every machine, however busy
	waited     bool    // it is milliseconds of the clock, which a busy machine decides
	waiver     float64 // the limit that a decision sets in its place; 0: there is none
}

// atMost and atLeast bound a time, exactly a count.
func atMost(name, says string, of series, limit float64) budget {
	return budget{name: name, says: says, of: of, limit: limit, sign: "≤"}
}

func atLeast(name, says string, of series, limit float64) budget {
	return budget{name: name, says: says, of: of, limit: limit, sign: "≥"}
}

func exactly(name, says string, of series, count float64) budget {
	return budget{name: name, says: says, of: of, limit: count, sign: "=", counted: true}
}

// count says that what is bounded is a count.
func (b budget) count() budget {
	b.counted = true
	return b
}

// wait says that what is bounded is how long somebody waits, by the clock.
func (b budget) wait() budget {
	b.waited = true
	return b
}

// instead says that a decision waives the budget and sets another limit: see
// docs/adr/0011-waived-budgets.md.
func (b budget) instead(limit float64) budget {
	b.waiver = limit
	return b
}

// keeps judges a figure. slack is the factor by which a time may miss its limit.
func (b budget) keeps(v, slack float64) bool {
	if b.counted {
		slack = 1
	}
	switch b.sign {
	case "≥":
		return v >= b.limit/slack
	case "≤":
		return v <= b.limit*slack
	}
	return v == b.limit
}

// verdicts of a budget.
const (
	isKept      = "kept"
	isBroken    = "**BROKEN**"
	isWaived    = "waived"
	notMeasured = "not measured"
)

// judge is a budget's figure in the middle of its rounds, and what became of it.
func (b budget) judge(all figures) (v float64, verdict string) {
	values := b.of(all)
	if len(values) == 0 {
		return math.NaN(), notMeasured
	}
	if v = middle(values); math.IsNaN(v) {
		return v, notMeasured
	}
	switch {
	case b.keeps(v, 1):
		return v, isKept
	case b.waiver != 0 && b.waived().keeps(v, 1):
		return v, isWaived
	}
	return v, isBroken
}

// waived is the budget with the limit of its waiver, or itself.
func (b budget) waived() budget {
	if b.waiver != 0 {
		b.limit = b.waiver
	}
	return b
}

// slackOfCheck is how far a time may be above its budget for a check to pass. With
// the best round taken besides, a machine that others use passes, and work that
// has become half as dear again does not.
const slackOfCheck = 1.25

// check judges the best round with slack. A budget that was not measured is
// broken: something is missing. On a busy machine waits are not judged.
func (b budget) check(all figures, busy bool) error {
	values, b := b.of(all), b.waived()
	if busy && b.waited {
		return nil
	}
	if len(values) == 0 {
		return fmt.Errorf("%s, %s: not measured", b.name, b.says)
	}
	if !slices.ContainsFunc(values, func(v float64) bool { return b.keeps(v, slackOfCheck) }) {
		return fmt.Errorf("%s, %s: %.2f, must be %s %g", b.name, b.says, values, b.sign, b.limit)
	}
	return nil
}

// shown is a budget as it stands in the table.
func (b budget) shown(all figures) (is, must, verdict string) {
	v, verdict := b.judge(all)
	if is = "–"; verdict != notMeasured {
		is = number(v, b.limit)
	}
	if must = b.sign + " " + number(b.limit, b.limit); b.waiver != 0 {
		must += " (" + number(b.waiver, b.waiver) + ")"
	}
	return is, must, verdict
}

// number has no more digits than one can believe.
func number(v, limit float64) string {
	switch {
	case limit >= 20 && v == math.Trunc(v) || limit >= 1000:
		return fmt.Sprintf("%.0f", v)
	case limit != math.Trunc(limit) && limit < 1.1: // 1.03: what is above it has to be seen
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
