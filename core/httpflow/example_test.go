package httpflow_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/stores/memstore"
)

// exampleFlow is a flow whose users are named by a header, and the end of its guard.
func exampleFlow() (flow *httpflow.Flow, end func()) {
	guard, err := idem.New(idem.Config{
		Store:    memstore.New(memstore.Options{}),
		Policies: []idem.Policy{{Operation: "shop:order:create", Preset: idem.Form}},
	})
	if err != nil {
		panic(err)
	}
	flow, err = httpflow.New(httpflow.Config{Guard: guard, Scope: func(r httpflow.Request) (string, error) {
		if user := r.Header("X-User"); len(user) == 1 {
			return user[0], nil
		}
		return "", nil // nobody is signed in: 401
	}})
	if err != nil {
		panic(err)
	}
	return flow, func() { _ = guard.Close(context.Background()) }
}

// Everything that is wrong is said at once.
func ExampleNew() {
	_, err := httpflow.New(httpflow.Config{Profile: "relaxed", Origins: []string{"shop.example"}})
	fmt.Println(err)
	// Output:
	// httpflow: the flow cannot be built:
	// config: Guard is nil: build one with idem.New
	// config: Scope is nil: say whose key a request carries, or build the guard with Unscoped
	// config: origin "shop.example" is not of the form https://host[:port]
	// config: Profile "relaxed" is none of standard, too-early, strict
}

// A page that the server renders gets its token here, and the field that carries
// it. (Adapters have a Request of their own for their framework's.)
func ExampleFlow_Issue() {
	flow, end := exampleFlow()
	defer end()
	r := httptest.NewRequest(http.MethodGet, "/cart", nil)
	if _, err := flow.Issue(httpflow.NetRequest{Request: r}, "shop:order:create", ""); err != nil {
		fmt.Println(err)
	}
	r.Header.Set("X-User", "alice")
	token, err := flow.Issue(httpflow.NetRequest{Request: r}, "shop:order:create", "")
	if err != nil {
		fmt.Println(err)
	}
	field := httpflow.Input(token)
	fmt.Println(len(token.Reveal()), field[:45])
	// Output:
	// idem: the intent has no scope: say whose key it is (a tenant, a user), or build the guard with Unscoped
	// 32 <input type="hidden" name="idempotent-token"
}

// What a middleware of CORS has to allow.
func ExampleFlow_CORS() {
	flow, end := exampleFlow()
	defer end()
	send, read := flow.CORS()
	fmt.Println(send)
	fmt.Println(read)
	// Output:
	// [Content-Type Idempotency-Token Prefer X-Idempotent-Token]
	// [Idempotency-Status Idempotent-Replayed Retry-After Location Link]
}

// The answer that repeats get where a resolver found out that an order was made.
func ExampleKeptAnswer() {
	header := http.Header{"Content-Type": {"application/json"}, "Location": {"/orders/7"}}
	answer, err := httpflow.KeptAnswer(http.StatusCreated, header, []byte(`{"order":7}`))
	fmt.Println(len(answer.Bytes) > 0, answer.Partial, err)
	_, err = httpflow.KeptAnswer(42, nil, nil)
	fmt.Println(err)
	// Output:
	// true false <nil>
	// httpflow: an answer with status 42 cannot be kept: it is 200 to 999
}
