package adaptertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// Result is what became of one statement.
type Result struct {
	Statement string        `json:"statement"`
	Adapter   string        `json:"adapter"`
	Backend   string        `json:"backend"`
	Failures  []string      `json:"failures,omitempty"`  // empty: it holds
	NotOfThis string        `json:"notOfThis,omitempty"` // why the framework cannot keep it; it was not played
	Took      time.Duration `json:"took"`
	Plays     int           `json:"plays"` // more than one where the machine stood still meanwhile
	Log       string        `json:"-"`     // the last lines of the servers' logs, where it failed
}

// Holds tells that the statement was played and holds.
func (r Result) Holds() bool { return r.NotOfThis == "" && len(r.Failures) == 0 }

// String is one line for a report.
func (r Result) String() string {
	switch {
	case r.NotOfThis != "":
		return fmt.Sprintf("%s/%s/%s: not of this framework: %s", r.Adapter, r.Backend, r.Statement, r.NotOfThis)
	case len(r.Failures) > 0:
		return fmt.Sprintf("%s/%s/%s: FAILS: %s", r.Adapter, r.Backend, r.Statement, r.Failures[0])
	}
	return fmt.Sprintf("%s/%s/%s: holds", r.Adapter, r.Backend, r.Statement)
}

// record appends a result to the file that IDEM_CONFORMANCE names, a JSON line
// each: what the page of conformance is made of. Several test programs may write
// to one file.
func record(r Result) error {
	file := os.Getenv("IDEM_CONFORMANCE")
	if file == "" {
		return nil
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}
