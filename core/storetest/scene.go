package storetest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	idem "github.com/go-idem/idem/core"
)

// scene is the stage of one statement: a new store, two handles on it, and what
// the statement found wrong.
type scene struct {
	Factory
	*Backend
	// here and there are two handles on one store, as two processes have.
	here, there idem.Store
	// unit is a stretch of time that the store's clock tells well: long where the
	// clock can be moved, short where it has to be waited for.
	unit time.Duration

	mu    sync.Mutex
	moved time.Duration // by Advance, in all
	wrong []string
	late  bool     // nothing can be told: see overIfLate
	ends  []func() // what the statement leaves to be ended
}

// newScene sets the stage for a try: the first is 0, and each has twice the time of
// the one before where time has to be waited for.
func newScene(f Factory, b *Backend, try int) (*scene, error) {
	s := &scene{Factory: f, Backend: b, unit: 10 * time.Second}
	if b.Advance == nil {
		s.unit = max(60*time.Millisecond, 12*f.resolution()) << try
	}
	var err error
	if s.here, err = b.Open(); err != nil {
		return nil, err
	}
	s.there, err = b.Open()
	return s, err
}

// enough ends a statement that cannot go on.
type enough struct{}

// play runs the statement on this goroutine.
func (s *scene) play(holds func(*scene)) {
	defer func() {
		for _, end := range s.ends {
			end()
		}
	}()
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(enough); !ok {
				s.errorf("the store panicked: %v", r)
			}
		}
	}()
	holds(s)
}

// errorf notes a fault; any goroutine may call it.
func (s *scene) errorf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.wrong) < 20 {
		s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
	}
}

// fatalf notes a fault and ends the statement; only its own goroutine may.
func (s *scene) fatalf(format string, args ...any) {
	s.errorf(format, args...)
	panic(enough{})
}

func (s *scene) faults() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrong
}

// moment is a reading of both clocks a statement can know: the host's, and how
// far the store's was moved.
type moment struct {
	host  time.Time
	moved time.Duration
}

func (s *scene) moment() moment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return moment{time.Now(), s.moved}
}

// between bounds how much of the store's time has passed from one moment to
// another. A clock that can be moved may stand still by itself, so the least is
// what it was moved by; elsewhere it is what the host measured.
func (s *scene) between(from, to moment) (least, most time.Duration) {
	moved, host := to.moved-from.moved, to.host.Sub(from.host)
	if s.Advance != nil {
		return moved, moved + host
	}
	return host, host
}

// pass lets so much of the store's time go by, at least.
func (s *scene) pass(d time.Duration) {
	if s.Advance == nil {
		time.Sleep(d)
		return
	}
	s.Advance(d)
	s.mu.Lock()
	s.moved += d
	s.mu.Unlock()
}

// span is a call that gave a value its time to live, and when it was made.
type span struct {
	ttl           time.Duration
	before, after moment
}

// left bounds what is left of it, as told by a call made between two moments.
func (s *scene) left(sp span, before, after moment) (least, most time.Duration) {
	_, spent := s.between(sp.before, after)
	sure, _ := s.between(sp.after, before)
	return sp.ttl - spent, sp.ttl - sure + s.resolution()
}

func callContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), callTimeout)
}

// create, swap and load are the calls of a statement; an error ends it.
func (s *scene) create(h idem.Store, name string, value []byte, ttl time.Duration) (idem.Result, span) {
	ctx, cancel := callContext()
	defer cancel()
	sp := span{ttl: ttl, before: s.moment()}
	r, err := h.Create(ctx, name, value, ttl)
	sp.after = s.moment()
	if err != nil {
		s.fatalf("Create(%s): %v", show(value), err)
	}
	return r, sp
}

func (s *scene) swap(h idem.Store, name string, old, value []byte, ttl time.Duration) (idem.Result, span) {
	ctx, cancel := callContext()
	defer cancel()
	sp := span{ttl: ttl, before: s.moment()}
	r, err := h.Swap(ctx, name, old, value, ttl)
	sp.after = s.moment()
	if err != nil {
		s.fatalf("Swap(%s → %s): %v", show(old), show(value), err)
	}
	return r, sp
}

func (s *scene) load(h idem.Store, name string) (r idem.Result, before, after moment) {
	ctx, cancel := callContext()
	defer cancel()
	before = s.moment()
	r, err := h.Load(ctx, name)
	after = s.moment()
	if err != nil {
		s.fatalf("Load: %v", err)
	}
	return r, before, after
}

// created creates a value that has to be new.
func (s *scene) created(name string, value []byte, ttl time.Duration) span {
	r, sp := s.create(s.here, name, value, ttl)
	if !r.Done || r.Value != nil {
		s.fatalf("Create(%s) on an empty name: got %s, want Done", show(value), result(r))
	}
	return sp
}

// swapped swaps what has to be there, with what is left of sp.
func (s *scene) swapped(h idem.Store, name string, sp span, old, value []byte, ttl time.Duration) span {
	r, now := s.swap(h, name, old, value, ttl)
	if !r.Done || r.Value != nil {
		s.overIfLate(sp, now.after)
		s.fatalf("got %s, want Done", result(r))
	}
	return now
}

// overIfLate ends a statement of which nothing can be told: what it looked for may
// rightly be gone, because the machine took longer than its time to live.
func (s *scene) overIfLate(sp span, after moment) {
	if _, spent := s.between(sp.before, after); s.Advance == nil && spent >= sp.ttl {
		s.late = true
		panic(enough{})
	}
}

// finds says that value is there, by either handle, with what is left of sp.
func (s *scene) finds(name string, value []byte, sp span) {
	for _, h := range []idem.Store{s.here, s.there} {
		r, before, after := s.load(h, name)
		if r.Done {
			s.errorf("Load says Done; it never does")
		}
		if r.Value == nil || !bytes.Equal(r.Value, value) {
			s.overIfLate(sp, after)
			s.fatalf("found %s, want %s", result(r), show(value))
		}
		s.leftIs(r.Left, sp, before, after)
	}
}

// leftIs says that left is what can be left of sp.
func (s *scene) leftIs(left time.Duration, sp span, before, after moment) {
	least, most := s.left(sp, before, after)
	if left < least {
		s.errorf("told %v left, while at least %v were: less than the truth", left, least)
	}
	if left > most {
		s.errorf("told %v left, while at most %v could be: its time to live was set again, or told too coarsely", left, most)
	}
}

// findsNothing says that nothing is there, by either handle.
func (s *scene) findsNothing(name string) {
	for _, h := range []idem.Store{s.here, s.there} {
		if r, _, _ := s.load(h, name); r.Done || r.Value != nil || r.Left != 0 {
			s.errorf("found %s, want the zero Result", result(r))
		}
	}
}

// show describes a value without printing a megabyte.
func show(v []byte) string {
	if len(v) > 48 {
		return fmt.Sprintf("%d bytes %q…", len(v), v[:16])
	}
	return fmt.Sprintf("%q", v)
}

func result(r idem.Result) string {
	if r.Value == nil {
		return fmt.Sprintf("{done %v, no value, left %v}", r.Done, r.Left)
	}
	return fmt.Sprintf("{done %v, %s, left %v}", r.Done, show(r.Value), r.Left)
}
