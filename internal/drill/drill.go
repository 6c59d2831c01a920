package drill

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-idem/idem/adapters/adaptertest"
	"github.com/go-idem/idem/internal/testserver"
)

// Drill is the work to be done.
type Drill struct {
	Redis   string   // address of a redis-server
	Servers []string // adapters, one server process each
	Keys    int
	Sends   int     // how often each key is sent
	Clients int     // that send at the same time
	Loss    float64 // the chance with which the reply of a store call is lost
	Seed    uint64
	Lease   time.Duration // of the operation, as the servers have it
	// Pipelines is how many pipelines a server may have under way: with one, calls
	// that meet leave together (group commit).
	Pipelines int
	// Wire tells how many calls of the store came through so far, and in how many
	// writes; nil where nobody counts.
	Wire func() (calls, writes int)
	// Patience bounds each send with all its repetitions.
	Patience time.Duration
}

// janitorPeriod is how long a claim of unknown outcome may wait for its janitor
// beyond its lease (PROTOCOL section 8, defaults).
const janitorPeriod = time.Second

// Run starts the servers, sends every key, and stops them. The error is for
// what kept the drill from being done; what it found out is in the report.
func (d Drill) Run(launch *testserver.Launcher) (r *Report, err error) {
	r = &Report{Drill: d, Verdicts: map[string]int{}, Injected: map[string]int{}, RunsOfKey: map[string]int64{}}
	prefix := fmt.Sprintf("idem:drill%d-%d:", d.Seed, time.Now().UnixNano())
	var servers []*testserver.Process
	defer func() {
		for _, s := range servers {
			err = errors.Join(err, s.Stop())
		}
	}()
	if servers, err = d.start(launch, prefix); err != nil {
		return r, err
	}
	if d.Wire != nil {
		r.Sent, r.Writes = d.Wire()
	}
	begin := time.Now()
	d.send(servers, r)
	r.Took = time.Since(begin)
	if d.Wire != nil {
		calls, writes := d.Wire()
		r.Sent, r.Writes = calls-r.Sent, writes-r.Writes
	}
	return r, r.count(servers)
}

// start starts the servers; with an error those that were started are returned,
// too.
func (d Drill) start(launch *testserver.Launcher, prefix string, flags ...string) (servers []*testserver.Process, err error) {
	for i, adapter := range d.Servers {
		s, err := launch.Start(append([]string{
			"-tied", "-suite", "-control", "-adapter", adapter, "-store", "redis", "-redis", "redis://" + d.Redis, "-prefix", prefix, "-call", "50ms",
			"-lose", fmt.Sprint(d.Loss), "-seed", fmt.Sprint(d.Seed + uint64(i)), "-pipelines", fmt.Sprint(d.Pipelines),
		}, flags...)...)
		if err != nil {
			return servers, err
		}
		servers = append(servers, s)
	}
	return servers, nil
}

// send sends every key so often, the sends of one key close together and over
// all servers.
func (d Drill) send(servers []*testserver.Process, r *Report) {
	type job struct{ key, send int }
	jobs := make(chan job)
	go func() {
		defer close(jobs)
		dice := rand.New(rand.NewPCG(d.Seed, 1))
		const window = 40 // keys under way together
		for from := 0; from < d.Keys; from += window {
			var batch []job
			for key := from; key < min(from+window, d.Keys); key++ {
				for send := range d.Sends {
					batch = append(batch, job{key, send})
				}
			}
			dice.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
			for _, j := range batch {
				jobs <- j
			}
		}
	}()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: d.Clients}}
	defer client.CloseIdleConnections()
	waits := newWaits()
	var all sync.WaitGroup
	for range d.Clients {
		all.Go(func() {
			for j := range jobs {
				s := sender{client: client, servers: servers, key: fmt.Sprintf("key-%d", j.key), first: j.key + j.send, waits: waits, report: r}
				s.send(d.Patience)
			}
		})
	}
	all.Wait()
	r.LongestLock, r.LongestUnknown = waits.longest()
}

// count asks the servers what ran and what was lost.
func (r *Report) count(servers []*testserver.Process) error {
	for _, s := range servers {
		var tally adaptertest.Tally
		if err := ask(http.MethodGet, s.URL()+"/runs", &tally); err != nil {
			return err
		}
		r.Runs += tally.Total
		for key, n := range tally.ByKey {
			r.RunsOfKey[key] += n
		}
		seen, err := settled(s)
		if err != nil {
			return err
		}
		for step, n := range seen.Injected {
			r.Injected[step] += n
			r.Lost += n
		}
		for _, n := range seen.Calls {
			r.Calls += n
		}
		r.Unknown += seen.Stats.Unknown
		r.Mended += seen.Stats.Mended
		r.Pending += seen.Stats.Pending
		r.Stale += seen.Stats.Stale
		r.Recreated += seen.Stats.Recreated
	}
	return nil
}

// settled waits until a server has dealt with every claim of unknown outcome and
// every settle it keeps up, or has had time enough to.
func settled(s *testserver.Process) (seen adaptertest.Seen, err error) {
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if err := ask(http.MethodPost, s.URL()+"/control/seen", &seen); err != nil {
			return seen, err
		}
		if seen.Stats.Pending == 0 && seen.Stats.Unknown == seen.Stats.Mended || time.Now().After(deadline) {
			return seen, nil
		}
	}
}

// ask reads the JSON of a control endpoint.
func ask(method, url string, into any) error {
	req, err := http.NewRequest(method, url, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("asking a server: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("asking a server: %w", err)
	}
	return json.Unmarshal(text, into)
}
