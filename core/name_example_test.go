package idem_test

import (
	"errors"
	"fmt"
	"strings"

	idem "github.com/go-idem/idem/core"
)

// Both spellings of a key are one key, and what is no key says so without
// repeating it.
func ExampleParseKey() {
	for _, field := range []string{`8e03978e-40d5`, `"8e03978e-40d5";v=1`, `""`, `one, two`} {
		key, err := idem.ParseKey(field, false)
		fmt.Printf("%-20s → %q malformed: %v\n", field, key, errors.Is(err, idem.ErrMalformed))
	}
	// Output:
	// 8e03978e-40d5        → "8e03978e-40d5" malformed: false
	// "8e03978e-40d5";v=1  → "8e03978e-40d5" malformed: false
	// ""                   → "" malformed: true
	// one, two             → "" malformed: true
}

// A token reads back from its 32 characters, and keeps them to itself when it is
// printed.
func ExampleParseToken() {
	tok, err := idem.ParseToken("I05rSdIAbm9uY2UtN-Agf1Y3_zSo2kKe")
	fmt.Println(tok, err)
	_, err = idem.ParseToken("I05rSdIA")
	fmt.Println(err)
	// Output:
	// token(k3 issued 2027-01-15T08:00:00Z for 15m0s …) <nil>
	// idem: the key, token or body cannot be read: a token has exactly 32 characters
}

// An operator who holds a customer's key computes where its record is kept, and
// the hash under which it stands in traces.
func ExampleRecordName() {
	nameKey, err := idem.NewNameKey([]byte(strings.Repeat("n", 32)))
	if err != nil {
		panic(err)
	}
	name := idem.RecordName(nameKey, "idem:", "shop:order:create", "alice", idem.KindKey, "8e03978e-40d5")
	fmt.Println(name)
	fmt.Println(idem.KeyHash(name))
	fmt.Println(nameKey)
	// Output:
	// idem:shop:order:create:wc3wa7o6g3sw2ajtx6xndrkwci
	// b0b7607dde36e56d
	// name key(…)
}

// Everything wrong with a ring is told at once.
func ExampleNewSigner() {
	old := idem.SigningKey{ID: 1, Secret: idem.GenerateKey(), VerifyOnly: true}
	ring, err := idem.NewSigner(old, idem.SigningKey{ID: 2, Secret: idem.GenerateKey()})
	fmt.Println(ring, err)
	_, err = idem.NewSigner(old, idem.SigningKey{ID: 1, Secret: []byte("short")})
	fmt.Println(err)
	// Output:
	// signer(signs with k2, verifies k1 k2) <nil>
	// signing key k1 is given twice: every key needs an id of its own
	// signing key k1: the secret has 5 bytes, it needs at least 32 random ones
}

// The text of a choice stands on the operation's card; two choices that compare
// the same way read the same.
func ExampleFingerprintChoice_String() {
	fmt.Println(idem.FingerprintChoice{})
	fmt.Println(idem.FingerprintChoice{Ignore: []string{"/csrf", "/client/time"}})
	fmt.Println(idem.FingerprintChoice{Mode: idem.FingerprintNone})
	// Output:
	// canonical/1
	// canonical/1 ignore ["/client/time","/csrf"]
	// none/1
}

// ValidOperation is what a policy's name is held to.
func ExampleValidOperation() {
	fmt.Println(idem.ValidOperation("shop:order:create"))
	fmt.Println(idem.ValidOperation("order:create"))
	// Output:
	// <nil>
	// operation "order:create" has 2 parts: name it system:domain:action, such as shop:order:create
}
