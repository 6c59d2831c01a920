package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var fullStatements = []statement{
	{says: "a full store refuses a Create and evicts nothing", full: true, holds: func(s *scene) {
		names, _ := s.fill(time.Hour)
		for _, name := range names {
			if r, _, _ := s.load(s.there, name); !fits(name, r.Value) {
				s.fatalf("of %d values one was evicted or changed: %s", len(names), result(r))
			}
		}
		r, _ := s.create(s.there, names[0], []byte("x"), time.Hour)
		if r.Done || !fits(names[0], r.Value) {
			s.errorf("a Create on a taken name of a full store: %s, want to be told what is there", result(r))
		}
	}},
	{says: "a full store takes values again when others have expired", full: true, holds: func(s *scene) {
		names, sp := s.fill(max(20*s.unit, 3*time.Second))
		s.gone(names[len(names)-1], sp)
		ctx, cancel := callContext()
		defer cancel()
		deadline := time.Now().Add(pollFor)
		for {
			r, err := s.here.Create(ctx, "again", filling("again"), time.Hour)
			if err == nil && r.Done {
				return
			}
			if time.Now().After(deadline) {
				s.fatalf("nothing in it is left, but a Create says %s, %v", result(r), err)
			}
			time.Sleep(pollEvery)
		}
	}},
}

// fill creates values of 1 KiB until one is refused, and returns the names of
// those that were taken and the life of the last.
func (s *scene) fill(ttl time.Duration) (names []string, last span) {
	ctx, cancel := callContext()
	defer cancel()
	for i := range 16_001 {
		name := fmt.Sprintf("n%d", i)
		sp := span{ttl: ttl, before: s.moment()}
		r, err := s.here.Create(ctx, name, filling(name), ttl)
		sp.after = s.moment()
		if err != nil {
			if errors.Is(err, context.DeadlineExceeded) || len(names) < 100 {
				s.fatalf("filling the store failed after %d values: %v", len(names), err)
			}
			return names, last
		}
		if !r.Done {
			s.fatalf("Create on an empty name: %s", result(r))
		}
		names, last = append(names, name), sp
	}
	s.fatalf("the store took 16,000 values and more")
	return nil, span{}
}

func filling(name string) []byte { return append([]byte(name), make([]byte, 1024-len(name))...) }

func fits(name string, v []byte) bool { return string(v) == string(filling(name)) }
