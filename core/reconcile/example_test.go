package reconcile_test

import (
	"context"
	"errors"
	"fmt"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/reconcile"
	"github.com/go-idem/idem/stores/memstore"
)

// A payment whose provider did not answer is held. The resolver asks the provider
// by the key that it was called with, and a repeat gets the answer.
func ExampleReconciler_Once() {
	charges := map[string]string{} // what the provider knows
	guard, err := idem.New(idem.Config{
		Store:    memstore.New(memstore.Options{}),
		Policies: []idem.Policy{{Operation: "shop:order:pay", Preset: idem.Payment}},
		Resolvers: map[string]idem.Resolver{
			"shop:order:pay": reconcile.Func(func(_ context.Context, r reconcile.Record) (reconcile.Resolution, error) {
				charge, known := charges[r.DownstreamKey("provider")]
				if !known {
					return reconcile.Later(), nil
				}
				answer, err := reconcile.JSON(charge)
				return reconcile.Succeeded(answer), err
			}),
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	defer guard.Close(ctx)
	pay := func() {
		in := idem.Intent{Operation: "shop:order:pay", Scope: "alice", Key: "cart-42"}
		charge, verdict, _ := idem.Do(ctx, guard, in, idem.JSON[string](), func(ctx context.Context) (string, error) {
			if err := idem.MarkEffects(ctx, "cart-42"); err != nil {
				return "", err
			}
			key, _ := idem.DownstreamKey(ctx, "provider")
			charges[key] = "ch-1"
			return "", errors.New("the connection broke")
		})
		fmt.Printf("%s %q\n", verdict, charge)
	}
	pay()
	pay()
	reconciler, err := reconcile.New(reconcile.Config{Guard: guard})
	if err != nil {
		fmt.Println(err)
		return
	}
	sum, err := reconciler.Once(ctx) // in a service: go reconciler.Run(ctx)
	fmt.Println("resolved:", sum.Resolved(), err)
	pay()
	// Output:
	// uncertain ""
	// uncertain ""
	// resolved: 1 <nil>
	// replayed "ch-1"
}

// A person settles what no program can tell, and only what he saw.
func ExampleResolve() {
	guard, err := idem.New(idem.Config{
		Store:    memstore.New(memstore.Options{}),
		Policies: []idem.Policy{{Operation: "shop:order:pay", Preset: idem.Payment}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	defer guard.Close(ctx)
	claim, err := guard.Claim(ctx, idem.Intent{Operation: "shop:order:pay", Scope: "alice", Key: "cart-42"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = claim.Note("cart-42")
	_ = claim.Doubt(ctx)

	seen, err := guard.Record(ctx, guard.RecordName("shop:order:pay", "alice", idem.KindKey, "cart-42"))
	fmt.Println(seen.State, seen.Note, err)
	by := idem.By{Actor: "ann", Reason: "not in the bank's list of 3 May"}
	now, err := reconcile.Resolve(ctx, guard, seen, reconcile.Released(), by)
	fmt.Println(now.State, err)
	_, err = reconcile.Resolve(ctx, guard, seen, reconcile.Released(), by)
	fmt.Println(err)
	// Output:
	// uncertain cart-42 <nil>
	// released <nil>
	// idem: the record is no longer what was seen: look again
}
