package proof_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-idem/idem/internal/broken"
	"github.com/go-idem/idem/internal/leaktest"
	"github.com/go-idem/idem/internal/proof"
	"github.com/go-idem/idem/internal/redistest"
)

func TestMain(m *testing.M) {
	if rule := os.Getenv("IDEM_BROKEN"); !broken.Set(rule) {
		fmt.Fprintf(os.Stderr, "there is no rule %q to break\n", rule)
		os.Exit(2)
	}
	leaktest.Main(m)
}

// Given three processes over one redis-server, every twentieth reply of the
// store lost, processes killed and stopped while they run, when clients repeat
// themselves until they have their outcome, then some order of events explains
// every answer. The same clients and the same judge find out a store that claims
// by SET NX without a nonce.
func TestProof_EveryHistoryIsLegal(t *testing.T) {
	load := proof.Load{
		Servers: 3, Clients: 24, Sends: 4, Kills: 22, Pauses: 4, Lease: 800 * time.Millisecond, Seed: 1,
	}
	if os.Getenv("IDEM_DRILL") == "1" {
		load.Kills, load.Pauses = 400, 40
	}
	launch := &proof.Launcher{}
	t.Cleanup(launch.Close)

	guarded := play(t, launch, load)
	if err := guarded.measure.Enough(); err != nil {
		t.Errorf("too little happened to prove anything: %v", err)
	}
	for _, err := range guarded.record.Judge() {
		t.Error(err)
	}

	load.Naive, load.Kills, load.Pauses = true, 6, 1
	naive := play(t, launch, load)
	wrong := naive.record.Judge()
	t.Logf("the control: SET NX without a nonce: %d of %d keys have no legal order", len(wrong), naive.measure.Keys)
	if len(wrong) == 0 {
		t.Error("the judge finds nothing wrong with SET NX without a nonce: it is blind")
	} else {
		t.Logf("for example %v", wrong[0])
	}
}

type played struct {
	record  *proof.Record
	measure proof.Measure
}

func play(t *testing.T, launch *proof.Launcher, load proof.Load) played {
	t.Helper()
	addr, _ := redistest.Start(t)
	proxy := redistest.NewProxy(t, addr)
	proxy.LoseSome(0.05, "SET", "EVAL", "EVALSHA", "GET", "DEL")
	load.Redis, load.Dir = proxy.Addr(), t.TempDir()
	begin := time.Now()
	r, err := load.Run(launch)
	if err != nil {
		t.Fatal(err)
	}
	m := r.Measured(load.Kills, proxy.Count("SET", "EVAL", "EVALSHA", "GET", "DEL"), proxy.Lost())
	t.Logf("%v, naive %v\n%v", time.Since(begin).Round(time.Millisecond), load.Naive, m)
	return played{r, m}
}
