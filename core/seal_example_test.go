package idem_test

import (
	"bytes"
	"context"
	"fmt"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
)

// What is kept of an answer is sealed in the store. A guard that has the key
// replays it; one that has not says that it is uncertain, and runs nothing.
func ExampleNewSealer() {
	store, nameKey := memstore.New(memstore.Options{}), idem.NameKey(idem.GenerateKey())
	key := idem.SealingKey{ID: 1, Secret: idem.GenerateKey()} // where all processes read the same

	do := func(keys ...idem.SealingKey) {
		cfg := idem.Config{Store: store, NameKey: nameKey, Policies: []idem.Policy{{Operation: "shop:order:create", Preset: idem.API}}}
		if len(keys) > 0 {
			sealer, err := idem.NewSealer(keys...)
			if err != nil {
				fmt.Println(err)
				return
			}
			cfg.Sealer = sealer
		}
		guard, err := idem.New(cfg)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer guard.Close(context.Background())
		answer, verdict, _ := idem.Do(context.Background(), guard, idem.Intent{Operation: "shop:order:create", Scope: "alice", Key: "k"},
			idem.JSON[string](), func(context.Context) (string, error) { return "order 7 for alice", nil })
		fmt.Printf("%s %q\n", verdict, answer)
	}
	do(key)
	do(key)
	do()

	name := idem.RecordName(nameKey, "idem:", "shop:order:create", "alice", idem.KindKey, "k")
	kept, _ := store.Load(context.Background(), name)
	fmt.Println("in the clear in the store:", bytes.Contains(kept.Value, []byte("alice")))
	// Output:
	// executed "order 7 for alice"
	// replayed "order 7 for alice"
	// uncertain ""
	// in the clear in the store: false
}
