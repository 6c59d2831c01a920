package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-idem/idem/internal/leaktest"
)

func TestMain(m *testing.M) {
	if at := os.Getenv(crashEnv); at != "" { // this program, as the process that dies
		fmt.Fprintln(os.Stderr, payAndDie(at))
		os.Exit(1)
	}
	leaktest.Main(m)
}

func TestEveryPaymentIsSettledByWhatTheProviderSays(t *testing.T) {
	var out strings.Builder
	if err := show(&out, 5*time.Second); err != nil { // which a busy machine keeps
		t.Fatal(err)
	}
	for _, row := range [][]string{
		{"book", "paid", "uncertain", "succeeded", "1", "replayed: charge ch-book"},
		{"lamp", "refused", "uncertain", "failed", "1", "replayed: card refused"},
		{"pen", "nothing", "uncertain", "released", "1", "executed: charge ch-pen"},
		{"vase", "wait, paid", "uncertain", "succeeded", "2", "replayed: charge ch-vase"},
		{"charges for four orders: 3"},
	} {
		if !strings.Contains(squeezed(out.String()), strings.Join(row, " ")) {
			t.Errorf("no row %q in\n%s", row, out.String())
		}
	}
}

// squeezed has one space where there are several.
func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }
