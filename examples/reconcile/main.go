// Command reconcile shows what becomes of payments whose process died.
//
// It starts a payment provider on the loopback, and a second process that claims
// four orders, calls the provider for them and dies before it hears what came of
// it. Nobody can tell then from the records alone whether they were paid: every
// repeat is `uncertain`. A reconciler asks the provider, by the key that the run
// had called it with, and settles each record by what it says. From then on a
// repeat gets its answer.
//
//	go run ./examples/reconcile
package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alicebob/miniredis/v2"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/reconcile"
)

func main() {
	if at := os.Getenv(crashEnv); at != "" {
		log.Fatal(payAndDie(at)) // this is the process that dies
	}
	if err := show(os.Stdout, shortLease); err != nil {
		log.Fatal(err)
	}
}

// crashEnv tells a process that it is the one to die, and where everything is.
const crashEnv = "IDEM_EXAMPLE_CRASH"

// show plays the whole of it, with leases of so long.
func show(out io.Writer, lease time.Duration) error {
	ctx := context.Background()
	redis := miniredis.NewMiniRedis()
	redis.ClockTTL(true)
	if err := redis.Start(); err != nil {
		return err
	}
	defer redis.Close()
	bank, err := newProvider()
	if err != nil {
		return err
	}
	defer bank.Close()
	nameKey := idem.GenerateKey()

	fmt.Fprintln(out, "A process claims four orders, calls the provider, and dies before it hears.")
	self, err := os.Executable()
	if err != nil {
		return err
	}
	victim := exec.CommandContext(ctx, self)
	victim.Env = append(os.Environ(), crashEnv+"="+strings.Join([]string{redis.Addr(), bank.URL, hex.EncodeToString(nameKey), lease.String()}, " "))
	if text, err := victim.CombinedOutput(); victim.ProcessState == nil || victim.ProcessState.ExitCode() != diedAsPlanned {
		return fmt.Errorf("the process did not die as planned: %w: %s", err, text)
	}

	shop, err := open(ctx, redis.Addr(), bank.URL, nameKey, lease)
	if err != nil {
		return err
	}
	defer shop.Close()
	fmt.Fprintf(out, "Its leases of %v run out. A reconciler leaves it alone for as long again.\n\n", lease)
	before, err := shop.held(ctx)
	if err != nil {
		return err
	}
	reconciler, err := reconcile.New(reconcile.Config{Guard: shop.guard, BackOff: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	for resolved := 0; resolved < len(orders); { // a service says: go reconciler.Run(ctx)
		sum, err := reconciler.Once(ctx)
		if err != nil {
			return err
		}
		resolved += sum.Resolved()
		time.Sleep(50 * time.Millisecond)
	}
	return shop.table(ctx, out, bank, before)
}

// held repeats every order until it is told to be uncertain, and returns what
// the last repeat of each was told.
func (s *shop) held(ctx context.Context) (map[string]string, error) {
	told := map[string]string{}
	for _, order := range orders {
		for told[order] != idem.Uncertain.String() {
			_, verdict, err := s.pay(ctx, order)
			if verdict != idem.InFlight && verdict != idem.Uncertain && verdict != idem.Unavailable {
				return nil, fmt.Errorf("%s was told %s before it was reconciled: %w", order, verdict, err)
			}
			told[order] = verdict.String()
			time.Sleep(20 * time.Millisecond)
		}
	}
	return told, nil
}

// table repeats every order once more and prints what became of each.
func (s *shop) table(ctx context.Context, out io.Writer, bank *provider, before map[string]string) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "order\tthe provider said\trepeat before\treconciled as\tattempts\trepeat after")
	for _, order := range orders {
		said, state := bank.said(order), s.state(ctx, order)
		got, verdict, err := s.pay(ctx, order)
		if err != nil {
			return fmt.Errorf("%s: %w", order, err)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%v\t%d\t%s: %s\n", order, strings.Join(said, ", "), before[order], state, len(said), verdict, got)
	}
	fmt.Fprintf(w, "\ncharges for four orders: %d\n", bank.charges())
	return w.Flush()
}
