package drill_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-idem/idem/internal/broken"
	"github.com/go-idem/idem/internal/drill"
	"github.com/go-idem/idem/internal/leaktest"
	"github.com/go-idem/idem/internal/redistest"
	"github.com/go-idem/idem/internal/testserver"
)

func TestMain(m *testing.M) {
	if rule := os.Getenv("IDEM_BROKEN"); !broken.Set(rule) {
		fmt.Fprintf(os.Stderr, "there is no rule %q to break\n", rule)
		os.Exit(2)
	}
	leaktest.Main(m)
}

// Given three servers of three frameworks over one redis-server, calls of a server
// that leave together (group commit), and every twentieth reply of the store lost,
// when every key is sent five times by clients that repeat themselves, then every
// key runs exactly once and none is locked for longer than a lease.
func TestDrill_EveryKeyRunsOnceWhileRepliesAreLost(t *testing.T) {
	r := run(t, &testserver.Launcher{})
	if err := r.Judge(); err != nil {
		t.Error(err)
	}
}

// The control: the same drill over stores that look first and write then, as
// plain GET and SET do, has to be found out.
func TestDrill_FindsOutAStoreThatLooksFirst(t *testing.T) {
	r := run(t, &testserver.Launcher{Env: []string{"IDEM_BROKEN=S9-store-looks-first"}})
	if err := r.Judge(); err == nil || !strings.Contains(err.Error(), "ran 2 times") {
		t.Errorf("judged %v, want keys that ran twice", err)
	}
}

// lease is that of the drills. No claim outlives it, and no machine is so busy that
// an owner does not renew it.
const lease = 10 * time.Second

func run(t *testing.T, launch *testserver.Launcher) *drill.Report {
	t.Helper()
	proxy := redistest.NewProxy(t, redistest.Server(t))
	d := drill.Drill{
		Redis: proxy.Addr(), Pipelines: 1,
		Wire:    func() (int, int) { return proxy.Count() - proxy.Count("PTTL"), proxy.RoundTrips() }, // a look is GET and PTTL
		Servers: []string{"stdhttp", "echo", "fiber"},
		Keys:    300, Sends: 5, Clients: 32, Loss: 0.05, Seed: 1, Lease: lease, Patience: time.Minute,
	}
	if os.Getenv("IDEM_DRILL") == "1" {
		d.Keys, d.Clients = 10_000, 64
	}
	t.Cleanup(launch.Close)
	r, err := d.Run(launch)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + r.String())
	return r
}
