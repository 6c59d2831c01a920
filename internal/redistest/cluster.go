package redistest

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// slots is how many a Redis Cluster has.
const slots = 16384

// Cluster is a running Redis Cluster of real servers.
type Cluster struct {
	// Masters and Replicas are addresses; Replicas[i] follows Masters[i], as long as
	// nothing fails over.
	Masters, Replicas []string

	stops map[string]func()
}

// sharedCluster is the cluster that all tests of this program use together.
var sharedCluster struct {
	mu    sync.Mutex
	users int
	c     *Cluster
}

// TheCluster returns a cluster of three masters with a replica each, which this
// test program shares. It is emptied for each caller, so its users do not run at
// once; who moves slots moves them back. It ends when its last user does: [Keep]
// is one.
func TheCluster(t testing.TB) *Cluster {
	t.Helper()
	sharedCluster.mu.Lock()
	defer sharedCluster.mu.Unlock()
	if sharedCluster.c == nil {
		c, err := startCluster(find(t, "redis-server"), 3, "--cluster-node-timeout", "15000")
		if err != nil {
			t.Fatal(err)
		}
		sharedCluster.c = c
	}
	sharedCluster.users++
	t.Cleanup(releaseCluster)
	for _, addr := range sharedCluster.c.Masters {
		Flush(t, addr)
	}
	return sharedCluster.c
}

func releaseCluster() {
	sharedCluster.mu.Lock()
	defer sharedCluster.mu.Unlock()
	if sharedCluster.users--; sharedCluster.users == 0 && sharedCluster.c != nil {
		sharedCluster.c.stop()
		sharedCluster.c = nil
	}
}

// Keep has the shared cluster, once it was asked for, outlive the tests that use
// it, until release is called: for a TestMain, because to start one takes seconds.
func Keep() (release func()) {
	sharedCluster.mu.Lock()
	defer sharedCluster.mu.Unlock()
	sharedCluster.users++
	return releaseCluster
}

// StartCluster starts a cluster for this test alone: so many masters with a
// replica each. args go to every server.
func StartCluster(t testing.TB, masters int, args ...string) *Cluster {
	t.Helper()
	c, err := startCluster(find(t, "redis-server"), masters, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	return c
}

// Kill ends the server at addr as a power cut does.
func (c *Cluster) Kill(addr string) { c.stops[addr]() }

func (c *Cluster) stop() {
	for _, stop := range c.stops {
		stop()
	}
}

func startCluster(path string, masters int, args ...string) (*Cluster, error) {
	c := &Cluster{stops: map[string]func(){}}
	var addrs []string
	for range 2 * masters {
		s, err := startNode(path, args)
		if err != nil {
			c.stop()
			return nil, err
		}
		c.stops[s.addr] = s.stop
		addrs = append(addrs, s.addr)
	}
	c.Masters, c.Replicas = slices.Clip(addrs[:masters]), addrs[masters:]
	if err := c.join(); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// startNode starts one server of a cluster. Its bus gets a free port of its own:
// the port 10,000 above the server's may be too high, or taken.
func startNode(path string, args []string) (s *server, err error) {
	for range 3 { // either port may be taken meanwhile
		var bus string
		if bus, err = freeAddr(); err != nil {
			return nil, err
		}
		_, port, _ := net.SplitHostPort(bus)
		if s, err = startOnce(path, append([]string{
			"--cluster-enabled", "yes", "--cluster-port", port, "--repl-diskless-sync-delay", "0",
		}, args...)); err == nil {
			return s, nil
		}
	}
	return nil, err
}

// join makes one cluster of servers that do not know of each other.
func (c *Cluster) join() error {
	say := func(addr string, words ...string) error {
		if reply, err := do(addr, append([]string{"CLUSTER"}, words...)...); err != nil || reply != "+OK" {
			return fmt.Errorf("redistest: CLUSTER %s at %s: %q, %v", strings.Join(words, " "), addr, reply, err)
		}
		return nil
	}
	n := len(c.Masters)
	for i, addr := range c.Masters {
		from, to := i*slots/n, (i+1)*slots/n-1
		if err := say(addr, "ADDSLOTSRANGE", strconv.Itoa(from), strconv.Itoa(to)); err != nil {
			return err
		}
		if err := say(addr, "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
			return err
		}
	}
	all := slices.Concat(c.Masters, c.Replicas)
	for _, addr := range all[1:] {
		host, port, _ := net.SplitHostPort(all[0])
		bus, err := do(all[0], "CONFIG", "GET", "cluster-port")
		if err != nil {
			return err
		}
		if err := say(addr, "MEET", host, port, bus[strings.LastIndexByte(bus, '\n')+1:]); err != nil {
			return err
		}
	}
	if err := c.await(func(info string) bool { return strings.Contains(info, fmt.Sprint("cluster_known_nodes:", 2*n)) }, all); err != nil {
		return err
	}
	for i, addr := range c.Replicas {
		id, err := do(c.Masters[i], "CLUSTER", "MYID")
		if err != nil {
			return err
		}
		if err := say(addr, "REPLICATE", id[strings.LastIndexByte(id, '\n')+1:]); err != nil {
			return err
		}
	}
	if err := c.await(func(info string) bool {
		return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprint("cluster_size:", n))
	}, all); err != nil {
		return err
	}
	return c.awaitReplicas()
}

// await waits until every node says of the cluster what it should.
func (c *Cluster) await(said func(info string) bool, addrs []string) error {
	deadline := time.Now().Add(startLimit)
	for _, addr := range addrs {
		for {
			info, err := do(addr, "CLUSTER", "INFO")
			if err == nil && said(info) {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("redistest: no cluster within %v: %s says %q, %v", startLimit, addr, info, err)
			}
			<-time.After(10 * time.Millisecond)
		}
	}
	return nil
}

// awaitReplicas waits until every replica has its master's data.
func (c *Cluster) awaitReplicas() error {
	deadline := time.Now().Add(startLimit)
	for _, addr := range c.Replicas {
		for {
			info, err := do(addr, "INFO", "replication")
			if err == nil && strings.Contains(info, "master_link_status:up") {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("redistest: %s has no link to its master within %v: %q, %v", addr, startLimit, info, err)
			}
			<-time.After(10 * time.Millisecond)
		}
	}
	return nil
}
