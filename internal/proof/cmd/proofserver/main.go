// Command proofserver is a server of internal/proof in a process of its own. Its
// environment's IDEM_BROKEN names a rule to break.
package main

import (
	"fmt"
	"os"

	"github.com/go-idem/idem/internal/broken"
	"github.com/go-idem/idem/internal/proof"
)

func main() {
	if rule := os.Getenv("IDEM_BROKEN"); !broken.Set(rule) {
		fmt.Fprintf(os.Stderr, "proofserver: there is no rule %q to break\n", rule)
		os.Exit(2)
	}
	os.Exit(proof.Main(os.Args[1:]))
}
