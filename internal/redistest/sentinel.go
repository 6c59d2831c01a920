package redistest

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// Group is a running master with one replica, watched by one sentinel.
type Group struct {
	// Name is the master's name at the sentinel.
	Name string
	// Sentinel, Master and Replica are addresses, as they were at the start.
	Sentinel, Master, Replica string

	stopMaster func()
}

// StartSentinel starts a master with a replica, and a sentinel that promotes the
// replica when the master has been silent for a moment. It ends with the test.
func StartSentinel(t testing.TB) *Group {
	t.Helper()
	path := find(t, "redis-server")
	master, stop := Start(t)
	host, port, _ := net.SplitHostPort(master)
	replica, _ := Start(t, "--replicaof", host+" "+port, "--repl-diskless-sync-delay", "0")
	g := &Group{Name: "idem", Master: master, Replica: replica, stopMaster: stop}
	for what, ready := range map[string]func() bool{
		"a replica in step": func() bool {
			info, err := do(replica, "INFO", "replication")
			return err == nil && strings.Contains(info, "master_link_status:up")
		},
	} {
		soon(t, what, ready)
	}
	s, err := launch(path, func(own, dir string) ([]string, error) {
		conf := dir + "/sentinel.conf"
		text := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nsentinel monitor %s %s %s 1\n"+
			"sentinel down-after-milliseconds %[3]s 500\nsentinel failover-timeout %[3]s 3000\n", own, dir, g.Name, host, port)
		return []string{conf, "--sentinel"}, os.WriteFile(conf, []byte(text), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	g.Sentinel = s.addr
	soon(t, "a sentinel that knows the replica", func() bool {
		said, err := do(g.Sentinel, "SENTINEL", "MASTER", g.Name)
		return err == nil && strings.Contains(said, "num-slaves\r\n$1\r\n1")
	})
	return g
}

// KillMaster ends the master as a power cut does.
func (g *Group) KillMaster() { g.stopMaster() }

// soon waits for something that has to come about.
func soon(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(startLimit); !done(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("redistest: %s did not come about within %v", what, startLimit)
		}
	}
}
