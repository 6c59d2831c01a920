package idem_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
)

// answers notes the end of each whole request.
type answers struct {
	mu   sync.Mutex
	list []string
}

func (a *answers) Chooses(kind idem.StepKind) bool { return kind == idem.StepAnswer }

func (a *answers) Start(ctx context.Context, s idem.Step) (context.Context, func(idem.StepResult)) {
	return ctx, func(r idem.StepResult) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.list = append(a.list, fmt.Sprint(s.Operation, " ", s.Source, " ", r.Verdict))
	}
}

// I6: every judged request ends with exactly one verdict, also where nobody speaks
// HTTP; one whose intent is wrong is not judged.
func TestI6_DoTellsOfOneVerdictARequest(t *testing.T) {
	seen := &answers{}
	g, err := idem.New(idem.Config{Store: memstore.New(memstore.Options{}), Observer: seen, Policies: []idem.Policy{{Operation: "shop:order:create", Preset: idem.API}}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close(context.Background())
	in := func(key string) idem.Intent {
		return idem.Intent{Operation: "shop:order:create", Scope: "alice", Key: key}
	}
	do := func(in idem.Intent, run func(context.Context) (int, error)) {
		defer func() { _ = recover() }()
		_, _, _ = idem.Do(context.Background(), g, in, idem.JSON[int](), run)
	}
	one := func(context.Context) (int, error) { return 1, nil }
	do(in("a"), one)
	do(in("a"), one)
	do(in("b"), func(context.Context) (int, error) { return 0, errors.New("no") })
	do(in("c"), func(context.Context) (int, error) { panic("no") })
	judged := in("d")
	judged.Judged = true // by who calls
	do(judged, one)
	named := in("e")
	named.Source = "header"
	do(named, one)
	do(idem.Intent{Operation: "shop:order:create", Key: "f"}, one) // without a scope
	_, err = idem.DoBatch(context.Background(), g, []idem.Intent{in("a"), in("g"), judged}, idem.JSON[int](), func(_ context.Context, won []idem.Item) []idem.Answer[int] {
		return make([]idem.Answer[int], len(won))
	})
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = idem.DoBatch(context.Background(), g, []idem.Intent{in("h")}, idem.JSON[int](), func(context.Context, []idem.Item) []idem.Answer[int] { panic("no") })
	}()
	want := []string{
		"shop:order:create func executed", "shop:order:create func replayed", "shop:order:create func released", "shop:order:create func released",
		"shop:order:create header executed", "shop:order:create func ",
		"shop:order:create func replayed", "shop:order:create func executed", "shop:order:create func released",
	}
	if !slices.Equal(seen.list, want) {
		t.Errorf("told\n%q, want\n%q", seen.list, want)
	}
}
