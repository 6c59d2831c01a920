package storetest

import (
	"bytes"

	idem "github.com/go-idem/idem/core"
)

var createStatements = []statement{
	{says: "Create on an empty name stores the value and says Done", holds: func(s *scene) {
		sp := s.created("a", []byte("first"), s.unit)
		s.finds("a", []byte("first"), sp)
		s.findsNothing("b")
	}},
	{says: "Create on a taken name changes nothing and returns what is there", holds: func(s *scene) {
		sp := s.created("a", []byte("first"), 4*s.unit)
		s.pass(s.unit)
		s.loses(s.there, "a", []byte("second"), []byte("first"), sp)
		s.finds("a", []byte("first"), sp)
	}},
	{says: "Create of an equal value is not Done either and leaves the time to live", holds: func(s *scene) {
		sp := s.created("a", []byte("mine"), 4*s.unit)
		s.pass(s.unit)
		s.loses(s.here, "a", []byte("mine"), []byte("mine"), sp)
		s.loses(s.there, "a", []byte("mine"), []byte("mine"), sp)
		s.finds("a", []byte("mine"), sp)
	}},
	{says: "Create where a value has expired stores anew", holds: func(s *scene) {
		sp := s.created("a", []byte("old"), s.unit)
		s.gone("a", sp)
		sp = s.created("a", []byte("new"), s.unit)
		s.finds("a", []byte("new"), sp)
	}},
}

// loses says that a Create of value finds there what is there.
func (s *scene) loses(h idem.Store, name string, value, there []byte, sp span) {
	before := s.moment()
	r, _ := s.create(h, name, value, 100*s.unit)
	after := s.moment()
	s.isTold(r, there, sp, before, after)
}

// isTold says that a call was refused, with what is there. A time left is
// optional here, but if it is told it has to be right.
func (s *scene) isTold(r idem.Result, there []byte, sp span, before, after moment) {
	if r.Done || r.Value == nil || !bytes.Equal(r.Value, there) {
		s.overIfLate(sp, after)
		s.errorf("got %s, want to be told of %s", result(r), show(there))
	}
	if r.Left != 0 {
		s.leftIs(r.Left, sp, before, after)
	}
}
