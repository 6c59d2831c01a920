package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
)

// selfcheck plays every trouble against the running shop, all at the same time
// as on a busy day, and prints one table. It returns false if a row is off. Runs
// are counted in the shop's own order table, verdicts as a browser sees them.
func selfcheck(ctx context.Context, s *shop, out io.Writer) bool {
	guard := "guarded"
	if !s.guarded {
		guard = "WITHOUT the guard"
	}
	fmt.Fprintf(out, "Every trouble once: %s, records in %s, %s.\n\n", s.adapter, s.store, guard)
	ctx, cancel := context.WithTimeout(ctx, playLimit)
	defer cancel()
	results := make([]*played, len(troubles))
	var all sync.WaitGroup
	for i, t := range troubles {
		all.Go(func() { results[i] = s.player.play(ctx, t) })
	}
	all.Wait()

	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SCENARIO\tREQUESTS\tRUNS\tVERDICTS\tEXPECTED\tOK")
	right := 0
	for _, r := range results {
		mark := "OFF"
		if r.OK {
			mark = "ok"
			right++
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\t%s\n", r.Trouble.Title, r.Requests, r.Runs, r.Came(), r.Trouble.ExpectedRuns(), mark)
	}
	_ = table.Flush()
	fmt.Fprintf(out, "\nRuns are the rows each scenario left in the shop's own order table; lost means that no answer came back.\n")
	for _, r := range results {
		if r.Err != nil {
			fmt.Fprintf(out, "%s could not be played to its end: %v\n", r.Trouble.Title, r.Err)
		}
	}
	fmt.Fprintf(out, "%d of %d rows are as expected.\n", right, len(troubles))
	return right == len(troubles)
}
