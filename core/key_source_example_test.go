package idem_test

import (
	"fmt"

	idem "github.com/go-idem/idem/core"
)

// The record of an order whose key was made of its number and the customer in
// the path, found by somebody who knows both.
func ExampleKeySource_Key() {
	source, err := idem.ParseKeySource("json:/orderId+path:customer")
	if err != nil {
		fmt.Println(err)
		return
	}
	key := source.Key(idem.KeyValue{Text: "4711", Number: true}, idem.KeyValue{Text: "ann"})

	nameKey := idem.NameKey("thirty-two bytes that are secret")
	fmt.Println(idem.RecordName(nameKey, "idem:", "shop:order:create", "tenant-1", idem.KindKey, key))
	// Output:
	// idem:shop:order:create:4evkoqgsdxxk5vbpwk26wqm4wu
}

// Everything that is wrong with a policy's key sources is said when the guard is
// built.
func ExampleParseKeySource() {
	source, err := idem.ParseKeySource("json:/order/id+path:customer")
	fmt.Println(source.Parts, source.InBody(), err)

	_, err = idem.ParseKeySource("json:order.id")
	fmt.Println(err)
	// Output:
	// [{json /order/id} {path customer}] true <nil>
	// "json:order.id": it is no JSON pointer: begin with '/' and write ~0 for '~' and ~1 for '/', such as /order/id
}
