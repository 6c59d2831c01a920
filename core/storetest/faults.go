package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	idem "github.com/go-idem/idem/core"
)

// Mode is a way in which a store call misbehaves.
type Mode string

// The modes. To the caller all of them but Slow are one and the same thing, an
// error, and so an unknown outcome; they differ in what happened to the record.
const (
	// Refuse fails at once; nothing was applied.
	Refuse Mode = "refuse"
	// Timeout answers nothing until the caller's deadline (or Fault.Delay, if
	// that is sooner), then fails; nothing was applied.
	Timeout Mode = "timeout"
	// Slow waits for Fault.Delay, then makes the call. A caller whose deadline
	// passes meanwhile gets an error, and nothing was applied.
	Slow Mode = "slow"
	// LostReply makes the call, then fails: it was applied.
	LostReply Mode = "lost-reply"
	// Late fails at once, and makes the call Fault.Delay afterwards: what a kernel
	// still resends after a socket was closed.
	Late Mode = "late"
	// CutOff makes the call, then fails it and all that come after it in the same
	// Apply: a pipeline that was applied whole and answered in part. Alone it is
	// LostReply.
	CutOff Mode = "cut-off"
)

var modes = []Mode{Refuse, Timeout, Slow, LostReply, Late, CutOff}

// Steps returns the names by which calls are counted and disturbed: those of
// [idem.StoreStep], and "clock" for a reading of the store's clock.
func Steps() []string {
	return []string{"claim", "renew", "settle", "bury", "load", "scan", "clock"}
}

// Fault is what happens to the next calls made for one step.
type Fault struct {
	Mode Mode
	// Times is how many calls are hit; below zero, every call until the plan is
	// changed. A fault of zero times is no fault.
	Times int
	// Delay belongs to Timeout, Slow and Late.
	Delay time.Duration
	// Chance is the probability with which a call is hit; 0 means always. A call
	// that is spared does not count against Times.
	Chance float64
}

// ErrInjected is what every injected failure matches by errors.Is. Those of mode
// Timeout match context.DeadlineExceeded as well.
var ErrInjected = errors.New("storetest: injected fault")

// ErrKilled is what every call returns after [Faults.Kill].
var ErrKilled = errors.New("storetest: this process was killed")

// Faults is a plan of faults, a count of calls and a record of both. Any number
// of stores may be wrapped by one. All methods may be called at any time by any
// goroutine.
type Faults struct {
	mu       sync.Mutex
	plan     map[string][]Fault
	rng      *rand.Rand
	killed   bool
	calls    map[[2]string]int // step, method
	injected map[[2]string]int // step, mode
	trips    int
	log      []Call
	late     sync.WaitGroup
}

// Call is one call that came to a wrapped store.
type Call struct {
	// Step is what the guard made it for; "" if the caller did not say.
	Step string
	// Method is Create, Swap, Load, Now, Indexed, Entries, Reindex or Scan.
	Method string
	// Name is the record's name; "" for Now, Entries, Reindex and Scan.
	Name string
	// Mode is the fault that hit it, "" if none did.
	Mode Mode
}

// logged is how many calls a Faults remembers one by one; it counts them all.
const logged = 10_000

// NewFaults returns a plan without faults. Its dice are seeded with 1: the same
// calls in the same order have the same luck (see [Faults.Seed]).
func NewFaults() *Faults {
	f := &Faults{plan: map[string][]Fault{}}
	f.Seed(1)
	f.Reset()
	return f
}

// Seed throws the dice of [Fault].Chance anew.
func (f *Faults) Seed(seed uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rng = rand.New(rand.NewPCG(seed, 0))
}

