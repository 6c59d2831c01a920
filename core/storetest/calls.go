package storetest

import (
	"context"
	"time"

	idem "github.com/go-idem/idem/core"
)

var callStatements = []statement{
	{says: "a context that is over is an error", holds: func(s *scene) {
		s.created("taken", []byte("v"), 100*s.unit)
		over, cancel := context.WithCancel(context.Background())
		cancel()
		late, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
		defer cancel()
		for _, ctx := range []context.Context{over, late} {
			for _, call := range calls() {
				if r, err := call.make(ctx, s.here); err == nil {
					s.errorf("%s: %s, want an error", call.name, result(r))
				}
			}
		}
	}},
	{says: "a store that falls silent is given up on soon after the deadline", needs: needsWire, holds: func(s *scene) {
		s.created("taken", []byte("v"), 1000*s.unit)
		resume := s.Wire.Stall()
		for _, call := range calls() {
			if took := givesUp(func(ctx context.Context) {
				if r, err := call.make(ctx, s.here); err == nil {
					s.errorf("%s of a silent store: %s, want an error", call.name, result(r))
				}
			}); took > 0 {
				resume()
				s.fatalf("%s with a deadline of %v took %v", call.name, silentFor, took)
			}
		}
		resume()
		s.answersAgain()
	}},
	{says: "a call whose reply is lost is an error, and is not made twice", needs: needsWire, holds: func(s *scene) {
		s.created("taken", []byte("v"), 1000*s.unit)
		for _, call := range calls() { // once undisturbed: what a handle learns at first use is no repeat
			s.undisturbed(call)
		}
		s.created("taken for swap", []byte("v"), 1000*s.unit)
		for _, call := range []call{
			{"Create", func(ctx context.Context, h idem.Store) (idem.Result, error) {
				return h.Create(ctx, "lost", []byte("v"), 1000*s.unit)
			}},
			{"Swap", func(ctx context.Context, h idem.Store) (idem.Result, error) {
				return h.Swap(ctx, "taken for swap", []byte("v"), []byte("w"), 1000*s.unit)
			}},
			{"Load", func(ctx context.Context, h idem.Store) (idem.Result, error) { return h.Load(ctx, "taken") }},
		} {
			s.losesReply(call)
		}
		for name, want := range map[string]string{"lost": "v", "taken for swap": "w"} {
			if r, _, _ := s.load(s.there, name); string(r.Value) != want {
				s.errorf("the call was applied before its reply was lost, yet there is %s", result(r))
			}
		}
	}},
}

// call is one store call by name.
type call struct {
	name string
	make func(context.Context, idem.Store) (idem.Result, error)
}

func calls() []call {
	return []call{
		{"Create", func(ctx context.Context, h idem.Store) (idem.Result, error) {
			return h.Create(ctx, "taken", []byte("v"), time.Hour)
		}},
		{"Swap", func(ctx context.Context, h idem.Store) (idem.Result, error) {
			return h.Swap(ctx, "taken", []byte("nothing like it"), []byte("w"), time.Hour)
		}},
		{"Load", func(ctx context.Context, h idem.Store) (idem.Result, error) { return h.Load(ctx, "taken") }},
	}
}

func (s *scene) undisturbed(c call) {
	ctx, cancel := callContext()
	defer cancel()
	if _, err := c.make(ctx, s.here); err != nil {
		s.fatalf("%s over an undisturbed wire: %v", c.name, err)
	}
}

func (s *scene) losesReply(c call) {
	ctx, cancel := callContext()
	defer cancel()
	calls := s.Wire.Calls()
	s.Wire.Lose()
	r, err := c.make(ctx, s.here)
	if err == nil {
		s.errorf("%s whose reply was lost: %s, want an error", c.name, result(r))
	}
	if r.Done || r.Value != nil {
		s.errorf("%s whose reply was lost told %s beside the error", c.name, result(r))
	}
	if made := s.Wire.Calls() - calls; made != 1 {
		s.errorf("%s whose reply was lost reached the store %d times, want once", c.name, made)
	}
}

// silentFor is the deadline of a call of a silent store.
const silentFor = 100 * time.Millisecond

// givesUp returns 0 where a call is over soon after its deadline, else how long it
// took. A busy machine stands still for a moment now and then; a store that does
// not give up is late each time.
func givesUp(call func(context.Context)) (took time.Duration) {
	const grace = 2 * time.Second
	for range 3 {
		ctx, cancel := context.WithTimeout(context.Background(), silentFor)
		start := time.Now()
		call(ctx)
		took = time.Since(start)
		if cancel(); took <= silentFor+grace {
			return 0
		}
	}
	return took
}

// answersAgain says that the store answers, within a bounded time.
func (s *scene) answersAgain() {
	deadline := time.Now().Add(pollFor)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, err := s.here.Load(ctx, "taken")
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.fatalf("it does not answer %v after the silence ended: %v", pollFor, err)
		}
		time.Sleep(pollEvery)
	}
}
