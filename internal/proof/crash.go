package proof

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-idem/idem/internal/program"
)

// Crash is a drill: one process of each framework is killed in each place of
// PROTOCOL's crash table, under hold and under retake, so many times each; one of
// another framework takes over.
type Crash struct {
	Redis string
	Dir   string // for the ledger
	Times int
	Lease time.Duration
}

// row is one line of the crash table: where the process dies, and what becomes of
// its key.
type row struct {
	place  string
	says   string
	header []string          // what the doomed request asks for besides
	ends   map[string]string // by policy, the verdict once no lease runs any more
	runs   map[string]int    // by policy, how often the handler was entered in all
	soon   string            // the verdict right after the crash
}

// both is the same under either policy.
func both[T any](v T) map[string]T { return map[string]T{"hold": v, "retake": v} }

// crashTable is PROTOCOL section 3, "Crash table".
var crashTable = []row{
	{place: beforeTheClaim, says: "before the claim was sent", soon: "executed", ends: both("replayed"), runs: both(1)},
	{place: afterTheClaim, says: "claim applied, before the handler", soon: "in-flight",
		ends: map[string]string{"hold": "uncertain", "retake": "executed"}, runs: map[string]int{"hold": 0, "retake": 1}},
	{place: inTheHandler, says: "in the handler, effects not marked", soon: "in-flight",
		ends: map[string]string{"hold": "uncertain", "retake": "executed"}, runs: map[string]int{"hold": 1, "retake": 2}},
	{place: afterTheMark, says: "in the handler, effects marked", soon: "in-flight", header: []string{markHeader, "1"},
		ends: both("uncertain"), runs: both(1)},
	{place: beforeTheSettle, says: "after an unmarked effect, before the settle", soon: "in-flight",
		ends: map[string]string{"hold": "uncertain", "retake": "executed"}, runs: map[string]int{"hold": 1, "retake": 2}},
	{place: afterTheSettle, says: "settle applied, not answered", soon: "replayed", ends: both("replayed"), runs: both(1)},
	{place: afterTheRelease, says: "release applied, not answered", soon: "executed", header: []string{refuseHeader, "1"},
		ends: both("replayed"), runs: both(2)},
}

// trial is one crash.
type trial struct {
	row
	policy, key string
	framework   string   // of the process that is killed
	requests    []string // all that were sent, for the ledger
	soon, end   string   // verdicts, as they were
	took        time.Duration
	wrong       []string
}

// Run does the drill and returns its table; the error says what did not become of
// a key as the table has it.
func (c Crash) Run(launch *Launcher) (table string, err error) {
	ledger := filepath.Join(c.Dir, "ledger")
	flags := []string{
		"-redis", c.Redis, "-ledger", ledger, "-lease", c.Lease.String(), "-call", (c.Lease / 20).String(),
		"-prefix", fmt.Sprintf("crash%d:", time.Now().UnixNano()),
	}
	start := func(framework string) (*program.Process, error) {
		return launch.start(append(flags[:len(flags):len(flags)], "-framework", framework)...)
	}
	heirs := map[string]*program.Process{}
	for i, framework := range Frameworks {
		heir, err := start(Frameworks[(i+1)%len(Frameworks)])
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, heir.Stop()) }()
		heirs[framework] = heir
	}
	var trials []*trial
	var all sync.WaitGroup
	defer all.Wait()
	for n := range c.Times * len(Frameworks) {
		for _, row := range crashTable {
			for _, policy := range []string{"hold", "retake"} {
				t := &trial{row: row, policy: policy, key: fmt.Sprintf("%s-%s-%d", policy, row.place, n), framework: Frameworks[n%len(Frameworks)]}
				trials = append(trials, t)
				doomed, err := start(t.framework)
				if err != nil {
					return "", err
				}
				if err := t.crash(doomed); err != nil {
					return "", err
				}
				all.Go(func() { t.watch(heirs[t.framework], c.Lease) })
			}
		}
	}
	all.Wait()
	runs, err := readLedger(ledger)
	if err != nil {
		return "", err
	}
	for _, t := range trials {
		t.judge(runs)
	}
	return report(trials)
}