// Set replaces the plan of a step: its calls meet the faults in the order given,
// each for its number of times. No faults, or one of zero times, clears the
// step. Step "" is a plan for every step that has none of its own.
//
// The error names what is not known: a step, a mode, a chance outside [0, 1].
func (f *Faults) Set(step string, plan ...Fault) error {
	if step != "" && !slices.Contains(Steps(), step) {
		return fmt.Errorf("storetest: no step %q: there are %s", step, strings.Join(Steps(), ", "))
	}
	kept := make([]Fault, 0, len(plan))
	for _, fault := range plan {
		if !slices.Contains(modes, fault.Mode) {
			return fmt.Errorf("storetest: no mode %q: there are %v", fault.Mode, modes)
		}
		if !(fault.Chance >= 0 && fault.Chance <= 1) {
			return fmt.Errorf("storetest: a chance of %v: it lies between 0 and 1", fault.Chance)
		}
		if fault.Times != 0 {
			kept = append(kept, fault)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan[step] = kept
	return nil
}

// Clear takes all faults away. Calls already hit stay hit; a killed process stays
// dead.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.plan)
}

// Kill has every call from now on fail without being applied, as if the process
// that makes them had died: what it held is abandoned. What was on its way late
// still arrives.
func (f *Faults) Kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.killed = true
}

// Wait returns when every call of mode Late that failed so far has been made.
func (f *Faults) Wait() { f.late.Wait() }

// Calls counts the calls made for a step by a method (Create, Swap, Load, Now);
// "" means any. Calls that were hit count too, and so does each operation of an
// Apply, as a call of its method.
func (f *Faults) Calls(step, method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return count(f.calls, step, method)
}

// Injected counts the calls that were hit, by step and mode; "" means any.
func (f *Faults) Injected(step string, mode Mode) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return count(f.injected, step, string(mode))
}

// Log returns the first 10,000 calls since the last Reset, in the order in which
// they came in.
func (f *Faults) Log() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.log)
}

// Reset sets the counters to zero and empties the log; the plan stays.
func (f *Faults) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.injected, f.log, f.trips = map[[2]string]int{}, map[[2]string]int{}, nil, 0
}

// Trips counts the exchanges that would have gone to the store: a call alone is
// one, and so is an Apply, however many operations it carries.
func (f *Faults) Trips() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.trips
}

func count(counts map[[2]string]int, step, what string) (n int) {
	for key, c := range counts {
		if (step == "" || step == key[0]) && (what == "" || what == key[1]) {
			n += c
		}
	}
	return n
}

func (f *Faults) dead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.killed
}

// next counts a call and says what happens to it. shares says that it
// travels in an exchange that is counted already.
func (f *Faults) next(step, method, name string, shares bool) (hit Fault, killed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !shares {
		f.trips++
	}
	f.calls[[2]string{step, method}]++
	if !f.killed {
		hit = f.draw(step)
	}
	if hit.Mode != "" {
		f.injected[[2]string{step, string(hit.Mode)}]++
	}
	if len(f.log) < logged {
		f.log = append(f.log, Call{Step: step, Method: method, Name: name, Mode: hit.Mode})
	}
	return hit, f.killed
}

// draw takes the fault that the plan has for a call of this step, if any.
func (f *Faults) draw(step string) Fault {
	if len(f.plan[step]) == 0 {
		step = ""
	}
	plan := f.plan[step]
	if len(plan) == 0 {
		return Fault{}
	}
	hit := plan[0]
	if hit.Chance > 0 && f.rng.Float64() >= hit.Chance {
		return Fault{}
	}
	if hit.Times > 0 {
		if plan[0].Times--; plan[0].Times == 0 {
			f.plan[step] = plan[1:]
		}
	}
	return hit
}

// Wrap returns the store with the plan's faults before it. It has the abilities
// of the store under it, no more and no fewer, and keeps the contract as long as
// no fault hits. An Apply meets the faults operation by operation; those that
// are spared travel on together.
func (f *Faults) Wrap(store idem.Store) idem.Store {
	base := faulty{store: store, faults: f}
	clock, clocks := store.(idem.Clocker)
	batcher, batches := store.(idem.Batcher)
	switch {
	case clocks && batches:
		return &struct {
			faulty
			faultyClock
			faultyBatcher
		}{base, faultyClock{clock, f}, faultyBatcher{batcher, f}}
	case clocks:
		return &struct {
			faulty
			faultyClock
		}{base, faultyClock{clock, f}}
	case batches:
		return &struct {
			faulty
			faultyBatcher
		}{base, faultyBatcher{batcher, f}}
	}
	return &base
}
