package idem

import (
	"bytes"
	"slices"
)

// maxDirect is the longest body, in bytes, that is written while it is read.
// Members that come out of order are moved once for each container around them,
// which costs nothing while the body lies in a cache.
const maxDirect = 16 << 10

// member is one that direct has written: where it begins, its name and its end.
type member struct{ begin, name, nameEnd, end int }

// direct appends the canonical encoding of the value that begins here while it
// reads it. It is what value and appendValue do together, for a document that is
// compared as a whole, without a tree in between.
func (t *jsonTree) direct(dst []byte, depth int) ([]byte, bool) {
	if t.pos == len(t.src) {
		return dst, false
	}
	switch b := t.src[t.pos]; {
	case b == '{':
		return t.directObject(dst, depth)
	case b == '[':
		return t.directArray(dst, depth)
	case b == '"':
		dst, _, ok := t.directString(dst)
		return dst, ok
	case b == '-' || isDigit(b):
		begin := t.pos
		ok := t.number()
		if n := t.pos - begin; n < 0x80 {
			return append(append(dst, '#', byte(n)), t.src[begin:t.pos]...), ok
		}
		return appendFramed(append(dst, '#'), t.src[begin:t.pos]), ok
	default:
		return append(dst, b), t.word()
	}
}

// directString also tells how long the text is. A short one that stands for itself,
// as nearly all do, is copied at once.
func (t *jsonTree) directString(dst []byte) (out []byte, size int, ok bool) {
	src, start := t.src, t.pos+1
	i := start
	for i < len(src) && plainText[src[i]] {
		i++
	}
	if i < len(src) && src[i] == '"' && i-start < 0x80 {
		t.pos = i + 1
		return append(append(dst, '"', byte(i-start)), src[start:i]...), i - start, true
	}
	from, end, inText, ok := t.str()
	text := t.src
	if inText {
		text, t.text = t.text, t.text[:0]
	}
	return appendFramed(append(dst, '"'), text[from:end]), int(end - from), ok
}

func (t *jsonTree) directArray(dst []byte, depth int) ([]byte, bool) {
	if depth == maxJSONDepth {
		return dst, false
	}
	dst = append(dst, '[')
	t.pos++
	t.space()
	for first := true; !t.skip(']'); first = false {
		if !first {
			if !t.skip(',') {
				return dst, false
			}
			t.space()
		}
		var ok bool
		if dst, ok = t.direct(dst, depth+1); !ok {
			return dst, false
		}
		t.space()
	}
	return append(dst, ']'), true
}

func (t *jsonTree) directObject(dst []byte, depth int) ([]byte, bool) {
	if depth == maxJSONDepth {
		return dst, false
	}
	dst = append(dst, '{')
	t.pos++
	before, inOrder, first, token := len(t.members), true, true, false
	for t.space(); !t.skip('}'); t.space() {
		if !first && !t.skip(',') {
			return dst, false
		}
		first = false
		t.space()
		if t.pos == len(t.src) || t.src[t.pos] != '"' {
			return dst, false
		}
		m := member{begin: len(dst)}
		var ok bool
		if dst, m.name, ok = t.directString(dst); !ok {
			return dst, false
		}
		m.nameEnd = len(dst)
		m.name = m.nameEnd - m.name
		t.space()
		if !t.skip(':') {
			return dst, false
		}
		t.space()
		if dst, ok = t.direct(dst, depth+1); !ok {
			return dst, false
		}
		if depth == 0 && string(dst[m.name:m.nameEnd]) == TokenMember {
			if token {
				return dst, false
			}
			dst, token = dst[:m.begin], true
			continue
		}
		m.end = len(dst)
		if n := len(t.members); inOrder && n > before {
			last := &t.members[n-1]
			inOrder = bytes.Compare(dst[last.name:last.nameEnd], dst[m.name:m.nameEnd]) < 0
		}
		t.members = append(t.members, m)
	}
	members := t.members[before:]
	t.members = t.members[:before]
	if !inOrder && !t.inOrder(dst, members) {
		return dst, false
	}
	return append(dst, '}'), true
}

// inOrder puts members, which dst ends with, in the order of their names. Two of
// one name are refused.
func (t *jsonTree) inOrder(dst []byte, members []member) bool {
	begin := members[0].begin
	compare := func(a, b member) int { return bytes.Compare(dst[a.name:a.nameEnd], dst[b.name:b.nameEnd]) }
	if len(members) == 2 { // they are the other way round, or of one name
		members[0], members[1] = members[1], members[0]
	} else {
		slices.SortFunc(members, compare)
	}
	t.moved = t.moved[:0]
	for i := range members {
		m := &members[i]
		if i > 0 && bytes.Equal(dst[members[i-1].name:members[i-1].nameEnd], dst[m.name:m.nameEnd]) {
			return false
		}
		t.moved = append(t.moved, dst[m.begin:m.end]...)
	}
	copy(dst[begin:], t.moved)
	return true
}
