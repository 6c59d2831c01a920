package idem

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Record is what a store keeps of one intent, for those who look at it from
// outside a request: resolvers, operators, consoles. The zero State says that
// nothing is there.
type Record struct {
	Name      string // in the store: a keyed hash stands in it, never the key
	Operation string
	// ScopeHash is the keyed hash of the scope in 16 hex digits, the same for all
	// of a scope's records: see [Guard.ScopeHash]. Claims keep it where their
	// operation has a resolver; "" elsewhere.
	ScopeHash string
	State     State
	Fence     uint64
	Note      string    // what the action left about itself
	Since     time.Time // when the last claim began
	Effects   bool      // the point of no return was marked
	Forced    bool      // somebody else's decision stands behind this claim, or settled it
	Weak      bool      // the store marked the claim: a failover could lose it, see Result.Weak
	LeaseLeft time.Duration
	Left      time.Duration // until the store forgets the record
	Trace     []byte        // the traceparent of the run, nil where none was kept
	// Attempt is, for a [Resolver], how many times it was asked about this claim,
	// this time included; 0 elsewhere.
	Attempt int
	// Unreadable says why the value cannot be read, nil where it can. Such a
	// record is held until its time is over, and nobody can settle it.
	Unreadable error

	found
	g    *Guard
	hold bool
}

// KeyHash returns the 16 hex digits by which logs and spans know the record.
func (r *Record) KeyHash() string { return KeyHash(r.Name) }

// Held tells whether somebody else than its owner may settle the record: it is
// UNCERTAIN, or reads as that because its run crashed. in is how long that has
// to wait still, as its owner may be alive: one more lease after its own is over
// (PROTOCOL P13); for a run that is alive it is longer than the lease left.
func (r *Record) Held() (held bool, in time.Duration) { return heldIn(r.found, r.hold) }

// DownstreamKey returns the key that the run called somebody else with under
// this label: see the function of that name. A resolver asks the other side by
// it. It is "" where nothing is there.
func (r *Record) DownstreamKey(label string) string {
	if r.g == nil || r.value == nil {
		return ""
	}
	return r.g.names.downstreamKey(r.Name, r.rec.fp, label)
}

// Same tells whether two looks saw the same value under the same name.
func (r *Record) Same(other Record) bool {
	return r.Name == other.Name && string(r.value) == string(other.value)
}

// RecordName returns the name of the record of a key, as the function of that
// name does with this guard's name key and prefix.
func (g *Guard) RecordName(operation, scope string, kind KeyKind, key string) string {
	if kind != KindToken {
		return g.names.recordName(g.prefix, operation, scope, kind, key)
	}
	t, err := ParseToken(key)
	if err != nil {
		return ""
	}
	return g.names.tokenRecord(g.prefix, operation, scope, t)
}

// ScopeHash returns the keyed hash under which records and logs know a scope.
func (g *Guard) ScopeHash(scope string) string { return g.names.scopeHash(scope) }

// Record loads one record by its name. It writes nothing. ErrUnavailable where
// the store does not answer.
func (g *Guard) Record(ctx context.Context, name string) (Record, error) {
	res, err := g.ask(ctx, "load", &Op{Kind: OpLoad, Name: name})
	if err != nil {
		return Record{Name: name}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return g.recordOf(name, res), nil
}

// Records loads many, in one exchange where the store can, and returns them in
// order. ErrUnavailable where any of them could not be loaded.
func (g *Guard) Records(ctx context.Context, names []string) ([]Record, error) {
	ops := make([]Op, len(names))
	for i, name := range names {
		ops[i] = Op{Kind: OpLoad, Name: name}
	}
	ctx, cancel := context.WithTimeout(WithStoreStep(context.WithoutCancel(ctx), "load"), settleTry)
	defer cancel()
	records := make([]Record, len(names))
	for i, r := range Apply(ctx, g.store, ops) {
		if r.Err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, r.Err)
		}
		records[i] = g.recordOf(names[i], r.Result)
	}
	return records, nil
}

// recordOf is what a store said is under a name.
func (g *Guard) recordOf(name string, res Result) Record {
	f := g.read(name, res)
	r := Record{Name: name, Operation: g.OperationOf(name), Left: f.left, Unreadable: f.unread, found: f, g: g, hold: true}
	if op := g.operation(r.Operation); op != nil {
		r.hold = op.policy.OnCrash == Hold
	}
	if f.value == nil || f.unread != nil {
		return r
	}
	r.State, r.Fence, r.Since, r.Note, r.ScopeHash = f.rec.state, f.rec.fence, f.rec.begun(), string(g.noteOf(name, &f.rec)), f.rec.scope.String()
	r.Effects, r.Forced, r.Weak = f.rec.flags&flagEffects != 0, f.rec.flags&flagForced != 0, f.rec.flags&flagWeak != 0
	r.Trace = unpackTrace(f.rec.trace)
	if r.State == StateProcessing {
		r.LeaseLeft = max(0, f.rec.leaseTime()-max(0, f.rec.retention()-f.left))
	}
	return r
}

// OperationOf returns the operation whose record has that name, "" where it is
// the name of no record of this guard's prefix. It looks nothing up.
func (g *Guard) OperationOf(name string) string {
	rest, ours := strings.CutPrefix(name, g.prefix)
	if !ours || KeyHash(name) == "" {
		return ""
	}
	return rest[:len(rest)-nameHashChars-1]
}

// Walk returns one page of the names under this guard's prefix, cards included:
// see [Scanner]. ErrUnable where the store cannot be walked.
func (g *Guard) Walk(ctx context.Context, cursor string, limit int) (Page, error) {
	ctx, cancel := context.WithTimeout(WithStoreStep(ctx, "scan"), settleTry)
	defer cancel()
	return Scan(ctx, g.store, g.prefix, cursor, limit)
}

// Due lists the entries of an operation's index that are due by now: records
// that claimed where the operation has a resolver. ErrUnable where the store
// keeps no index.
func (g *Guard) Due(ctx context.Context, operation string, limit int) ([]IndexEntry, error) {
	ctx, cancel := context.WithTimeout(WithStoreStep(ctx, "scan"), settleTry)
	defer cancel()
	return Entries(ctx, g.store, g.indexName(operation), g.clock.corrected(), limit)
}

// Move changes entries of an operation's index.
func (g *Guard) Move(ctx context.Context, operation string, moves []IndexMove) error {
	ctx, cancel := context.WithTimeout(WithStoreStep(context.WithoutCancel(ctx), "scan"), settleTry)
	defer cancel()
	return Reindex(ctx, g.store, g.indexName(operation), moves)
}

// indexName is the name of an operation's index. No key can make it.
func (g *Guard) indexName(operation string) string { return g.prefix + operation + ":index" }

// Resolver returns the resolver of an operation, nil where it has none.
func (g *Guard) Resolver(operation string) Resolver {
	if s := g.operations[operation]; s != nil {
		return s.resolver
	}
	return nil
}

// String names the record and its state, and nothing of its answer.
func (r Record) String() string {
	return fmt.Sprintf("record %s of %s: %v, fence %d", r.KeyHash(), r.Operation, r.State, r.Fence)
}

// GoString is String: %#v shows no more than %v.
func (r Record) GoString() string { return r.String() }

// LogValue is String.
func (r Record) LogValue() slog.Value { return slog.StringValue(r.String()) }
