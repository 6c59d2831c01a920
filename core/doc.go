// Package idem makes any write safe to submit twice: double clicks, retries,
// browsers that resend a POST by themselves, redelivered messages. The action
// runs once, everybody gets the same answer, and operators can see why.
//
// An intent is what somebody wants done once: an operation, a scope (whose it
// is) and a key. [Do] claims it in a store, runs the action under a lease that
// is renewed, keeps the answer, and replays it to whoever comes again:
//
//	guard, err := idem.New(idem.Config{
//		Store:    memstore.New(memstore.Options{}),
//		Policies: []idem.Policy{{Operation: "mail:invoice:send", Preset: idem.API}},
//	})
//	…
//	in := idem.Intent{Operation: "mail:invoice:send", Scope: msg.Tenant, Key: msg.ID}
//	receipt, verdict, err := idem.Do(ctx, guard, in, idem.JSON[Receipt](),
//		func(ctx context.Context) (Receipt, error) { return send(ctx, msg) })
//
// HTTP servers put core/httpflow and an adapter around their handlers instead.
//
// # What goes wrong
//
// A process can die between the effect and the moment its outcome is written.
// Nobody can tell then whether the action ran, and this package does not guess:
// the policy's OnCrash says whether the intent is held (Uncertain) or run again.
// A handler that calls somebody outside its database says so first, with
// [MarkEffects]; from then on its run is held whatever the policy says.
//
// A store can fail. Any error of a store means that the outcome is unknown: the
// claim is asked for again under the same nonce, and what stays unknown is
// written over by a janitor, so that a copy still on its way finds the place
// taken. An outcome that cannot be written is kept up in the background, and
// the client gets the real answer meanwhile.
//
// Not promised: anything once a record's retention is over, exactly-once effects
// outside the action's own database transaction, and safety after the store
// lost writes it had acknowledged.
//
// The rules are written down in docs/reference/protocol.md; the comments here
// name its rules and sections (PROTOCOL P1, section 4, …), and each rule has a test
// of that name.
package idem
