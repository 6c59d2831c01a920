package adaptertest

import (
	"context"
	"time"

	idem "github.com/go-idem/idem/core"
)

// This file is how the statements have time pass. A store whose time can be
// moved is moved. Elsewhere the time before is played by a server that lives in
// the past, and what has passed is taken from the records' time to live.

// older starts a server that lives as long ago as will pass until now.
func (s *scene) older(ago time.Duration) Node {
	if s.shared.Advance != nil {
		return s.server(NodeOptions{})
	}
	s.ago = ago
	return s.server(NodeOptions{Past: ago})
}

// later lets time pass, and returns a server that lives then: a new one, so
// that no reading of the clock is older.
func (s *scene) later(n Node, passed time.Duration) Node {
	if s.shared.Advance != nil {
		s.order(n, "/control/expire", map[string]string{"advance": passed.String()}, nil)
		return s.server(NodeOptions{})
	}
	if s.shared.Age == nil {
		s.fatalf("the backend has neither Advance nor Age: it cannot play what time does")
	}
	if err := s.shared.Age(passed); err != nil {
		s.fatalf("ageing the records: %v", err)
	}
	s.ago -= passed
	return s.server(NodeOptions{Past: max(s.ago, 0)})
}

// oldCard starts a server whose operations' cards are older than the tokens it
// will issue: a token tells whole seconds, and of one that is as old as the card
// nobody can say that it came after it.
func (s *scene) oldCard() Node {
	return s.later(s.older(2*time.Second), 2*time.Second)
}

// describe describes the store as a server of these options sees it.
func (s *scene) describe(o NodeOptions) idem.Description {
	store, err := s.shared.Open(o.Call())
	if err != nil {
		s.fatalf("opening a handle on the store: %v", err)
	}
	d := idem.Describe(store)
	if err := closerOf(store)(); err != nil {
		s.errorf("closing a handle on the store: %v", err)
	}
	return d
}

// closed closes a guard.
func (s *scene) closed(g *idem.Guard) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := g.Close(ctx); err != nil {
		s.errorf("closing a guard: %v", err)
	}
}
