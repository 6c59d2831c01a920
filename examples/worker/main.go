// Command worker consumes a queue that delivers messages more than once, as
// queues do, and sends one mail for each.
//
//	go run ./examples/worker
//
// The queue loses acknowledgements, delivers again what still runs, and hands
// out a second message under an id that was used. The mail server fails before it
// has taken a mail, and after. What becomes of each stands in the table that the
// program prints, and the mails that were really sent in its last column.
//
// The whole of the guard is in consume: an intent, idem.Do, and what to tell the
// queue. Everything else in this folder is the trouble.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

const operation = "mail:invoice:send"

// receipt is the result of the work: kept, and given to every repeat.
type receipt struct{ Mail int }

// consume is one delivery of a message. It returns what to tell the queue.
func consume(ctx context.Context, guard *idem.Guard, m message, work func(context.Context) (receipt, error)) decision {
	policy, _ := guard.Policy(operation)
	in := idem.Intent{
		Operation:   operation,
		Scope:       m.tenant,                            // two tenants may use one id
		Key:         m.id,                                // the queue's id, the same for every delivery
		Fingerprint: guard.FingerprintOf(policy, m.body), // one id with another body is a conflict
	}
	got, verdict, err := idem.Do(ctx, guard, in, idem.JSON[receipt](), work)
	var refused *idem.RefusedError
	switch {
	case err == nil: // it ran, now or before
		return decision{heard: fmt.Sprintf("%s (mail %d)", verdict, got.Mail), acknowledged: true}
	case errors.As(err, &refused) && verdict.MayResend(): // somebody runs it, or the store is away
		return decision{heard: verdict.String(), after: refused.RetryAfter}
	case errors.As(err, &refused): // nothing will change by itself: somebody has to look
		return decision{heard: verdict.String(), dead: true}
	case verdict == idem.Uncertain: // it may have been sent, and is held
		return decision{heard: verdict.String()}
	}
	return decision{heard: fmt.Sprintf("%s: %v", verdict, err)} // the work failed, without effect
}

// run plays every trouble and prints the table.
func run(ctx context.Context, out io.Writer) error {
	guard, err := idem.New(idem.Config{
		Store: memstore.New(memstore.Options{}),
		// API says in writing that an error means "undone"; what is done outside
		// of it, the mail, is marked, and then an error means "nobody knows".
		Policies: []idem.Policy{{Operation: operation, Preset: idem.API}},
	})
	if err != nil {
		return err
	}
	server := &mailServer{}
	q := newQueue(troubles(), func(ctx context.Context, d *delivery) decision {
		return consume(ctx, guard, d.message, func(ctx context.Context) (receipt, error) { return send(ctx, server, d) })
	})
	q.run(ctx)

	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "message\ttrouble\tdeliveries, and what each heard\tended\tmails")
	for _, t := range q.tracks {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\n", t.id, t.trouble, strings.Join(t.heard, " · "), t.ended, server.sent(t.tenant, t.id))
	}
	fmt.Fprintf(w, "\n%d deliveries, %d mails\n", q.deliveries(), server.all())
	if err := w.Flush(); err != nil {
		return err
	}
	closing, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return guard.Close(closing)
}