// crash has the doomed process kill itself in the row's place.
func (t *trial) crash(doomed *program.Process) error {
	client := newClients(1)
	defer client.CloseIdleConnections()
	a := t.post(doomed, append([]string{dieHeader, t.place}, t.header...)...)
	if a.Verdict != "" {
		t.wrong = append(t.wrong, fmt.Sprintf("the process did not die but answered %q", a.Verdict))
		return doomed.Stop()
	}
	if !doomed.Died(stuck) {
		doomed.Kill()
		return fmt.Errorf("a process that was to die %s lives", t.place)
	}
	return nil
}

func (t *trial) post(to *program.Process, header ...string) Attempt {
	client := newClients(1)
	defer client.CloseIdleConnections()
	request := fmt.Sprintf("%s/%d", t.key, len(t.requests))
	t.requests = append(t.requests, request)
	return post(client, to.URL()+"/"+t.policy, t.key, request, header...)
}

// watch sends the key to another process: at once, then until its lease is over,
// and once more, for the answer that stays.
func (t *trial) watch(survivor *program.Process, lease time.Duration) {
	begin := time.Now()
	t.soon = t.post(survivor).Verdict
	tick := time.NewTicker(lease / 8)
	defer tick.Stop()
	for t.end = "in-flight"; t.end == "in-flight" || t.end == "unavailable"; <-tick.C {
		if time.Since(begin) > stuck {
			t.wrong = append(t.wrong, "it is stuck")
			return
		}
		t.end = t.post(survivor).Verdict
		t.took = time.Since(begin)
	}
	want := t.end
	if want == "executed" {
		want = "replayed"
	}
	if again := t.post(survivor).Verdict; again != want {
		t.wrong = append(t.wrong, fmt.Sprintf("%s was followed by %q", t.end, again))
	}
}

// judge holds a trial against its row.
func (t *trial) judge(runs map[string]entry) {
	say := func(wrong bool, format string, args ...any) {
		if wrong {
			t.wrong = append(t.wrong, fmt.Sprintf(format, args...))
		}
	}
	say(t.soon != t.row.soon, "%q right after the crash, want %q", t.soon, t.row.soon)
	say(t.end != t.ends[t.policy], "%q in the end, want %q", t.end, t.ends[t.policy])
	ran, fence := 0, uint64(0)
	for _, request := range t.requests { // one after the other, so their fences are in order
		if e, ok := runs[request]; ok {
			ran++
			say(e.fence <= fence, "fence %d after fence %d", e.fence, fence)
			fence = e.fence
		}
	}
	say(ran != t.runs[t.policy], "%d runs, want %d", ran, t.runs[t.policy])
}

// report is the drill's table: each row once for each policy.
func report(trials []*trial) (string, error) {
	var b strings.Builder
	var errs []error
	fmt.Fprintf(&b, "%-44s %-7s %6s %6s  %-20s %6s  %s\n", "killed", "policy", "times", "right", "soon, in the end", "runs", "longest")
	for _, row := range crashTable {
		for _, policy := range []string{"hold", "retake"} {
			times, right, longest := 0, 0, time.Duration(0)
			for _, t := range trials {
				if t.place != row.place || t.policy != policy {
					continue
				}
				times++
				longest = max(longest, t.took)
				if len(t.wrong) == 0 {
					right++
				}
				for _, w := range slices.Compact(t.wrong) {
					errs = append(errs, fmt.Errorf("%s, of %s: %s", t.key, t.framework, w))
				}
			}
			fmt.Fprintf(&b, "%-44s %-7s %6d %6d  %-20s %6d  %v\n", row.says, policy, times, right,
				row.soon+", "+row.ends[policy], row.runs[policy], longest.Round(10*time.Millisecond))
		}
	}
	for _, framework := range Frameworks {
		times, right := 0, 0
		for _, t := range trials {
			if t.framework == framework {
				times++
				right += map[bool]int{true: 1}[len(t.wrong) == 0]
			}
		}
		fmt.Fprintf(&b, "%d processes of %s killed, %d right\n", times, framework, right)
	}
	return b.String(), errors.Join(errs...)
}
