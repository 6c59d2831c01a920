// Package audit keeps the audit log of a guard: one event for every change of a
// record, written to a sink.
//
//	log, err := audit.New(audit.Options{Sink: audit.Slog(logger)})
//	guard, err := idem.New(idem.Config{…, Auditor: log})
//	…
//	guard.Close(ctx)
//	log.Close(ctx) // in this order: the guard's last events go into the log
//
// # What is in an event
//
// When, which operation, what changed (claim, complete, bury, resolve…), from
// which state to which, the verdict, the fence, who held the claim, who decided
// and why where somebody else than its owner did, the trace, and the client's
// address where the application hands it over ([idem.Intent].Client). Keys and
// scopes are there as keyed hashes: the same 16 hex digits that logs and spans
// show. No event holds a key, a token, a scope, a note or a body.
//
// # Where it goes
//
// [Slog] writes to a logger, [Stream] to a Redis stream by the store that keeps
// the records, package audit/redisstream to a Redis of its own, and anything with
// the one method of [Sink] wherever it likes. With [Options.Ride] events of one
// Redis travel in the very pipeline of the claim or settle they tell of, and cost
// no round trip; what cannot travel so (in a Cluster, or what a janitor does) goes
// to the sink, off the path.
//
// # When the sink is down
//
// Nothing is lost unseen. Either the queue is bounded and what does not fit is
// counted ([Log.Drops], [Options.OnDrop]) and said in the log; or, with
// [Options.Strict], what cannot be written does not happen: a claim whose event
// cannot be written is given back before its handler starts, and its client is told
// unavailable. A run that began before the sink went down ends as it would: its
// effect is there, and an error for an answer would only make its client repeat
// it. Its event is held and written when the sink is back, and until then nothing
// new begins, so that no more is held than runs were under way.
//
// An event is written at least once. Where the reply to a write was lost there
// are two copies, with the same ID. Order by Time, and the events of one record by
// Fence: their places in the log may differ.
package audit
