package idem_test

import (
	"context"
	"fmt"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
)

// A handler that serves guarded and unguarded requests alike asks which one it has.
func ExampleRecorded() {
	guard, err := idem.New(idem.Config{Store: memstore.New(memstore.Options{}), Policies: []idem.Policy{{Operation: "shop:order:create", Preset: idem.API}}})
	if err != nil {
		panic(err)
	}
	defer func() { _ = guard.Close(context.Background()) }()
	in := idem.Intent{Operation: "shop:order:create", Scope: "alice", Key: "a1"}
	_, _, _ = idem.Do(context.Background(), guard, in, idem.JSON[int](), func(ctx context.Context) (int, error) {
		fmt.Println("inside of a run:", idem.Recorded(ctx))
		return 1, nil
	})
	fmt.Println("outside:", idem.Recorded(context.Background()))
	// Output:
	// inside of a run: true
	// outside: false
}

// A store with a timer of its own for each connection asks whether it has to watch
// anything beside the deadline.
func ExampleDeadlineOnly() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if _, only := idem.DeadlineOnly(ctx); !only {
		fmt.Println("this one can be cancelled: watch Done as well")
	}
	// Output: this one can be cancelled: watch Done as well
}
