// Command write makes anew the pages that are made from the tests:
//
//	go run ./internal/docs/write
//
// Run it at the root of the repository. It fails where a test names a fault that
// nobody has described, or an invariant has no test.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-idem/idem/internal/docs"
)

func main() {
	for _, page := range docs.Made {
		text, err := page.Make(".")
		if err == nil {
			err = os.WriteFile(filepath.FromSlash(page.Path), []byte(text), 0o644)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", page.Path, err)
			os.Exit(1)
		}
	}
}
