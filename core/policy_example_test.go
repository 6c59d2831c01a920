package idem_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
)

// Policies in a file of their own, and everything that is wrong with them said
// at once.
func ExampleLoadPolicies() {
	policies, err := idem.LoadPolicies([]byte(`[
		{"operation": "shop:order:create", "preset": "form", "retention": "48h"},
		{"operation": "shop:order:pay", "preset": "payment", "maxBody": "64KiB"}
	]`))
	fmt.Println(len(policies), err)

	_, err = idem.LoadPolicies([]byte(`[{"operation": "shop:order:create", "leese": "30s", "onCrash": "retry"}]`))
	fmt.Println(err)
	// Output:
	// 2 <nil>
	// idem: policies cannot be used:
	// policy "shop:order:create": "leese" is no member
	// policy "shop:order:create": onCrash "retry" is none of hold, retake
}

// One number is changed while the program runs.
func ExampleGuard_SetPolicy() {
	guard, err := idem.New(idem.Config{
		Store:    memstore.New(memstore.Options{}),
		Policies: []idem.Policy{{Operation: "shop:order:create", Preset: idem.API}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close(context.Background())

	running, _ := guard.Policy("shop:order:create")
	changed := *running
	changed.MaxRun = 2 * time.Minute
	if err := guard.SetPolicy(changed); err != nil {
		fmt.Println(err)
		return
	}
	running, _ = guard.Policy("shop:order:create")
	text, _ := json.Marshal(running)
	fmt.Printf("%.62s…\n%v\n", text, running.MaxRun)
	// Output:
	// {"operation":"shop:order:create","preset":"api","mode":"enforc…
	// 2m0s
}

// A guard is rolled out: first it only looks on, then a tenth of the keys is
// guarded, then all of them.
func ExampleMode() {
	guard, err := idem.New(idem.Config{
		Store:    memstore.New(memstore.Options{}),
		Policies: []idem.Policy{{Operation: "shop:order:create", Preset: idem.API, Mode: idem.ModeObserve}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close(context.Background())

	orders := 0
	order := func() {
		intent := idem.Intent{Operation: "shop:order:create", Scope: "alice", Key: "cart-42"}
		_, verdict, err := idem.Do(context.Background(), guard, intent, idem.JSON[int](), func(context.Context) (int, error) {
			orders++
			return orders, nil
		})
		fmt.Println(verdict, err, orders)
	}
	order()
	order() // a duplicate, which would be answered from the record
	fmt.Println(guard.Stats().Beside, "would have been refused or replayed")

	running, _ := guard.Policy("shop:order:create")
	enforced := *running
	enforced.Mode = idem.ModeEnforce // perhaps with Share: 0.1 first
	if err := guard.SetPolicy(enforced); err != nil {
		fmt.Println(err)
		return
	}
	order()
	// Output:
	// executed <nil> 1
	// unprotected <nil> 2
	// 1 would have been refused or replayed
	// replayed <nil> 2
}
