package audit

import (
	"context"
	"errors"
	"log/slog"

	idem "github.com/go-idem/idem/core"
)

// Slog is a sink that writes each event as one record of a logger, at level Info,
// with the message "audit". What the logger's handler makes of an error it says
// itself.
func Slog(logger *slog.Logger) Sink { return slogSink{logger} }

type slogSink struct{ logger *slog.Logger }

func (s slogSink) Write(ctx context.Context, events []Event) error {
	var failed error
	for _, e := range events {
		fields := e.Fields()
		attrs := make([]slog.Attr, 0, len(fields)/2)
		for i := 0; i < len(fields); i += 2 {
			if fields[i] != "time" { // it is the record's own
				attrs = append(attrs, slog.String(fields[i], fields[i+1]))
			}
		}
		if !s.logger.Enabled(ctx, slog.LevelInfo) {
			return errors.New("audit: the logger is not enabled for level Info, so that no event would be written")
		}
		r := slog.NewRecord(e.Time, slog.LevelInfo, "audit", 0)
		r.AddAttrs(attrs...)
		failed = errors.Join(failed, s.logger.Handler().Handle(ctx, r)) // the logger itself keeps errors to itself
	}
	return failed
}

// DefaultStream and DefaultMax are what a [Journal] is called and keeps unless it
// says otherwise.
const (
	DefaultStream = "idem:audit"
	DefaultMax    = 1_000_000
)

// Journal names a Redis stream.
type Journal struct {
	Name string // "idem:audit" if empty
	Max  int64  // about how many events are kept, the newest; a million if zero
}

func (j Journal) withDefaults() Journal {
	if j.Name == "" {
		j.Name = DefaultStream
	}
	if j.Max <= 0 {
		j.Max = DefaultMax
	}
	return j
}

// Appender appends entries, of names and values in turn, to a stream of which about
// max entries are kept. The Redis store is one; package audit/redisstream makes one
// of a Redis client.
type Appender interface {
	Append(ctx context.Context, stream string, max int64, entries [][]string) error
}

// Stream is a sink that appends to a Redis stream, many events in one round trip.
func Stream(to Appender, j Journal) Sink { return streamSink{to, j.withDefaults()} }

type streamSink struct {
	to      Appender
	journal Journal
}

func (s streamSink) Write(ctx context.Context, events []Event) error {
	entries := make([][]string, len(events))
	for i, e := range events {
		entries[i] = e.Fields()
	}
	return s.to.Append(ctx, s.journal.Name, s.journal.Max, entries)
}

// Entry has events travel with the store's own calls: see [Options.Ride].
func (l *Log) Entry(t idem.Transition) *idem.JournalEntry {
	if l.options.Ride == nil {
		return nil
	}
	return &idem.JournalEntry{Journal: l.options.Ride.Name, Max: l.options.Ride.Max, Fields: EventOf(t).Fields()}
}
