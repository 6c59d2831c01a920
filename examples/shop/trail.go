package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"

	"github.com/go-idem/idem/audit"
	idem "github.com/go-idem/idem/core"
)

// trailKept is how many events /health shows.
const trailKept = 12

// trail is the shop's audit log: one event for every change of a record. The
// latest are kept for /health; with -audit all are written to a file, one line of
// JSON each, by whatever processes this shop has.
type trail struct {
	log  *audit.Log
	file *os.File
	to   audit.Sink // the file, nil where there is none

	mu     sync.Mutex
	latest []audit.Event // the newest last
}

// openTrail opens an audit log that is written to a file, or is kept for the page
// only if path is empty. With a file it is strict: an order whose claim cannot be
// written down does not run. A server that is killed leaves its last claim there.
func openTrail(path string, logger *slog.Logger) (*trail, error) {
	t := &trail{}
	if path != "" {
		var err error
		if t.file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			return nil, fmt.Errorf("open the audit log: %w", err)
		}
		t.to = audit.Slog(slog.New(slog.NewJSONHandler(t.file, nil)))
	}
	var err error
	if t.log, err = audit.New(audit.Options{Sink: t, Strict: path != "", Logger: logger}); err != nil {
		return nil, errors.Join(err, t.closeFile())
	}
	return t, nil
}

// Write implements [audit.Sink].
func (t *trail) Write(ctx context.Context, events []audit.Event) error {
	if t.to != nil {
		if err := t.to.Write(ctx, events); err != nil {
			return err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.latest = append(t.latest, events...)
	t.latest = slices.Delete(t.latest, 0, max(0, len(t.latest)-trailKept))
	return nil
}

// newest are the latest events, the newest first.
func (t *trail) newest() []audit.Event {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	list := slices.Clone(t.latest)
	slices.Reverse(list)
	return list
}

// auditor is who is told of the guard's changes, nil for nobody.
func (t *trail) auditor() idem.Auditor {
	if t == nil {
		return nil
	}
	return t.log
}

// drops counts what was lost, for the metrics; nil where nothing is audited.
func (t *trail) drops() func() int64 {
	if t == nil {
		return nil
	}
	return t.log.Drops
}

// close writes what waits. Close the shop before, so that its last events do.
func (t *trail) close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return errors.Join(t.log.Close(ctx), t.closeFile())
}

// path is the file's, "" where there is none.
func (t *trail) path() string {
	if t == nil || t.file == nil {
		return ""
	}
	return t.file.Name()
}

func (t *trail) closeFile() error {
	if t.file == nil {
		return nil
	}
	return t.file.Close()
}
