// Command testserver is a test server in a process of its own: see
// internal/testserver. Its environment's IDEM_BROKEN names a rule to break.
package main

import (
	"fmt"
	"os"

	"github.com/go-idem/idem/internal/broken"
	"github.com/go-idem/idem/internal/testserver"
)

func main() {
	if rule := os.Getenv("IDEM_BROKEN"); !broken.Set(rule) {
		fmt.Fprintf(os.Stderr, "testserver: there is no rule %q to break\n", rule)
		os.Exit(2)
	}
	os.Exit(testserver.Main(os.Args[1:]))
}
