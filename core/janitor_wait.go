package idem

import (
	"sync/atomic"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// How long the janitor leaves a job alone that failed: PROTOCOL section 8, "janitor
// every 1 s, back-off to 30 s". A store that is away for an hour is asked a hundred
// times about a record and not thousands of times, by every process that has
// something open there.
//
// That must not keep what is open waiting once the store is back. So where the store
// answered this guard nothing between two tries, its first answer to anybody, a
// claim, a renewal or a card, has every job tried anew within a second. A record that
// alone cannot be had, on a node that is down while others answer, goes on being
// asked for less and less often.
const (
	janitorPeriod = time.Second
	janitorMost   = 30 * time.Second
)

// janitorPause is how long a job that failed so many times in a row is left alone.
func janitorPause(fails int) time.Duration {
	if broken.Is(broken.S8JanitorKeepsOn) {
		return janitorPeriod
	}
	d := janitorPeriod
	for ; fails > 1 && d < janitorMost; fails-- {
		d *= 2
	}
	return min(d, janitorMost)
}

// failed puts a job off.
func (one *job) failed(now time.Time, hurry bool) {
	one.fails++
	if hurry {
		one.fails = 1
	}
	one.last = now
	one.first = now.Add(janitorPause(one.fails))
}

// hurry has every job that was put off tried anew, none sooner than a period after
// its last try. j.mu is held.
func (j *janitor) hurry() {
	for _, one := range j.jobs {
		if soon := one.last.Add(janitorPeriod); one.fails > 0 && one.first.After(soon) {
			one.first = soon
		}
		one.fails = 0
	}
}

// silence is what a janitor whose tries fail knows of the store: whether it answers
// anybody else. While nothing is put off it costs one look a call.
type silence struct {
	state atomic.Uint32
	over  func() // called with the answer that ends it
}

// The states of a silence.
const (
	nobodyListens uint32 = iota
	nothingYet           // a try failed, and nothing was answered since
	somethingSaid        // a try failed, and something was answered since
	storeIsAway          // two tries failed, and nothing was answered between them
)

// failed takes note of tries that failed, and nothing but failures.
func (s *silence) failed() {
	if s.state.CompareAndSwap(nothingYet, storeIsAway) || s.state.Load() == storeIsAway {
		return
	}
	s.state.Store(nothingYet)
}

// answered takes note of an answer.
func (s *silence) answered() {
	switch {
	case s.state.Load() == nobodyListens:
	case s.state.CompareAndSwap(nothingYet, somethingSaid):
	case s.state.CompareAndSwap(storeIsAway, somethingSaid):
		s.over()
	}
}
