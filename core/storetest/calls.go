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
			const patience, grace = 100 * time.Millisecond, 2 * time.Second
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			start := time.Now()
			r, err := call.make(ctx, s.here)
			cancel()
			if took := time.Since(start); took > patience+grace {
				resume()
				s.fatalf("%s with a deadline of %v took %v", call.name, patience, took)
			}
			if err == nil {
				s.errorf("%s of a silent store: %s, want an error", call.name, result(r))
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
