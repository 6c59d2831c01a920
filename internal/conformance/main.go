// Command conformance turns the results of the HTTP statements into the page
// docs/reference/conformance.md.
//
//	IDEM_CONFORMANCE=$PWD/results.jsonl go test ./adapters/... -run TestStatements
//	go run ./internal/conformance results.jsonl > docs/reference/conformance.md
//
// (make conformance does both.) A statement that failed, or was not played on
// every adapter and store, is an error: the page holds only what was seen.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-idem/idem/adapters/adaptertest"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: conformance RESULTS.jsonl > docs/reference/conformance.md")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func run(file string, to io.Writer) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	var results []adaptertest.Result
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r adaptertest.Result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		results = append(results, r)
	}
	page, err := pageOf(adaptertest.Statements(), results)
	return errors.Join(err, lines.Err(), write(to, page))
}

func write(to io.Writer, page string) error {
	_, err := io.WriteString(to, page)
	return err
}
