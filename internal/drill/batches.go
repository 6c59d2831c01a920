package drill

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-idem/idem/internal/testserver"
)

// Batches is a drill of many items in one request: batches that overlap at random,
// sent to processes that share a redis-server. Half of them are all or nothing.
type Batches struct {
	Drill     // Keys are those of each kind, Sends is not used
	Count int // how many batches
	Most  int // items of one
	// Delay is how long each item runs; longer, more batches wait for each other.
	Delay time.Duration
	// Wait is the policy's: how long a batch waits for another. It is longer than
	// anything but a deadlock lasts.
	Wait time.Duration
	// Dir is where the servers' policies are written to.
	Dir string
}

// The two kinds of batch. Their records never meet: an operation has its own.
const (
	each     = "/batch/drill"
	allBatch = "/allbatch/drill"
)

// BatchReport is what became of the batches.
type BatchReport struct {
	Batches Batches
	Counts  *Report // what ran and what was lost, by the servers' own counts

	Took, Longest time.Duration // all, and the longest single request
	Whole, None   int           // all-or-nothing batches that ran, and that were refused
	Again         int           // requests that were repeated: in-flight, unavailable, uncertain
	WaitedOut     int           // of them, all-or-nothing ones that waited to no end: a deadlock
	Left          map[string]int
	mu            sync.Mutex
}

// Run starts the servers, sends every batch until it has its outcome, and looks at
// what is left in the store.
func (b Batches) Run(launch *testserver.Launcher) (r *BatchReport, err error) {
	r = &BatchReport{Batches: b, Left: map[string]int{}}
	r.Counts = &Report{Drill: b.Drill, Verdicts: map[string]int{}, Injected: map[string]int{}, RunsOfKey: map[string]int64{}}
	policies, err := b.policies()
	if err != nil {
		return r, err
	}
	prefix := fmt.Sprintf("idem:batches%d-%d:", b.Seed, time.Now().UnixNano())
	var servers []*testserver.Process
	defer func() {
		for _, s := range servers {
			err = errors.Join(err, s.Stop())
		}
	}()
	if servers, err = b.start(launch, prefix, "-policy", policies); err != nil {
		return r, err
	}
	begin := time.Now()
	b.sendAll(servers, r)
	r.Took = time.Since(begin)
	if err := r.Counts.count(servers); err != nil {
		return r, err
	}
	r.Left, err = leftIn(b.Redis, prefix, b.Lease+2*janitorPeriod)
	return r, err
}

// policies writes the policies of both kinds, with a Wait that the servers' own have
// not.
func (b Batches) policies() (file string, err error) {
	text := fmt.Sprintf(`[{"operation":"test:batch:run","preset":"api","onDuplicate":"wait","wait":%[1]q,"lease":%[2]q},
{"operation":"test:allbatch:run","preset":"api","onDuplicate":"wait","wait":%[1]q,"lease":%[2]q,"atomic":true}]`, b.Wait, b.Lease)
	file = filepath.Join(b.Dir, "policies.json")
	return file, os.WriteFile(file, []byte(text), 0o600)
}

// batch is one request.
type batch struct {
	number int
	path   string
	keys   []string
}

func (b Batches) sendAll(servers []*testserver.Process, r *BatchReport) {
	batches := make(chan batch)
	go func() {
		defer close(batches)
		dice := rand.New(rand.NewPCG(b.Seed, 34))
		const near = 12 // items are chosen from so many neighbours, so that batches meet
		for n := range b.Count {
			one := batch{number: n, path: each}
			if dice.IntN(2) == 0 {
				one.path = allBatch
			}
			from := n * max(1, b.Keys-near) / b.Count // batches sent at one time are about the same items
			for _, i := range dice.Perm(near)[:1+dice.IntN(b.Most)] {
				one.keys = append(one.keys, fmt.Sprint("item-", from+i))
			}
			batches <- one
		}
	}()
	client := &http.Client{Timeout: 3 * b.Wait, Transport: &http.Transport{MaxIdleConnsPerHost: b.Clients}}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	for range b.Clients {
		all.Go(func() {
			for one := range batches {
				b.sendOne(client, servers, one, r)
			}
		})
	}
	all.Wait()
}

// sendOne sends one batch until it has its outcome, each time to the next server.
func (b Batches) sendOne(client *http.Client, servers []*testserver.Process, one batch, r *BatchReport) {
	deadline := time.Now().Add(b.Patience)
	for try := 0; ; try++ {
		began := time.Now()
		verdicts, err := one.send(client, servers[(one.number+try)%len(servers)], b.Delay)
		took := time.Since(began)
		if r.judged(one, verdicts, err, took) {
			return
		}
		if time.Now().After(deadline) {
			r.Counts.wrong("batch %d had no outcome after %v, but %q", one.number, b.Patience, verdicts)
			return
		}
		time.Sleep(again)
	}
}

// send sends it once and returns the verdict of each item; of an all-or-nothing
// batch that was refused, the one verdict that stood in the way.
func (one batch) send(client *http.Client, server *testserver.Process, delay time.Duration) ([]string, error) {
	var body bytes.Buffer
	for i, key := range one.keys {
		fmt.Fprintf(&body, `%s{"key":%q,"delay":%q}`, []string{`{"items":[`, ","}[min(i, 1)], key, delay)
	}
	body.WriteString("]}")
	resp, err := client.Post(server.URL()+one.path, "application/json", &body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var told struct {
		Verdict string
		Items   []struct{ Verdict string }
	}
	if err := json.Unmarshal(text, &told); err != nil {
		return nil, fmt.Errorf("answered %d %q: %w", resp.StatusCode, text, err)
	}
	if told.Verdict != "" {
		return []string{told.Verdict}, nil
	}
	verdicts := make([]string, len(told.Items))
	for i, item := range told.Items {
		verdicts[i] = item.Verdict
	}
	return verdicts, nil
}

// judged takes note of an answer and tells whether it is the outcome.
func (r *BatchReport) judged(one batch, verdicts []string, err error, took time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Longest = max(r.Longest, took)
	if err != nil {
		r.Counts.wrong("batch %d: %v", one.number, err)
		return true
	}
	counts := map[string]int{}
	for _, v := range verdicts {
		counts[v]++
		r.Counts.answered(v)
	}
	if open := counts["in-flight"] + counts["unavailable"] + counts["uncertain"]; open > 0 {
		r.Again++
		if one.path == allBatch && counts["in-flight"] > 0 && took >= r.Batches.Wait {
			r.WaitedOut++
		}
		return false
	}
	whole := len(verdicts) == len(one.keys)
	switch {
	case one.path == each && whole && counts["executed"]+counts["replayed"] == len(one.keys):
	case one.path == allBatch && whole && counts["executed"] == len(one.keys):
		r.Whole++
	case one.path == allBatch && whole && counts["replayed"] == len(one.keys): // it was done before
	case one.path == allBatch && counts["replayed"] == 1: // one of its items was done before, so none runs
		r.None++
	default:
		r.Counts.wrong("batch %d of %d items at %s was answered %q", one.number, len(one.keys), one.path, verdicts)
	}
	return true
}
