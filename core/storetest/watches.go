package storetest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	idem "github.com/go-idem/idem/core"
)

// Waking those who wait. That every wake-up arrives is not asked, because a
// guard does not rely on it; that one arrives while nothing is disturbed is.
var watchStatements = []statement{
	{says: "a Swap that says to wake wakes those who watch, by whatever handle", needs: needsWatch, holds: func(s *scene) {
		s.created("a", []byte("0"), time.Hour)
		here, there := s.watch(s.here, "a"), s.watch(s.there, "a")
		s.wakingSwap(s.here, "a", "0", "1")
		here.woken("by a Swap of the handle it watches by")
		there.woken("by a Swap of another handle")
	}},
	{says: "an operation of an Apply that says to wake wakes too", needs: needsWatch, holds: func(s *scene) {
		s.created("a", []byte("0"), time.Hour)
		w := s.watch(s.there, "a")
		s.apply(s.here,
			idem.Op{Kind: idem.OpCreate, Name: "b", Value: []byte("0"), TTL: time.Hour},
			idem.Op{Kind: idem.OpSwap, Name: "a", Old: []byte("0"), Value: []byte("1"), TTL: time.Hour, Wake: true})
		w.woken("by an Apply")
	}},
	{says: "nothing else wakes", needs: needsWatch, holds: func(s *scene) {
		s.created("a", []byte("0"), time.Hour)
		s.created("b", []byte("0"), time.Hour)
		w := s.watch(s.there, "a")
		s.swap(s.here, "a", []byte("0"), []byte("1"), time.Hour) // as a renewal
		s.load(s.here, "a")
		s.wakingSwap(s.here, "b", "0", "1")
		s.apply(s.here, idem.Op{Kind: idem.OpSwap, Name: "a", Old: []byte("1"), Value: []byte("2"), TTL: time.Hour})
		ctx, cancel := callContext()
		defer cancel()
		if r, err := s.here.Swap(idem.WithWake(ctx), "a", []byte("not there"), []byte("3"), time.Hour); err != nil || r.Done {
			s.errorf("Swap from what is not there: %s, %v", result(r), err)
		}
		w.settled()
		s.wakingSwap(s.here, "a", "2", "3")
		w.woken("by the only change that says so")
		w.settled()
		if n := w.times.Load(); n != 1 {
			s.errorf("woken %d times, want once, by the only Swap of the name that says to wake and is done", n)
		}
	}},
	{says: "who has stopped watching is not woken, the others are", needs: needsWatch, holds: func(s *scene) {
		s.created("a", []byte("0"), time.Hour)
		stopped, other := s.watch(s.there, "a"), s.watch(s.there, "a")
		stopped.stop()
		stopped.stop() // once more does nothing
		s.wakingSwap(s.here, "a", "0", "1")
		other.woken("while another has stopped")
		other.stop()
		again := s.watch(s.there, "a")
		s.wakingSwap(s.here, "a", "1", "2")
		again.woken("that began when all had stopped")
		if n := stopped.times.Load(); n != 0 {
			s.errorf("who had stopped was woken %d times", n)
		}
	}},
	{says: "many names and many who watch each are woken by their own name only", needs: needsWatch, holds: func(s *scene) {
		names := []string{"a", "a:1", "b", "A"}
		watchers := map[string][]*watcher{}
		for _, name := range names {
			s.created(name, []byte("0"), time.Hour)
			for range 5 {
				watchers[name] = append(watchers[name], s.watch(s.there, name))
			}
		}
		for i, name := range names {
			s.wakingSwap(s.here, name, "0", "1")
			for _, w := range watchers[name] {
				w.woken("by its name")
			}
			for _, later := range names[i+1:] {
				for _, w := range watchers[later] {
					if w.times.Load() != 0 {
						s.errorf("who watches %q was woken by %q", later, name)
					}
				}
			}
		}
	}},
	{says: "a watch that was interrupted wakes when it stands again, and goes on", needs: needsCut, holds: func(s *scene) {
		s.created("a", []byte("0"), time.Hour)
		w := s.watch(s.there, "a")
		s.Wire.Cut()
		w.woken("that was interrupted")
		s.answersAgain()
		had := w.times.Load()
		s.wakingSwap(s.here, "a", "0", "1")
		s.until("a wake-up after the interruption", func() bool { return w.times.Load() > had })
	}},
}

// watcher is somebody who watches a name.
type watcher struct {
	s     *scene
	name  string
	stop  func()
	times atomic.Int64
}

func (s *scene) watch(h idem.Store, name string) *watcher {
	ctx, cancel := callContext()
	defer cancel()
	w := &watcher{s: s, name: name}
	stop, err := idem.Watch(ctx, h, name, func() { w.times.Add(1) })
	if err != nil {
		s.fatalf("Watch: %v", err)
	}
	w.stop = stop
	s.ends = append(s.ends, stop)
	return w
}

func (w *watcher) woken(how string) {
	w.s.until("the wake-up of who watches "+w.name+", "+how, func() bool { return w.times.Load() > 0 })
}

// settled lets wake-ups that were sent arrive: a watch of its own is woken after
// them, because it is told of a later change.
func (w *watcher) settled() {
	last := w.s.watch(w.s.there, "settled")
	w.s.created("settled", []byte("0"), time.Hour)
	w.s.wakingSwap(w.s.here, "settled", "0", "1")
	last.woken("by a change made later")
	last.stop()
	w.s.swap(w.s.here, "settled", []byte("1"), []byte("over"), w.s.unit)
	w.s.pass(2 * w.s.unit) // so that it can be made again
}

func (s *scene) wakingSwap(h idem.Store, name, old, value string) {
	ctx, cancel := callContext()
	defer cancel()
	if r, err := h.Swap(idem.WithWake(ctx), name, []byte(old), []byte(value), time.Hour); err != nil || !r.Done {
		s.fatalf("Swap %s → %s that says to wake: %s, %v, want Done", old, value, result(r), err)
	}
}

// until asks again until it is so, within a bounded time.
func (s *scene) until(what string, so func() bool) {
	deadline := time.Now().Add(pollFor)
	for !so() {
		if time.Now().After(deadline) {
			s.fatalf("waited %v in vain for %s", pollFor, what)
		}
		time.Sleep(pollEvery)
	}
}

// watches tells whether a store can wake anybody.
func watches(h idem.Store) bool {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	stop, err := idem.Watch(ctx, h, "declared", func() {})
	if err == nil {
		stop()
	}
	return !errors.Is(err, idem.ErrNotWatched)
}

func needsWatch(f Factory, _ *Backend) string {
	if !f.Watches {
		return "the store declares that it wakes nobody"
	}
	return ""
}

func needsCut(f Factory, b *Backend) string {
	if b.Wire == nil || b.Wire.Cut == nil {
		return "there is no wire to cut"
	}
	return needsWatch(f, b)
}
