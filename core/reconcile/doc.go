// Package reconcile settles the runs that nobody can tell about any more: those
// whose process died, and those that ended in doubt. It asks the one who can find
// out, your [Resolver], and writes what he says.
//
//	guard, err := idem.New(idem.Config{
//		Store: store, …,
//		Policies:  []idem.Policy{{Operation: "shop:order:pay", Preset: idem.Payment}},
//		Resolvers: map[string]idem.Resolver{"shop:order:pay": reconcile.Func(askProvider)},
//	})
//	reconciler, err := reconcile.New(reconcile.Config{Guard: guard})
//	go reconciler.Run(ctx)
//
//	func askProvider(ctx context.Context, r reconcile.Record) (reconcile.Resolution, error) {
//		charge, err := provider.Find(ctx, r.DownstreamKey("provider"))
//		switch {
//		case err != nil:
//			return reconcile.Later(), err
//		case charge == nil:
//			return reconcile.Released(), nil // it never came to them, and cannot any more
//		case charge.Refused:
//			payload, err := httpflow.KeptAnswer(402, nil, []byte("card refused"))
//			return reconcile.Failed(payload), err
//		}
//		payload, err := reconcile.JSON(receipt{charge.ID})
//		return reconcile.Succeeded(payload), err
//	}
//
// # What it looks at
//
// Records that are UNCERTAIN, and records that read as that: their lease ran out
// under Hold, or after MarkEffects. A crashed one is left alone for one more
// lease: its process may only have stood still, and its call to the provider may
// be on its way. Claims of an operation with a resolver leave an entry in an
// index, which is followed every few seconds; a slow walk over all records finds
// the rest. What a policy with Retake lets run again is not looked at.
//
// # What it promises
//
// One process asks about a record at a time. The outcome is one Swap of exactly
// what was seen, with an owner of its own and the fence up: whatever the old
// owner, a forced run or another reconciler does meanwhile, one of them wins and
// the others are told so (design: PROTOCOL P13).
//
// # What goes wrong
//
// A resolver that says Released when it only found nothing yet has the action run
// twice. Say Later: it is asked again, with growing pauses, and after Config.Attempts
// a person is called by an error in the log. Such a record stays held until its
// retention is over, or until [Resolve] settles it by somebody's word.
package reconcile
