package adaptertest_test

import (
	"fmt"

	"github.com/go-idem/idem/adapters/adaptertest"
	"github.com/go-idem/idem/internal/testserver"
)

// One statement, played over net/http and a store in memory.
func ExampleCheck() {
	for _, r := range adaptertest.Check(testserver.StdHTTP(), testserver.Memory(), "Statement19_ARepeatIsReplayed") {
		fmt.Println(r)
	}
	// Output:
	// stdhttp/memory/Statement19_ARepeatIsReplayed: holds
}

// What a recover that stands outside the guard answers shows whether the panic
// came through as it was.
func ExampleRecovered() {
	fmt.Println(adaptertest.Recovered(&adaptertest.Panic{Text: "out of cheese"}))
	fmt.Println(adaptertest.Recovered(fmt.Errorf("out of cheese")))
	// Output:
	// 500 panic, the same value: out of cheese
	// 500 panic, another value: *errors.errorString
}
