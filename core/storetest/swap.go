package storetest

import (
	"bytes"
)

var swapStatements = []statement{
	{says: "Swap from exactly what is there stores the value and says Done", holds: func(s *scene) {
		sp := s.created("a", []byte("one"), s.unit)
		sp = s.swapped(s.there, "a", sp, []byte("one"), []byte("two"), 2*s.unit)
		s.finds("a", []byte("two"), sp)
	}},
	{says: "Swap sets the time to live from now", holds: func(s *scene) {
		sp := s.created("a", []byte("one"), 100*s.unit)
		s.pass(s.unit)
		sp = s.swapped(s.here, "a", sp, []byte("one"), []byte("two"), 3*s.unit)
		s.finds("a", []byte("two"), sp)
		s.pass(s.unit)
		sp = s.swapped(s.here, "a", sp, []byte("two"), []byte("three"), 50*s.unit)
		s.finds("a", []byte("three"), sp)
	}},
	{says: "Swap from anything else changes nothing and returns what is there", holds: func(s *scene) {
		value := []byte("the value")
		sp := s.created("a", value, 4*s.unit)
		s.pass(s.unit)
		for _, old := range [][]byte{
			[]byte("the valu"), []byte("the value "), []byte("the valuE"), []byte("xhe value"),
			[]byte("the value\x00"), bytes.Repeat(value, 2), {0}, {}, nil,
		} {
			before := s.moment()
			r, _ := s.swap(s.there, "a", old, []byte("other"), 100*s.unit)
			s.isTold(r, value, sp, before, s.moment())
		}
		s.finds("a", value, sp)
	}},
	{says: "Swap on nothing does nothing and returns a zero Result", holds: func(s *scene) {
		for _, old := range [][]byte{[]byte("old"), {}, nil} {
			if r, _ := s.swap(s.here, "a", old, []byte("new"), s.unit); r.Done || r.Value != nil || r.Left != 0 {
				s.errorf("got %s, want the zero Result", result(r))
			}
			s.findsNothing("a")
		}
	}},
	{says: "Swap that finds its own value there is Done and leaves the time to live", holds: func(s *scene) {
		sp := s.created("a", []byte("one"), s.unit)
		sp = s.swapped(s.here, "a", sp, []byte("one"), []byte("two"), 4*s.unit)
		s.pass(s.unit)
		for _, old := range [][]byte{[]byte("one"), []byte("never there"), {}} {
			s.swapped(s.there, "a", sp, old, []byte("two"), 100*s.unit)
		}
		s.finds("a", []byte("two"), sp)
	}},
	{says: "Swap from an empty value needs an empty value there", holds: func(s *scene) {
		sp := s.created("a", []byte{}, s.unit)
		sp = s.swapped(s.there, "a", sp, []byte{}, []byte("full"), 2*s.unit)
		s.finds("a", []byte("full"), sp)
	}},
	{says: "Swap where the value has expired finds nothing", holds: func(s *scene) {
		sp := s.created("a", []byte("one"), s.unit)
		s.gone("a", sp)
		if r, _ := s.swap(s.here, "a", []byte("one"), []byte("two"), s.unit); r.Done || r.Value != nil || r.Left != 0 {
			s.errorf("got %s, want the zero Result", result(r))
		}
		s.findsNothing("a")
	}},
	{says: "Swap keeps other names out of it", holds: func(s *scene) {
		sp := s.created("a:1", []byte("one"), 2*s.unit)
		s.created("a", []byte("one"), 2*s.unit)
		s.swap(s.here, "a", []byte("one"), []byte("two"), s.unit)
		s.finds("a:1", []byte("one"), sp)
	}},
}
