package storetest

import (
	"fmt"
	"time"

	idem "github.com/go-idem/idem/core"
)

var lifeStatements = []statement{
	{says: "a value is there for the whole of its time to live and gone after it", holds: func(s *scene) {
		sp := s.created("a", []byte("v"), 2*s.unit)
		s.created("b", []byte("stays"), 100*s.unit)
		s.pass(s.unit)
		s.finds("a", []byte("v"), sp)
		if s.Advance != nil { // elsewhere gone looks all the time
			s.pass(s.unit - s.unit/100)
			s.finds("a", []byte("v"), sp)
		}
		s.gone("a", sp)
		if r, _, _ := s.load(s.there, "b"); r.Value == nil {
			s.errorf("a value with time left went with one that had none")
		}
	}},
	{says: "a value that was swapped lives by the Swap's time to live", holds: func(s *scene) {
		sp := s.created("a", []byte("one"), s.unit)
		sp = s.swapped(s.here, "a", sp, []byte("one"), []byte("two"), 4*s.unit)
		s.pass(2 * s.unit)
		s.finds("a", []byte("two"), sp)
		sp = s.swapped(s.here, "a", sp, []byte("two"), []byte("three"), s.unit)
		s.gone("a", sp)
	}},
	{says: "a time left is never less than the truth, below a millisecond too", holds: func(s *scene) {
		for i, ttl := range []time.Duration{
			time.Hour + 1, time.Hour + time.Millisecond - 1, time.Hour + 500*time.Microsecond,
			time.Hour + time.Second - time.Nanosecond, 90*time.Minute + 1500*time.Microsecond,
		} {
			name := fmt.Sprintf("n%d", i)
			sp := s.created(name, []byte("v"), ttl)
			s.finds(name, []byte("v"), sp)
			_, sp = s.swap(s.there, name, []byte("v"), []byte("w"), ttl)
			s.finds(name, []byte("w"), sp)
		}
	}},
	{says: "a time to live too short to measure is rounded up, not off", holds: func(s *scene) {
		for i, ttl := range []time.Duration{1, time.Microsecond, 999 * time.Microsecond} {
			name := fmt.Sprintf("n%d", i)
			s.gone(name, s.created(name, []byte("v"), ttl))
			s.created(name, []byte("v"), 100*s.unit)
			r, sp := s.swap(s.here, name, []byte("v"), []byte("w"), ttl)
			if !r.Done {
				s.fatalf("Swap with a time to live of %v: %s", ttl, result(r))
			}
			s.gone(name, sp)
		}
	}},
	{says: "the longest retention is told to the second", holds: func(s *scene) {
		const longest = 194 * 24 * time.Hour
		sp := s.created("a", []byte("v"), longest)
		s.finds("a", []byte("v"), sp)
	}},
	{says: "no value is stored without a time to live", holds: func(s *scene) {
		ctx, cancel := callContext()
		defer cancel()
		sp := s.created("taken", []byte("v"), 100*s.unit)
		for _, ttl := range []time.Duration{0, -1, -time.Hour} {
			if r, err := s.here.Create(ctx, "a", []byte("v"), ttl); err == nil {
				s.errorf("Create with a time to live of %v: %s, want an error", ttl, result(r))
			}
			s.findsNothing("a")
			if r, err := s.here.Swap(ctx, "taken", []byte("v"), []byte("w"), ttl); err == nil {
				s.errorf("Swap with a time to live of %v: %s, want an error", ttl, result(r))
			}
			s.finds("taken", []byte("v"), sp)
		}
	}},
	{says: "many values expire each in its own time", holds: func(s *scene) {
		spans := make([]span, 200)
		for i := range spans {
			ttl := 100 * s.unit
			if i%2 == 0 {
				ttl = s.unit
			}
			spans[i] = s.created(fmt.Sprintf("n%d", i), []byte("v"), ttl)
		}
		s.gone("n198", spans[198])
		for i, sp := range spans {
			name := fmt.Sprintf("n%d", i)
			switch r, _, _ := s.load(s.here, name); {
			case i%2 == 1 && r.Value == nil:
				s.errorf("a value with time left went with those that had none")
			case i%2 == 0 && r.Value != nil && s.Advance == nil:
				s.gone(name, sp)
			case i%2 == 0 && r.Value != nil:
				s.errorf("a value stayed that had no time left")
			}
		}
	}},
}

// gone lets the rest of a value's time go by and says that it is gone then, by
// either handle, and was not gone earlier.
func (s *scene) gone(name string, sp span) {
	if s.Advance != nil {
		s.pass(sp.ttl + s.resolution())
	}
	deadline := time.Now().Add(sp.ttl + s.resolution() + pollFor)
	for _, h := range []idem.Store{s.here, s.there} {
		for {
			r, _, after := s.load(h, name)
			if r.Value == nil {
				if _, most := s.between(sp.before, after); most < sp.ttl {
					s.fatalf("gone after at most %v of its %v", most, sp.ttl)
				}
				break
			}
			if s.Advance != nil || time.Now().After(deadline) {
				s.fatalf("still there (%s) after its %v", result(r), sp.ttl)
			}
			time.Sleep(pollEvery)
		}
	}
}
