package proof

import (
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/go-idem/idem/internal/redistest"
)

// stage plays small schemes on a miniredis, one step after the other, and writes
// down what clients and handlers saw as a load does.
type stage struct {
	t        *testing.T
	mini     *miniredis.Miniredis
	now      time.Duration
	attempts map[string]*Attempt
	order    []string
	runs     map[string]entry
}

const stageLease = time.Second

func newStage(t *testing.T) *stage {
	return &stage{t: t, mini: redistest.Miniredis(t), attempts: map[string]*Attempt{}, runs: map[string]entry{}}
}

// do sends a command and tells the reply as it stands on the wire.
func (s *stage) do(args ...string) string { return redistest.Do(s.t, s.mini.Addr(), args...) }

// pass lets time go by, for the store and for everybody.
func (s *stage) pass(d time.Duration) int64 {
	redistest.Advance(s.t, s.mini, d)
	s.now += d
	return int64(s.now)
}

// step is a moment later than everything before.
func (s *stage) step() int64 { return s.pass(time.Millisecond) }

func (s *stage) sends(who string) {
	s.attempts[who] = &Attempt{Key: "key", Request: who, Sent: s.step()}
	s.order = append(s.order, who)
}

func (s *stage) enters(who string) { s.runs[who] = entry{began: s.step()} }

// returns ends a handler with what it has done.
func (s *stage) returns(who string, to phase) {
	e := s.runs[who]
	e.ended, e.to = s.step(), to
	s.runs[who] = e
}

// hears is the answer, of the run whose answer it is.
func (s *stage) hears(who, verdict, run string) {
	a := s.attempts[who]
	a.Verdict, a.Run, a.Heard = verdict, run, s.step()
}

func (s *stage) judge() error {
	var attempts []Attempt
	for _, who := range s.order {
		attempts = append(attempts, *s.attempts[who])
	}
	events, err := history(attempts, s.runs)
	if err != nil {
		s.t.Fatal(err)
	}
	return legal(events, stageLease)
}

// The wrong schemes, each beside the same scheme put right: the judge must find
// out the one and let the other pass.
func TestControls_WrongSchemesAreFoundOut(t *testing.T) {
	for _, control := range []struct {
		scheme string
		play   func(s *stage, right bool)
	}{
		{"a release that does not ask whose the claim is", releases},
		{"a mark before the run", marks},
		{"INCR under a millisecond's stamp", counts},
	} {
		t.Run(control.scheme, func(t *testing.T) {
			for _, right := range []bool{false, true} {
				s := newStage(t)
				control.play(s, right)
				err := s.judge()
				if right && err != nil {
					t.Errorf("put right it is still found illegal: %v", err)
				}
				if !right && !errors.Is(err, errIllegal) {
					t.Errorf("judged %v, want that no order is legal", err)
				}
			}
		})
	}
}

// Given A whose lease ran out and B who took over, when A refuses and releases,
// then B's claim is gone under his running handler, and C runs beside him.
func releases(s *stage, right bool) {
	claim := func(who string) (won bool) {
		s.sends(who)
		won = s.do("SET", "key", who, "NX", "PX", "1000") == "+OK"
		if won {
			s.enters(who)
		}
		return won
	}
	claim("A")
	s.pass(stageLease)
	claim("B")
	s.returns("A", free)
	if ours := s.do("GET", "key") == "$1\r\nA"; ours || !right {
		s.do("DEL", "key")
		s.hears("A", "released", "A")
	} else {
		s.hears("A", "unprotected", "A")
	}
	ran := claim("C")
	s.returns("B", done)
	s.do("SET", "key", "done B")
	s.hears("B", "executed", "B")
	if !ran {
		s.hears("C", "in-flight", "")
		return
	}
	s.returns("C", done)
	s.do("SET", "key", "done C")
	s.hears("C", "executed", "C")
}

// Given A whose process dies in the handler, when the key was marked as done
// before that, then B is told of an outcome that never was.
func marks(s *stage, right bool) {
	s.sends("A")
	if right {
		s.do("SET", "key", "running A", "NX", "PX", "1000")
	} else {
		s.do("SET", "key", "done A", "NX")
	}
	s.enters("A")
	s.sends("B")
	if s.do("GET", "key") == "$6\r\ndone A" {
		s.hears("B", "replayed", "A")
		return
	}
	s.hears("B", "in-flight", "")
}

// Given A and B a few milliseconds apart, when the counter's name holds the
// millisecond, then each is the first of its own and both run.
func counts(s *stage, right bool) {
	count := func(who string) (first bool) {
		s.sends(who)
		name := "key"
		if !right {
			name += ":" + s.now.String()
		}
		if first = s.do("INCR", name) == ":1"; first {
			s.enters(who)
		}
		return first
	}
	count("A")
	both := count("B")
	s.returns("A", done)
	s.hears("A", "executed", "A")
	if !both {
		s.hears("B", "in-flight", "")
		return
	}
	s.returns("B", done)
	s.hears("B", "executed", "B")
}
