package audit_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-idem/idem/audit"
	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
)

// terse is a sink of one's own.
type terse struct{}

func (terse) Write(_ context.Context, events []audit.Event) error {
	for _, e := range events {
		fmt.Printf("%s: %s, %s to %s [%s]\n", e.Operation, e.Change, e.From, e.To, e.Verdict)
	}
	return nil
}

// A request and its repeat: what changed is told once.
func ExampleNew() {
	log, err := audit.New(audit.Options{Sink: terse{}})
	if err != nil {
		panic(err)
	}
	guard, err := idem.New(idem.Config{
		Store: memstore.New(memstore.Options{}), Auditor: log,
		Policies: []idem.Policy{{Operation: "shop:order:create", Preset: idem.API}},
	})
	if err != nil {
		panic(err)
	}
	in := idem.Intent{Operation: "shop:order:create", Scope: "alice", Key: "order-7"}
	for range 2 {
		_, _, _ = idem.Do(context.Background(), guard, in, idem.JSON[int](), func(context.Context) (int, error) { return 7, nil })
	}
	_ = guard.Close(context.Background())
	fmt.Println(log.Close(context.Background()), log.Drops())
	// Output:
	// shop:order:create: claim, absent to processing []
	// shop:order:create: complete, processing to succeeded [executed]
	// <nil> 0
}

// The program's own log as a sink; here without what differs from run to run.
func ExampleSlog() {
	plain := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case "msg", "change", "from", "to":
			return a
		}
		return slog.Attr{}
	}})
	log, err := audit.New(audit.Options{Sink: audit.Slog(slog.New(plain))})
	if err != nil {
		panic(err)
	}
	_ = log.Audit(context.Background(), idem.Transition{Change: idem.ChangeBury, To: idem.StateBuried})
	_ = log.Close(context.Background())
	// Output:
	// msg=audit change=bury from=absent to=buried
}
