package proof_test

import (
	"os"
	"testing"
	"time"

	"github.com/go-idem/idem/internal/proof"
	"github.com/go-idem/idem/internal/redistest"
)

// Given a process of each framework that is killed in each place of the crash
// table, under hold and under retake, when the key is sent to a process of another
// framework, then it ends as the
// table says: none is stuck, none runs more often than it may, and each run that
// follows another has a higher fence.
//
// Faults: 13, 14.
func TestCrash_EveryKeyEndsAsTheTableSays(t *testing.T) {
	c := proof.Crash{Redis: redistest.Server(t), Dir: t.TempDir(), Times: 1, Lease: 6 * time.Second}
	if os.Getenv("IDEM_DRILL") == "1" {
		c.Times = 100
	}
	launch := &proof.Launcher{}
	t.Cleanup(launch.Close)
	table, err := c.Run(launch)
	t.Log("\n" + table)
	if err != nil {
		t.Error(err)
	}
}
