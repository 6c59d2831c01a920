package adaptertest

import (
	"fmt"
	"os"
	"strings"
	"sync"
)

// Counts counts what scripted handlers did. It is the truth the statements are
// held against: not what was answered, but what ran. Safe for concurrent use.
type Counts struct {
	// identify says whose run this is: "<scope>|<record name>".
	identify func(Exchange) string
	ledger   *os.File

	mu    sync.Mutex
	tally Tally
	first error // of writing the ledger
}

// Tally is what GET /runs answers.
type Tally struct {
	Total   int64            `json:"total"`
	Effects int64            `json:"effects"` // runs that marked effects or answered 2xx
	ByKey   map[string]int64 `json:"byKey"`
}

// NewCounts returns counts at zero. identify names the intent behind an
// exchange. ledger, "" for none, is a file to which every run appends a line
// with its path before the handler goes on: it outlives a killed process, and
// several processes may share one.
func NewCounts(identify func(Exchange) string, ledger string) (*Counts, error) {
	c := &Counts{identify: identify}
	c.Reset()
	if ledger == "" {
		return c, nil
	}
	// One write of one line to a file opened for appending is never torn.
	f, err := os.OpenFile(ledger, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the ledger of runs: %w", err)
	}
	c.ledger = f
	return c, nil
}

// Close closes the ledger and reports the first error of writing to it.
func (c *Counts) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ledger == nil {
		return c.first
	}
	err := c.ledger.Close()
	c.ledger = nil
	if c.first != nil {
		return c.first
	}
	return err
}

// Reset sets the counts to zero; the ledger keeps its lines.
func (c *Counts) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tally = Tally{ByKey: map[string]int64{}}
}

// Tally returns a copy of the counts.
func (c *Counts) Tally() Tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tally
	t.ByKey = make(map[string]int64, len(c.tally.ByKey))
	for k, n := range c.tally.ByKey {
		t.ByKey[k] = n
	}
	return t
}

// run is one run of a handler.
type run struct {
	counts *Counts
	number int64
	marked bool
}

// begin counts a run.
func (c *Counts) begin(x Exchange) *run { return c.beginItem(c.identify(x), x.Path()) }

// beginItem counts a run of what is identified so.
func (c *Counts) beginItem(key, path string) *run {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tally.Total++
	c.tally.ByKey[key]++
	c.write("run", path)
	return &run{counts: c, number: c.tally.Total}
}

// effect counts the run's effect, once.
func (r *run) effect() {
	r.counts.mu.Lock()
	defer r.counts.mu.Unlock()
	if !r.marked {
		r.marked = true
		r.counts.tally.Effects++
	}
}

func (c *Counts) write(what, path string) {
	if c.ledger == nil {
		return
	}
	if _, err := fmt.Fprintf(c.ledger, "%s %s\n", what, path); err != nil && c.first == nil {
		c.first = err
	}
}

// readLedger counts the runs of each path in a ledger.
func readLedger(file string) (map[string]int, error) {
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	runs := map[string]int{}
	for _, line := range strings.Split(string(text), "\n") {
		if path, ok := strings.CutPrefix(line, "run "); ok {
			runs[path]++
		}
	}
	return runs, nil
}
