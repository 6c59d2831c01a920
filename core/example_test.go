package idem_test

import (
	"context"
	"errors"
	"fmt"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
)

func exampleGuard(p idem.Policy) *idem.Guard {
	guard, err := idem.New(idem.Config{Store: memstore.New(memstore.Options{}), Policies: []idem.Policy{p}})
	if err != nil {
		panic(err)
	}
	return guard
}

// A queue delivers the same message twice: the mail is sent once.
func ExampleDo() {
	guard := exampleGuard(idem.Policy{Operation: "mail:invoice:send", Preset: idem.API})
	defer guard.Close(context.Background())

	deliver := func(id string) {
		in := idem.Intent{Operation: "mail:invoice:send", Scope: "tenant-1", Key: id}
		number, verdict, err := idem.Do(context.Background(), guard, in, idem.JSON[int](),
			func(context.Context) (int, error) {
				fmt.Println("sending")
				return 7, nil
			})
		fmt.Println(number, verdict, err)
	}
	deliver("message-1")
	deliver("message-1")
	// Output:
	// sending
	// 7 executed <nil>
	// 7 replayed <nil>
}

// Everything that is wrong with a configuration is said at once.
func ExampleNew() {
	_, err := idem.New(idem.Config{
		Store:    memstore.New(memstore.Options{}),
		Policies: []idem.Policy{{Operation: "Orders"}, {Operation: "shop:order:pay", OnCrash: "maybe"}},
	})
	fmt.Println(err != nil)
	// Output: true
}

// A token is issued for a form and used once.
func ExampleGuard_Issue() {
	guard := exampleGuard(idem.Policy{Operation: "shop:order:create", Preset: idem.Form})
	defer guard.Close(context.Background())

	token, err := guard.Issue(context.Background(), idem.TokenRequest{Operation: "shop:order:create", Scope: "alice"})
	fmt.Println(len(token.Reveal()), err)

	for range 2 {
		_, verdict, _ := idem.Do(context.Background(), guard,
			idem.Intent{Operation: "shop:order:create", Scope: "alice", Token: token},
			idem.JSON[string](), func(context.Context) (string, error) { return "order 1", nil })
		fmt.Println(verdict)
	}
	// Output:
	// 32 <nil>
	// executed
	// replayed
}

// A claim by hand, for work that is not one function.
func ExampleGuard_Claim() {
	guard := exampleGuard(idem.Policy{Operation: "files:import:run", Preset: idem.API})
	defer guard.Close(context.Background())
	ctx := context.Background()

	claim, err := guard.Claim(ctx, idem.Intent{Operation: "files:import:run", Scope: "tenant-1", Key: "batch 1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer claim.End(ctx) // nothing is left open, whatever happens below
	if !claim.Won() {
		fmt.Println(claim.Refused())
		return
	}
	_ = claim.Complete(ctx, idem.Payload{Bytes: []byte("12 rows")})
	fmt.Println(claim.Verdict())
	// Output: executed
}

// The point of no return is marked before the effect. What comes after it is
// never run again by itself.
func ExampleMarkEffects() {
	guard := exampleGuard(idem.Policy{Operation: "shop:order:pay", Preset: idem.API})
	defer guard.Close(context.Background())

	pay := func() {
		_, verdict, err := idem.Do(context.Background(), guard,
			idem.Intent{Operation: "shop:order:pay", Scope: "alice", Key: "cart 42"},
			idem.JSON[string](), func(ctx context.Context) (string, error) {
				if err := idem.MarkEffects(ctx, "charge for cart 42"); err != nil {
					return "", err
				}
				return "", errors.New("the provider did not answer")
			})
		fmt.Println(verdict, errors.Is(err, idem.ErrUncertain))
	}
	pay()
	pay()
	// Output:
	// uncertain false
	// uncertain true
}

// A message brings many orders. Whatever the messages overlap in is done once.
func ExampleDoBatch() {
	guard := exampleGuard(idem.Policy{Operation: "shop:order:import", Preset: idem.API})
	defer guard.Close(context.Background())

	deliver := func(ids ...string) {
		intents := make([]idem.Intent, len(ids))
		for i, id := range ids {
			intents[i] = idem.Intent{Operation: "shop:order:import", Scope: "tenant-1", Key: id}
		}
		answers, _ := idem.DoBatch(context.Background(), guard, intents, idem.JSON[string](),
			func(_ context.Context, won []idem.Item) []idem.Answer[string] {
				list := make([]idem.Answer[string], len(won))
				for i, at := range won {
					list[i].Value = "ordered " + ids[at.Index]
				}
				return list
			})
		for _, a := range answers {
			fmt.Println(a.Verdict, a.Value)
		}
	}
	deliver("a", "b")
	deliver("b", "c")
	// Output:
	// executed ordered a
	// executed ordered b
	// replayed ordered b
	// executed ordered c
}

// All or nothing: b is done already, so a is not begun, and may be sent again.
func ExampleAtomic() {
	guard := exampleGuard(idem.Policy{Operation: "bank:transfer:book", Preset: idem.API})
	defer guard.Close(context.Background())
	ctx := context.Background()

	intent := func(key string) idem.Intent {
		return idem.Intent{Operation: "bank:transfer:book", Scope: "alice", Key: key}
	}
	done, _ := guard.Claim(ctx, intent("b"))
	_ = done.Complete(ctx, idem.Payload{})

	claims, _ := guard.ClaimBatch(ctx, []idem.Intent{intent("a"), intent("b")}, idem.Atomic())
	for _, c := range claims {
		fmt.Println(c.Won(), c.Verdict())
	}
	// Output:
	// false released
	// false replayed
}

// Claims by hand, ended together.
func ExampleGuard_SettleBatch() {
	guard := exampleGuard(idem.Policy{Operation: "files:import:run", Preset: idem.API})
	defer guard.Close(context.Background())
	ctx := context.Background()

	claims, _ := guard.ClaimBatch(ctx, []idem.Intent{
		{Operation: "files:import:run", Scope: "tenant-1", Key: "row 1"},
		{Operation: "files:import:run", Scope: "tenant-1", Key: "row 2"},
	})
	_ = guard.MarkBatch(ctx, claims, "import 12")
	guard.SettleBatch(ctx, []idem.Settlement{
		{Claim: claims[0], Outcome: idem.Completes, Payload: idem.Payload{Bytes: []byte("imported")}},
		{Claim: claims[1], Outcome: idem.Doubts},
	})
	fmt.Println(claims[0].Verdict(), claims[1].Verdict())
	// Output: executed uncertain
}
