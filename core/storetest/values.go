package storetest

import (
	"bytes"
	"math/rand/v2"
	"strings"
)

var valueStatements = []statement{
	{says: "values are bytes of any kind", holds: func(s *scene) {
		for i, v := range oddValues() {
			name := "n" + string(rune('a'+i))
			sp := s.created(name, v, 10*s.unit)
			s.finds(name, v, sp)
			s.loses(s.there, name, []byte("x"), v, sp)
			_, sp = s.swap(s.there, name, v, append([]byte("after "), v...), 10*s.unit)
			s.finds(name, append([]byte("after "), v...), sp)
			_, sp = s.swap(s.here, name, append([]byte("after "), v...), v, 10*s.unit)
			s.finds(name, v, sp)
		}
	}},
	{says: "an empty value is a value, not nothing", holds: func(s *scene) {
		sp := s.created("a", []byte{}, 10*s.unit)
		s.finds("a", []byte{}, sp)
		s.loses(s.there, "a", []byte("x"), []byte{}, sp)
		sp = s.created("b", nil, 10*s.unit)
		s.finds("b", []byte{}, sp)
	}},
	{says: "a value of a mebibyte comes back whole", holds: func(s *scene) {
		v := noise(min(1<<20, s.maxValue()))
		sp := s.created("a", v, 100*s.unit)
		s.finds("a", v, sp)
		w := noise(len(v))
		w[0] ^= v[0] ^ 0xff // another one in any case
		before := s.moment()
		r, _ := s.swap(s.there, "a", w, []byte("x"), 100*s.unit)
		s.isTold(r, v, sp, before, s.moment())
		r, sp = s.swap(s.there, "a", v, w, 100*s.unit)
		if !r.Done {
			s.errorf("Swap from the whole value: %s, want Done", result(r))
		}
		s.finds("a", w, sp)
	}},
	{says: "the largest value described is taken, a longer one is an error and changes nothing", holds: func(s *scene) {
		ctx, cancel := callContext()
		defer cancel()
		largest := noise(s.maxValue())
		longer := append(bytes.Clone(largest), 'x')
		if r, err := s.here.Create(ctx, "a", longer, 100*s.unit); err == nil {
			s.errorf("Create of one byte more: %s, want an error", result(r))
		}
		s.findsNothing("a")
		sp := s.created("a", []byte("short"), 100*s.unit)
		if r, err := s.here.Swap(ctx, "a", []byte("short"), longer, 100*s.unit); err == nil {
			s.errorf("Swap to one byte more: %s, want an error", result(r))
		}
		s.finds("a", []byte("short"), sp)
		_, sp = s.swap(s.here, "a", []byte("short"), largest, 100*s.unit)
		s.finds("a", largest, sp)
		sp = s.created("b", largest, 100*s.unit)
		s.finds("b", largest, sp)
	}},
	{says: "slices handed in are not kept and not changed", holds: func(s *scene) {
		value := []byte("as it was when it was handed in")
		kept := bytes.Clone(value)
		sp := s.created("a", value, 100*s.unit)
		s.unchanged("Create", value, kept)
		scribble(value)
		s.finds("a", kept, sp)

		old, next := bytes.Clone(kept), []byte("what comes after it")
		keptNext := bytes.Clone(next)
		_, sp = s.swap(s.here, "a", old, next, 100*s.unit)
		s.unchanged("Swap", old, kept)
		s.unchanged("Swap", next, keptNext)
		scribble(old)
		scribble(next)
		s.finds("a", keptNext, sp)
	}},
	{says: "slices handed out belong to the caller", holds: func(s *scene) {
		want := []byte("as it is in the store")
		sp := s.created("a", want, 100*s.unit)
		r, _, _ := s.load(s.here, "a")
		scribble(r.Value)
		_ = append(r.Value, "and beyond"...)
		s.finds("a", want, sp)
		r, _ = s.create(s.here, "a", []byte("x"), s.unit)
		scribble(r.Value)
		r, _ = s.swap(s.here, "a", []byte("y"), []byte("x"), s.unit)
		scribble(r.Value)
		s.finds("a", want, sp)
	}},
	{says: "names are up to 200 bytes of printable ASCII", holds: func(s *scene) {
		var printable strings.Builder
		for c := byte(0x20); c < 0x7f; c++ {
			printable.WriteByte(c)
		}
		names := []string{
			printable.String(), strings.Repeat("n", 200), strings.Repeat("n", 199), "n", " ", "  ", "*", "?", "n*",
			"idem:shop:order:create:abcdefghijklmnopqrstuvwxyz", "IDEM:shop:order:create:abcdefghijklmnopqrstuvwxyz",
			"{a}b", "{a}c", `'; DROP TABLE x; --`, `"quoted"`, `back\slash`, "$-1", "%s%d%n", "../up", "a/b", "a%2Fb",
		}
		for _, n := range names {
			sp := s.created(n, []byte("value of "+n), 100*s.unit)
			s.finds(n, []byte("value of "+n), sp)
		}
		for _, n := range names {
			r, _ := s.swap(s.there, n, []byte("value of "+n), []byte("swapped "+n), 100*s.unit)
			if !r.Done {
				s.errorf("Swap under the name %q: %s, want Done", n, result(r))
			}
		}
		for _, n := range names {
			if r, _, _ := s.load(s.here, n); !bytes.Equal(r.Value, []byte("swapped "+n)) {
				s.errorf("under the name %q there is %s", n, result(r))
			}
		}
	}},
}

// oddValues are values that a text decoder, a line protocol or a C string on the
// way would not bring back.
func oddValues() [][]byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return [][]byte{
		all, {0}, {0, 0, 0}, []byte("\r\n"), []byte("$-1\r\n"), []byte("*2\r\n$1\r\na\r\n:-2\r\n"), []byte("-ERR no\r\n"),
		{0xff, 0xfe, 0x00, 0x01}, []byte("\xc3\x28 not text"), []byte("ends in a space "), []byte(" "), []byte("\n"),
		noise(44), noise(4096), noise(70_000),
	}
}

// noise is a value of n bytes that no codec shortens and no test repeats by
// accident; its content depends on n alone.
func noise(n int) []byte {
	v := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16)}).Read(v)
	return v
}

func scribble(v []byte) {
	for i := range v {
		v[i] = '#'
	}
}

func (s *scene) unchanged(call string, got, want []byte) {
	if !bytes.Equal(got, want) {
		s.errorf("%s changed the slice it was handed: %s, was %s", call, show(got), show(want))
	}
}
