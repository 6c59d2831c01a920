package drill

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Report is what a drill found out.
type Report struct {
	Drill     Drill
	Took      time.Duration
	Verdicts  map[string]int   // answers by verdict; "" is no answer at all
	RunsOfKey map[string]int64 // by scope and record name
	Runs      int64
	Calls     int            // of the store, about records
	Injected  map[string]int // lost replies by step
	Lost      int            // all of them
	// Sent calls of the store, cards' included, went over the wire in so many Writes.
	Sent, Writes int

	// Unknown claims went to a janitor, Mended ones are dealt with; Pending
	// settles were still being kept up at the end.
	Unknown, Mended, Pending, Stale, Recreated int64

	// LongestLock is how long a key was locked at most; LongestUnknown the same
	// of keys about which a client was once told "unavailable".
	LongestLock, LongestUnknown time.Duration

	mu     sync.Mutex
	faults []string
}

func (r *Report) answered(verdict string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Verdicts[verdict]++
}

func (r *Report) wrong(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

// Operations is how many answers were given.
func (r *Report) Operations() (n int) {
	for _, count := range r.Verdicts {
		n += count
	}
	return n
}

// Judge returns everything that must not have been, nil if all is well.
func (r *Report) Judge() error {
	var errs []error
	say := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for _, f := range r.faults {
		errs = append(errs, errors.New(f))
	}
	d := r.Drill
	say(r.Runs != int64(d.Keys), "%d runs for %d keys", r.Runs, d.Keys)
	say(len(r.RunsOfKey) != d.Keys, "%d records ran, there are %d keys", len(r.RunsOfKey), d.Keys)
	for key, n := range r.RunsOfKey {
		say(n != 1, "%s ran %d times", key, n)
	}
	say(r.Verdicts["executed"] > d.Keys, "%d answers said executed for %d keys", r.Verdicts["executed"], d.Keys)
	say(d.Loss > 0 && r.Lost == 0, "no reply was lost, so nothing was shown")
	say(r.Verdicts["in-flight"] == 0, "nobody met anybody, so nothing was shown")
	say(d.Wire != nil && 10*r.Sent < 11*r.Writes, "%d calls were %d writes: hardly any two left together, so nothing was shown of group commit", r.Sent, r.Writes)
	say(r.Pending != 0, "%d settles were not written", r.Pending)
	say(r.Unknown != r.Mended, "%d claims of unknown outcome, %d were dealt with", r.Unknown, r.Mended)
	say(r.Stale+r.Recreated != 0, "%d stale and %d recreated, but nothing was lost or taken over", r.Stale, r.Recreated)
	say(r.LongestLock > d.Lease, "a key was locked for %v, a lease is %v", r.LongestLock, d.Lease)
	say(r.LongestUnknown > d.Lease+janitorPeriod, "a key of unknown outcome was locked for %v, a lease and a janitor's period are %v", r.LongestUnknown, d.Lease+janitorPeriod)
	return errors.Join(errs...)
}

// String is the report for people.
func (r *Report) String() string {
	var b strings.Builder
	d := r.Drill
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "%-22s %s\n", what, fmt.Sprintf(format, args...))
	}
	line("servers", "%s, one redis-server, seed %d", strings.Join(d.Servers, " + "), d.Seed)
	line("keys", "%d, each sent %d times by %d clients", d.Keys, d.Sends, d.Clients)
	line("runs", "%d (want %d)", r.Runs, d.Keys)
	line("operations", "%d answers in %v, %.0f a second", r.Operations(), r.Took.Round(time.Millisecond), float64(r.Operations())/r.Took.Seconds())
	line("contention", "%d answers in-flight, %d of %d sends after the first replayed", r.Verdicts["in-flight"], r.Verdicts["replayed"], d.Keys*(d.Sends-1))
	line("store calls", "%d about records", r.Calls)
	if d.Wire != nil {
		line("group commit", "%d calls in %d writes, %.2f in one; %d pipelines under way at most", r.Sent, r.Writes, float64(r.Sent)/float64(max(1, r.Writes)), d.Pipelines)
	}
	line("replies lost", "%d (%.0f %%): %s", r.Lost, 100*d.Loss, counts(r.Injected))
	line("claims unknown", "%d, dealt with %d; settles left %d; stale %d; recreated %d", r.Unknown, r.Mended, r.Pending, r.Stale, r.Recreated)
	line("verdicts", "%s", counts(r.Verdicts))
	line("longest lock", "%v (lease %v)", r.LongestLock.Round(time.Millisecond), d.Lease)
	line("longest unknown", "%v (lease + janitor %v)", r.LongestUnknown.Round(time.Millisecond), d.Lease+janitorPeriod)
	return b.String()
}

// counts writes a map of counts in a fixed order.
func counts(m map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		word := name
		if word == "" {
			word = "no answer"
		}
		parts = append(parts, fmt.Sprintf("%s %d", word, m[name]))
	}
	return strings.Join(parts, ", ")
}
