package idem_test

import (
	"context"
	"errors"
	"fmt"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
)

// The handlers of this service return an error for whatever went wrong, and the
// policy releases it. A provider that did not answer may have done what it was
// asked to: a hook leaves that in doubt, in one place and not in every handler.
func ExampleHooks() {
	errNoAnswer := errors.New("the provider did not answer")
	guard, err := idem.New(idem.Config{
		Store:    memstore.New(memstore.Options{}),
		Policies: []idem.Policy{{Operation: "shop:order:pay", Preset: idem.API}},
		Hooks: idem.Hooks{
			BeforeSettle: func(_ context.Context, plan idem.SettlePlan) idem.SettleChange {
				return idem.SettleChange{Doubt: errors.Is(plan.Err, errNoAnswer)}
			},
			AfterVerdict: func(_ context.Context, v idem.HookVerdict) {
				if v.Verdict == idem.Uncertain && v.Ran {
					fmt.Println("somebody has to look at", v.Operation)
				}
			},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close(context.Background())

	pay := func(key string, outcome error) {
		_, verdict, _ := idem.Do(context.Background(), guard, idem.Intent{Operation: "shop:order:pay", Scope: "alice", Key: key},
			idem.JSON[string](), func(context.Context) (string, error) { return "paid", outcome })
		fmt.Println(verdict)
	}
	pay("cart 1", errors.New("the card was refused"))
	pay("cart 2", fmt.Errorf("charging: %w", errNoAnswer))
	// Output:
	// released
	// somebody has to look at shop:order:pay
	// uncertain
}
