package proof

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-idem/idem/internal/program"
)

// Load is work for server processes, and what is done to them meanwhile.
type Load struct {
	Redis   string // address of a redis-server, or of what loses its replies
	Dir     string // for the ledger
	Servers int    // processes at any time, of each framework in turn; the control's are net/http's
	Clients int    // that send at the same time
	Sends   int    // how often each key is sent, each until it has its outcome
	Kills   int    // kill -9, each with a restart; the load ends after the last
	Pauses  int    // a process stands still for longer than a lease
	Lease   time.Duration
	Seed    uint64
	Naive   bool // the control
}

// killEvery is how often a process is killed: often enough that runs are caught,
// seldom enough that leases run out in between.
const killEvery = 500 * time.Millisecond

// keysUnderWay is how many keys are worked on at the same time.
const keysUnderWay = 8

// site is where a load happens.
type site struct {
	Load
	launch *Launcher
	record *Record
	flags  []string

	mu      sync.Mutex
	servers []*program.Process
	kills   int
	over    atomic.Bool // every kill is done: no new keys
	attempt atomic.Int64
}

// Run does the work. The error is for what kept it from being done; what was
// found is in the record.
func (l Load) Run(launch *Launcher) (r *Record, err error) {
	ledger := filepath.Join(l.Dir, "ledger")
	s := &site{Load: l, launch: launch, record: newRecord(l.Lease), flags: []string{
		"-redis", l.Redis, "-ledger", ledger, "-lease", l.Lease.String(),
		"-prefix", fmt.Sprintf("proof%d-%d:", l.Seed, time.Now().UnixNano()),
	}}
	if l.Naive {
		s.flags = append(s.flags, "-naive")
	}
	for i := range l.Servers {
		p, err := s.start(i)
		if err != nil {
			return nil, errors.Join(err, s.stop())
		}
		s.servers = append(s.servers, p)
	}
	var trouble error
	var all sync.WaitGroup
	all.Go(func() { trouble = s.trouble() })
	jobs := make(chan job)
	go s.jobs(jobs)
	clients := newClients(l.Clients)
	defer clients.CloseIdleConnections()
	for range l.Clients {
		all.Go(func() {
			for j := range jobs {
				(&sender{site: s, client: clients, job: j}).send()
			}
		})
	}
	all.Wait()
	if err := errors.Join(trouble, s.stop()); err != nil {
		return nil, err
	}
	s.record.runs, err = readLedger(ledger)
	return s.record, err
}

// start starts the server of a place.
func (s *site) start(at int) (*program.Process, error) {
	if s.Naive {
		return s.launch.start(s.flags...)
	}
	return s.launch.start(append(s.flags[:len(s.flags):len(s.flags)], "-framework", Frameworks[at%len(Frameworks)])...)
}

func (s *site) stop() (err error) {
	for _, p := range s.servers {
		err = errors.Join(err, p.Stop())
	}
	return err
}

// trouble kills and pauses processes, a different one each time.
func (s *site) trouble() error {
	defer s.over.Store(true)
	dice := rand.New(rand.NewPCG(s.Seed, 2))
	tick := time.NewTicker(killEvery)
	defer tick.Stop()
	pauses := 0
	for i := 0; i < s.Kills; i++ {
		<-tick.C
		at := dice.IntN(s.Servers)
		if pauses*s.Kills < s.Pauses*(i+1) {
			pauses++
			s.at(at).Pause(2 * s.Lease)
			<-tick.C
			at = (at + 1) % s.Servers
		}
		s.at(at).Kill()
		next, err := s.start(at)
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.servers[at] = next
		s.kills++
		s.mu.Unlock()
	}
	return nil
}

// at is the server that stands in a place now.
func (s *site) at(i int) *program.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.servers[i%len(s.servers)]
}

// job is one key to be sent until its outcome is known.
type job struct {
	key    string
	first  int // the server to begin with
	refuse bool
	mark   bool
	delay  time.Duration
}

// jobs hands out keys, the sends of one close together, until every kill is done.
func (s *site) jobs(jobs chan<- job) {
	defer close(jobs)
	dice := rand.New(rand.NewPCG(s.Seed, 1))
	for from := 0; !s.over.Load(); from += keysUnderWay {
		var batch []job
		for key := from; key < from+keysUnderWay; key++ {
			delay := time.Duration(20+dice.IntN(180)) * time.Millisecond
			if dice.IntN(8) == 0 {
				delay = s.Lease + s.Lease/2 // only a renewed claim lasts so long
			}
			mark := dice.IntN(5) == 0
			for send := range s.Sends {
				batch = append(batch, job{
					key: fmt.Sprintf("key-%d", key), first: key + send, delay: delay, mark: mark, refuse: send == 0 && !mark && dice.IntN(3) == 0,
				})
			}
		}
		// Sends of one key meet: they are shuffled within two keys only.
		for i := 0; i+2*s.Sends <= len(batch); i += 2 * s.Sends {
			two := batch[i : i+2*s.Sends]
			dice.Shuffle(len(two), func(i, j int) { two[i], two[j] = two[j], two[i] })
		}
		for _, j := range batch {
			jobs <- j
		}
	}
}
