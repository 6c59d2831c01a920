// Package redisstream has an audit log go to a Redis of its own, or to any that
// the application has a client of: a server that is not the records' store, with
// its own rights and its own persistence.
//
//	sink := audit.Stream(redisstream.New(client), audit.Journal{Name: "shop:audit"})
//	log, err := audit.New(audit.Options{Sink: sink})
//
// It costs one round trip for up to 256 events, off the path of requests (under
// audit.Options.Strict one for each claim, on it). Events that should travel in the
// records' own pipelines need no client: see audit.Options.Ride.
package redisstream

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Appender appends to streams by a client. It is an audit.Appender.
type Appender struct{ client redis.UniversalClient }

// New makes one. The client stays the caller's to close; its own retries are
// harmless here, because an event that is written twice has the same ID.
func New(client redis.UniversalClient) *Appender { return &Appender{client} }

// Append appends entries to a stream in one round trip and has the server keep
// about max of them. On an error some may have been appended.
func (a *Appender) Append(ctx context.Context, stream string, max int64, entries [][]string) error {
	_, err := a.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, fields := range entries {
			p.XAdd(ctx, &redis.XAddArgs{Stream: stream, MaxLen: max, Approx: true, Values: fields})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("redisstream: %d events: %w", len(entries), err)
	}
	return nil
}
