package drill_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-idem/idem/internal/drill"
	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/internal/testserver"
)

// Given eight processes of three frameworks over one redis-server, replies of the
// store that get lost, and batches that overlap at random, half of them all or
// nothing, when each is sent until it has its outcome, then no item runs twice, an
// all-or-nothing batch runs whole or not at all, none waits for another to no end,
// and no claim is left behind. IDEM_DRILL=1 sends 10,000.
func TestDrill_BatchesOverlapOverProcesses(t *testing.T) {
	b, launch := batches(t), &testserver.Launcher{}
	if os.Getenv("IDEM_DRILL") == "1" {
		b.Count, b.Keys, b.Clients = 10_000, 10_000, 32
	}
	if err := overlap(t, launch, b).Judge(); err != nil {
		t.Error(err)
	}
}

// The control, which takes the time of a deadlock: batches that claim their items in
// the order in which they came are found out. Whether two meet is chance, so there
// are a few seeds; the first nearly always does.
func TestDrill_FindsOutBatchesThatWaitForEachOther(t *testing.T) {
	var err error
	for more := range uint64(4) {
		b := batches(t)
		b.Seed, b.Keys, b.Clients, b.Count, b.Delay = b.Seed+more, 400, 48, 500, 20*time.Millisecond // so that some meet
		err = overlap(t, &testserver.Launcher{Env: []string{"IDEM_BROKEN=S8-batch-unsorted"}}, b).Judge()
		if err != nil && strings.Contains(err.Error(), "a deadlock") {
			return
		}
	}
	t.Errorf("judged %v, want deadlocks", err)
}

func batches(t *testing.T) drill.Batches {
	return drill.Batches{
		Drill: drill.Drill{
			Redis: redistest.Server(t), Servers: []string{"stdhttp", "echo", "fiber", "stdhttp", "echo", "fiber", "stdhttp", "echo"},
			Keys: 150, Clients: 16, Loss: 0.02, Seed: 34, Lease: lease, Pipelines: 1, Patience: time.Minute,
		},
		Count: 150, Most: 8, Delay: 2 * time.Millisecond, Wait: 10 * time.Second, Dir: t.TempDir(),
	}
}

func overlap(t *testing.T, launch *testserver.Launcher, b drill.Batches) *drill.BatchReport {
	t.Helper()
	t.Cleanup(launch.Close)
	r, err := b.Run(launch)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + r.String())
	return r
}
