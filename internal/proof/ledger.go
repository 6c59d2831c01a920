package proof

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Ledger is a file to which server processes append what their handlers do. One
// write of one line to a file opened for appending is never torn, so it holds
// every run of a process that was killed.
type Ledger struct{ file *os.File }

// OpenLedger opens a ledger for appending; several processes may share one.
func OpenLedger(path string) (*Ledger, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	return &Ledger{f}, nil
}

// write appends a line. A run that cannot be written down must not be: the
// process ends.
func (l *Ledger) write(what, request, how string) {
	if _, err := fmt.Fprintf(l.file, "%s %d %s %s\n", what, time.Now().UnixNano(), request, how); err != nil {
		panic(fmt.Sprintf("writing the ledger: %v", err))
	}
}

// began says that a handler was entered for a request and with which fence,
// marking that it is about to mark its effects, marked that it has, ended how it is
// about to return, and soft that its outcome was not known to be written when the client
// was answered.
func (l *Ledger) began(request string, fence uint64) { l.write("began", request, fmt.Sprint(fence)) }
func (l *Ledger) marking(request string)             { l.write("marking", request, "-") }
func (l *Ledger) marked(request string)              { l.write("marked", request, "-") }
func (l *Ledger) ended(request string, p phase)      { l.write("ended", request, phaseWords[p]) }
func (l *Ledger) soft(request string)                { l.write("soft", request, "-") }

// Close closes the file.
func (l *Ledger) Close() error { return l.file.Close() }

// entry is what a ledger says of one run.
type entry struct {
	// Nanoseconds; 0 for what it did not come to.
	began, marking, marked, ended int64
	to                            phase
	soft                          bool
	fence                         uint64
}

// readLedger reads all of it, by request.
func readLedger(path string) (map[string]entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	defer f.Close()
	runs := map[string]entry{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		word := strings.Fields(lines.Text())
		if len(word) != 4 {
			return nil, fmt.Errorf("the ledger has a line of %d words", len(word))
		}
		at, err := strconv.ParseInt(word[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the ledger has a line without a time: %w", err)
		}
		e, known := runs[word[2]]
		switch word[0] {
		case "began":
			if known {
				return nil, fmt.Errorf("request %s ran twice by itself", word[2])
			}
			e.began = at
			if e.fence, err = strconv.ParseUint(word[3], 10, 64); err != nil {
				return nil, fmt.Errorf("the ledger has a run without a fence: %w", err)
			}
		case "marking":
			e.marking = at
		case "marked":
			e.marked = at
		case "ended":
			e.ended = at
			for p, name := range phaseWords {
				if name == word[3] {
					e.to = phase(p)
				}
			}
		case "soft":
			e.soft = true
		}
		runs[word[2]] = e
	}
	return runs, nil
}
