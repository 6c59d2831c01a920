package proof

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Measure is what a run had to be to prove anything.
type Measure struct {
	Keys, Operations, Contended  int
	Calls, Lost                  int // of the store, and replies among them
	Kills, TakeOvers, Unanswered int
	Runs                         int
	Verdicts                     map[string]int
}

// Measured measures a record. calls and lost are the store's.
func (r *Record) Measured(kills, calls, lost int) Measure {
	m := Measure{
		Keys: len(r.attempts), Contended: r.Contended(), Calls: calls, Lost: lost,
		Kills: kills, TakeOvers: r.TakeOvers(), Runs: len(r.runs), Verdicts: r.Verdicts(),
	}
	for _, n := range m.Verdicts {
		m.Operations += n
	}
	m.Unanswered = m.Verdicts[""]
	return m
}

// Enough says what was too little: a run without contention, losses, kills and
// take-overs finds nothing wrong whatever it looks at.
func (m Measure) Enough() error {
	var errs []error
	say := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	say(10*m.Contended < 3*m.Keys, "%d of %d keys were contended, want 30 %%", m.Contended, m.Keys)
	say(50*m.Lost < m.Calls, "%d of %d replies were lost, want 2 %%", m.Lost, m.Calls)
	say(m.Kills < 20, "%d processes were killed, want 20", m.Kills)
	say(m.TakeOvers < 20, "%d claims were taken over, want 20", m.TakeOvers)
	return errors.Join(errs...)
}

// String is the measure for people.
func (m Measure) String() string {
	var b strings.Builder
	percent := func(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
	fmt.Fprintf(&b, "operations      %d on %d keys, %d runs\n", m.Operations, m.Keys, m.Runs)
	fmt.Fprintf(&b, "contended keys  %d (%.0f %%)\n", m.Contended, percent(m.Contended, m.Keys))
	fmt.Fprintf(&b, "lost replies    %d of %d (%.1f %%)\n", m.Lost, m.Calls, percent(m.Lost, m.Calls))
	fmt.Fprintf(&b, "kills           %d, each with a restart; %d operations were not answered\n", m.Kills, m.Unanswered)
	fmt.Fprintf(&b, "take-overs      %d\n", m.TakeOvers)
	b.WriteString("verdicts       ")
	for _, v := range slices.Sorted(maps.Keys(m.Verdicts)) {
		if v != "" {
			fmt.Fprintf(&b, " %s %d", v, m.Verdicts[v])
		}
	}
	return b.String()
}
