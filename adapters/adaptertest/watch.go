package adaptertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	idem "github.com/go-idem/idem/core"
)

// Seen is what a guard did, as POST /control/seen tells it.
type Seen struct {
	// Calls counts the store calls made for each step (claim, renew, settle, bury,
	// load). Reading an operation's card is no part of any request and not counted.
	Calls map[string]int `json:"calls"`
	// Trips counts the exchanges with the store in which these calls were made.
	Trips int `json:"trips"`
	// Injected counts those of them that a fault hit, cards' included.
	Injected map[string]int `json:"injected"`
	// Names are the names that were given to the store, sorted.
	Names []string `json:"names"`
	// Steps counts ended steps by "kind", "kind verdict" (of what was observed, too)
	// and "kind result", and begun ones by "kind begun".
	Steps map[string]int `json:"steps"`
	// Stats are the guard's own counts.
	Stats idem.Stats `json:"stats"`
}

// watch counts what a guard does: it is a decorator of its store and its
// observer. It also writes down every step as text, as an exporter of spans
// would, so that a test can look for secrets in it.
type watch struct {
	mu    sync.Mutex
	seen  Seen
	names map[string]bool
	text  strings.Builder
}

func newWatch() *watch {
	return &watch{
		seen:  Seen{Calls: map[string]int{}, Steps: map[string]int{}},
		names: map[string]bool{},
	}
}

// now returns a copy of what was seen so far.
func (w *watch) now() Seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := Seen{Trips: w.seen.Trips, Calls: map[string]int{}, Steps: map[string]int{}}
	for step, n := range w.seen.Calls {
		s.Calls[step] = n
	}
	for step, n := range w.seen.Steps {
		s.Steps[step] = n
	}
	for name := range w.names {
		s.Names = append(s.Names, name)
	}
	slices.Sort(s.Names)
	return s
}

// spans returns every step so far, a line each.
func (w *watch) spans() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// Start is the observer.
func (w *watch) Start(ctx context.Context, s idem.Step) (context.Context, func(idem.StepResult)) {
	kind := string(s.Kind)
	w.mu.Lock()
	w.seen.Steps[kind+" begun"]++
	fmt.Fprintf(&w.text, "begin %+v\n", s)
	w.mu.Unlock()
	return ctx, func(r idem.StepResult) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen.Steps[kind]++
		if r.Verdict != 0 {
			w.seen.Steps[kind+" "+r.Verdict.String()]++
		}
		if r.Observed != 0 {
			w.seen.Steps[kind+" "+r.Observed.String()]++
		}
		if r.Result != "" {
			w.seen.Steps[kind+" "+r.Result]++
		}
		fmt.Fprintf(&w.text, "end %s %+v\n", kind, r)
	}
}

// over returns the store with every call counted.
func (w *watch) over(s idem.Store) idem.Store { return &watched{w: w, under: s} }

// noClock hides a store's clock, so that a guard believes its own: the way to
// have one that lives in the past.
type noClock struct{ idem.Store }

func (s noClock) Describe() idem.Description { return idem.Describe(s.Store) }

// watched counts the calls of the store under it, and asks for the step of each.
// Abilities that only tell or wake are found behind it.
type watched struct {
	w     *watch
	under idem.Store
}

func (s *watched) saw(ctx context.Context, name string) {
	s.sawAll(ctx, []idem.Op{{Name: name}})
}

// sawAll counts calls that are made in one exchange.
func (s *watched) sawAll(ctx context.Context, ops []idem.Op) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	counts := false
	for _, op := range ops {
		s.w.names[op.Name] = true
		if strings.HasSuffix(op.Name, ":card") {
			continue
		}
		step := op.Step
		if step == "" {
			step = idem.StoreStep(ctx)
		}
		s.w.seen.Calls[step]++
		counts = true
	}
	if counts {
		s.w.seen.Trips++
	}
}

func (s *watched) Apply(ctx context.Context, ops []idem.Op) []idem.OpResult {
	s.sawAll(ctx, ops)
	return idem.Apply(ctx, s.under, ops)
}

func (s *watched) Create(ctx context.Context, name string, value []byte, ttl time.Duration) (idem.Result, error) {
	s.saw(ctx, name)
	return s.under.Create(ctx, name, value, ttl)
}

func (s *watched) Swap(ctx context.Context, name string, old, value []byte, ttl time.Duration) (idem.Result, error) {
	s.saw(ctx, name)
	return s.under.Swap(ctx, name, old, value, ttl)
}

func (s *watched) Load(ctx context.Context, name string) (idem.Result, error) {
	s.saw(ctx, name)
	return s.under.Load(ctx, name)
}

func (s *watched) Unwrap() idem.Store { return s.under }

func (s *watched) UsesStoreStep() bool { return true }
