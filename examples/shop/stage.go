package main

import (
	"crypto/rand"
	"sync"
)

// stageHeader names the stage on which a request plays: one that the shop sends
// to itself, or one of a page that plays a trouble with idem.js. It is not part of
// the fingerprint, so a staged repeat is the same request. Whoever makes up a name
// names no stage and changes nothing.
const stageHeader = "Shop-Stage"

// shopSendHeader numbers what the script of a page sends, so that what its browser
// sends by itself can be told apart.
const shopSendHeader = "Shop-Send"

// stage follows one request of a staged trouble through the server, so that
// the trouble happens at the right moment instead of after a hopeful pause.
type stage struct {
	id       string
	arrived  event         // the request is in front of the guard
	entered  event         // the order handler has begun
	finished event         // the server has its answer ready
	hold     chan struct{} // the order handler waits until it is closed; nil: it does not
	show     *showing      // whose requests these are, where a page plays; nil: the shop plays
}

// event is something that happens once.
type event struct {
	once sync.Once
	done chan struct{}
}

func (e *event) happen() { e.once.Do(func() { close(e.done) }) }

// stages are the stages in use.
type stages struct {
	mu sync.Mutex
	by map[string]*stage
}

// open sets up a stage. Strike it when its request is over.
func (s *stages) open(hold chan struct{}) *stage {
	st := &stage{id: rand.Text(), hold: hold}
	for _, e := range []*event{&st.arrived, &st.entered, &st.finished} {
		e.done = make(chan struct{})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[string]*stage{}
	}
	s.by[st.id] = st
	return st
}

// strike removes a stage.
func (s *stages) strike(st *stage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.by, st.id)
}

// find returns the stage a request names, nil if there is none.
func (s *stages) find(id string) *stage {
	if id == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[id]
}
