package proof

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// errIllegal says that there is no order in which all the answers are right.
var errIllegal = errors.New("no order of these events is legal")

// Attempt is one request of a client and what it was answered.
type Attempt struct {
	Key, Request string // the intent, and this attempt alone
	Sent, Heard  int64  // nanoseconds
	Verdict      string // "" where no answer came
	Run          string // the run whose answer it is: the attempt that it was made for
}

// Record is what clients saw and handlers did.
type Record struct {
	Lease time.Duration

	mu       sync.Mutex
	attempts map[string][]Attempt // by key
	faults   []error
	runs     map[string]entry // from the ledger, by request
}

func newRecord(lease time.Duration) *Record {
	return &Record{Lease: lease, attempts: map[string][]Attempt{}}
}

func (r *Record) add(a Attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts[a.Key] = append(r.attempts[a.Key], a)
}

func (r *Record) wrong(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, fmt.Errorf(format, args...))
}

// Judge returns what is wrong, nil if all is well: the history of each key that
// no order explains, and what the clients found wrong by themselves.
func (r *Record) Judge() []error {
	wrong := slices.Clone(r.faults)
	for key, attempts := range r.attempts {
		events, err := history(attempts, r.runs)
		if err == nil {
			err = legal(events, r.Lease)
		}
		if fences := fencesGrow(attempts, r.runs); fences != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", key, fences))
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w:%s", key, err, list(fewest(events, r.Lease))))
		}
	}
	if lost := r.Verdicts()["unprotected"]; 10*lost > len(r.runs) {
		wrong = append(wrong, fmt.Errorf("%d of %d runs lost their claim: leases are not kept up", lost, len(r.runs)))
	}
	return wrong
}

// fencesGrow holds every run that was asked for after another had begun against
// that one's fence. The control has none.
func fencesGrow(attempts []Attempt, runs map[string]entry) error {
	for _, a := range attempts {
		for _, b := range attempts {
			first, second := runs[a.Request], runs[b.Request]
			if first.fence > 0 && second.fence > 0 && first.began < b.Sent && second.fence <= first.fence {
				return fmt.Errorf("run %s has fence %d, after run %s with fence %d", b.Request, second.fence, a.Request, first.fence)
			}
		}
	}
	return nil
}

// fewest leaves out those who were told to wait, where that is not the trouble:
// they are many.
func fewest(events []event, lease time.Duration) []event {
	rest := slices.DeleteFunc(slices.Clone(events), func(e event) bool { return e.kind == inFlight })
	if legal(rest, lease) != nil {
		return rest
	}
	return events
}

// history is what attempts and ledger tell of one key. An answer that the ledger
// contradicts is an error.
func history(attempts []Attempt, runs map[string]entry) (events []event, err error) {
	unknown := int64(never) // since when a claim without a run may hold the record
	for _, a := range attempts {
		if _, ran := runs[a.Request]; !ran && (a.Verdict == "" || a.Verdict == "unavailable") {
			unknown = min(unknown, a.Sent)
		}
	}
	for _, a := range attempts {
		run, ran := runs[a.Request]
		if ran {
			events = append(events, event{kind: claimed, run: a.Request, from: a.Sent, until: run.began})
			events = append(events, run.marks(a.Request)...)
		}
		about := event{run: a.Run, from: a.Sent, until: a.Heard}
		switch a.Verdict {
		case "executed", "released", "unprotected":
			if !ran || run.ended == 0 || a.Run != a.Request {
				return events, fmt.Errorf("%s was %s with the answer of run %q, which is not its own", a.Request, a.Verdict, a.Run)
			}
			about.kind, about.from, about.to, about.maybe = settled, run.ended, run.to, run.soft
			if a.Verdict == "unprotected" {
				about.kind = stale
			}
		case "":
			if run.ended == 0 {
				continue
			}
			about = event{kind: settled, run: a.Request, from: run.ended, until: never, to: run.to, maybe: true}
		case "replayed":
			about.kind, about.soft = replayed, runs[a.Run].soft
		case "in-flight":
			about.kind, about.run, about.excused = inFlight, "", unknown < a.Heard || settling(a, attempts, runs)
		case "uncertain":
			about.kind = uncertain
			if ran {
				about.kind, about.run, about.from, about.to, about.maybe = settled, a.Request, run.ended, doubt, run.soft
			}
		case "unavailable":
			if ran {
				return events, fmt.Errorf("%s ran and was told that nothing did", a.Request)
			}
			continue
		default:
			return events, fmt.Errorf("%s was answered %q", a.Request, a.Verdict)
		}
		if about.kind == settled && about.maybe {
			about.until = never // its process goes on settling behind the answer
		}
		events = append(events, about)
	}
	return events, nil
}

// settling says that a run was being settled while an attempt was answered.
func settling(a Attempt, attempts []Attempt, runs map[string]entry) bool {
	return slices.ContainsFunc(attempts, func(b Attempt) bool {
		ended := runs[b.Request].ended
		return ended != 0 && ended <= a.Heard && a.Sent <= b.Heard
	})
}

// marks is the mark that a run has made, or may have made: one that its process
// was killed over, or that was not answered, may still arrive.
func (e entry) marks(run string) []event {
	switch {
	case e.marked != 0:
		return []event{{kind: marked, run: run, from: e.marking, until: e.marked}}
	case e.marking != 0:
		return []event{{kind: marked, run: run, from: e.marking, until: never, maybe: true}}
	}
	return nil
}

// list tells events in the order in which they can have begun.
func list(events []event) (text string) {
	slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.from, b.from) })
	for _, e := range events {
		ms := func(t int64) string {
			if t == never {
				return "?"
			}
			return fmt.Sprintf("%.1f", float64(t-events[0].from)/1e6)
		}
		text += fmt.Sprintf("\n\t%8s – %-8s ms  %s %s", ms(e.from), ms(e.until), kindWords[e.kind], e.run)
		if e.kind == settled {
			text += " → " + phaseWords[e.to]
		}
		if e.maybe || e.excused {
			text += " (maybe)"
		}
	}
	return text
}

// Contended counts the keys on which one attempt overlapped another's run.
func (r *Record) Contended() (n int) {
	for _, attempts := range r.attempts {
		if slices.ContainsFunc(attempts, func(a Attempt) bool {
			run, ran := r.runs[a.Request]
			return ran && slices.ContainsFunc(attempts, func(b Attempt) bool {
				return b.Request != a.Request && b.Sent < max(run.ended, run.began) && b.Heard > run.began
			})
		}) {
			n++
		}
	}
	return n
}

// TakeOvers counts the runs that followed one which had not ended the record's
// claim: its process was killed, or it was told that it is stale.
func (r *Record) TakeOvers() (n int) {
	for _, attempts := range r.attempts {
		var ran []Attempt
		for _, a := range attempts {
			if _, ok := r.runs[a.Request]; ok {
				ran = append(ran, a)
			}
		}
		slices.SortFunc(ran, func(a, b Attempt) int {
			return cmp.Compare(r.runs[a.Request].began, r.runs[b.Request].began)
		})
		for i := range max(len(ran)-1, 0) {
			if ran[i].Verdict == "unprotected" || ran[i].Verdict == "" && r.runs[ran[i].Request].ended == 0 {
				n++
			}
		}
	}
	return n
}

// Verdicts counts the answers; "" is none at all.
func (r *Record) Verdicts() map[string]int {
	counts := map[string]int{}
	for _, attempts := range r.attempts {
		for _, a := range attempts {
			counts[a.Verdict]++
		}
	}
	return counts
}
