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

// room is the most that direct writes for a body. What grows is a list of numbers of
// one digit: two bytes of the body make three.
func room(body []byte) int { return 2*len(body) + 8 }

// direct writes the canonical encoding of the value that begins at the given place of
// src while it reads it. It is what value and appendValue do together, for a document
// that is compared as a whole, without a tree in between. What was written before end
// stays; there is room for what comes. It returns where dst ends then and the place in
// src behind the value, below zero where there is no such value. Both are handed on
// and not kept in t: the next step would wait for them to be written.
func (t *jsonTree) direct(dst []byte, end, at, depth int) (int, int) {
	if at >= len(t.src) {
		return end, -1
	}
	switch b := t.src[at]; {
	case b == '"':
		end, _, at = t.directString(dst, end, at)
		return end, at
	case b == '{' && depth < maxJSONDepth:
		dst[end] = '{'
		return t.directObject(dst, end+1, at+1, depth)
	case b == '[' && depth < maxJSONDepth:
		dst[end] = '['
		return t.directArray(dst, end+1, at+1, depth)
	case b == '-' || isDigit(b):
		return t.directNumber(dst, end, at)
	default:
		t.pos = at
		if !t.word() {
			return end, -1
		}
		dst[end] = b
		return end + 1, t.pos
	}
}

// directNumber goes over a short whole number at once, as nearly all are.
func (t *jsonTree) directNumber(dst []byte, end, at int) (int, int) {
	from, to := beside(t.src[at:], dst[end+2:])
	n := 0
	if t.src[at] >= '1' {
		for ; n < len(from) && isDigit(from[n]); n++ {
			to[n] = from[n]
		}
	}
	next := at + n
	if n > 0 && n < 0x80 && (next == len(t.src) || t.src[next] != '.' && t.src[next]|0x20 != 'e') {
		dst[end], dst[end+1] = '#', byte(n)
		return end + 2 + n, next
	}
	t.pos = at
	if !t.number() {
		return end, -1
	}
	return len(appendFramed(append(dst[:end], '#'), t.src[at:t.pos])), t.pos
}

// directString also tells how long the text is. A short one that stands for itself,
// as nearly all do, is copied while it is looked at.
func (t *jsonTree) directString(dst []byte, end, at int) (ends, size, next int) {
	from, to := beside(t.src[at+1:], dst[end+2:])
	n := 0
	for ; n < len(from) && plainText[from[n]]; n++ {
		to[n] = from[n]
	}
	if n < 0x80 && n < len(from) && from[n] == '"' {
		dst[end], dst[end+1] = '"', byte(n)
		return end + 2 + n, n, at + n + 2
	}
	return t.directText(dst, end, at)
}

// directText is directString for any string.
func (t *jsonTree) directText(dst []byte, end, at int) (ends, size, next int) {
	t.pos = at
	from, until, inText, ok := t.str()
	if !ok {
		return end, 0, -1
	}
	text := t.src
	if inText {
		text, t.text = t.text, t.text[:0]
	}
	return len(appendFramed(append(dst[:end], '"'), text[from:until])), int(until - from), t.pos
}

// beside cuts the longer of two slices to the length of the other, so that one place
// is good for both.
func beside(a, b []byte) ([]byte, []byte) {
	n := min(len(a), len(b))
	return a[:n], b[:n]
}

// after is the place of what comes next, white space passed over, and that byte: 0
// at the end.
func (t *jsonTree) after(at int) (int, byte) {
	if at < len(t.src) && t.src[at] > ' ' {
		return at, t.src[at]
	}
	return t.afterSpace(at)
}

func (t *jsonTree) afterSpace(at int) (int, byte) {
	for ; at < len(t.src); at++ {
		if b := t.src[at]; b != ' ' && b != '\t' && b != '\n' && b != '\r' {
			return at, b
		}
	}
	return at, 0
}

func (t *jsonTree) directArray(dst []byte, end, at, depth int) (int, int) {
	at, b := t.after(at)
	for first := true; b != ']'; first = false {
		if !first {
			if b != ',' {
				return end, -1
			}
			at, _ = t.after(at + 1)
		}
		if end, at = t.direct(dst, end, at, depth+1); at < 0 {
			return end, -1
		}
		at, b = t.after(at)
	}
	dst[end] = ']'
	return end + 1, at + 1
}

func (t *jsonTree) directObject(dst []byte, end, at, depth int) (int, int) {
	outer, inOrder, token := len(t.members), true, false
	at, b := t.after(at)
	for first := true; b != '}'; first = false {
		if !first {
			if b != ',' {
				return end, -1
			}
			at, b = t.after(at + 1)
		}
		if b != '"' {
			return end, -1
		}
		m := member{begin: end}
		var size int
		if m.nameEnd, size, at = t.directString(dst, end, at); at < 0 {
			return end, -1
		}
		m.name = m.nameEnd - size
		if at, b = t.after(at); b != ':' {
			return end, -1
		}
		at, _ = t.after(at + 1)
		if m.end, at = t.direct(dst, m.nameEnd, at, depth+1); at < 0 {
			return end, -1
		}
		at, b = t.after(at)
		if depth == 0 && string(dst[m.name:m.nameEnd]) == TokenMember {
			if token {
				return end, -1
			}
			token = true
			continue
		}
		end = m.end
		if n := len(t.members); inOrder && n > outer {
			last := &t.members[n-1]
			inOrder = before(dst[last.name:last.nameEnd], dst[m.name:m.nameEnd])
		}
		t.members = append(t.members, m)
	}
	members := t.members[outer:]
	t.members = t.members[:outer]
	if !inOrder && !t.inOrder(dst[:end], members) {
		return end, -1
	}
	dst[end] = '}'
	return end + 1, at + 1
}

// before is bytes.Compare(a, b) < 0, which the first byte decides as a rule.
func before(a, b []byte) bool {
	if len(a) > 0 && len(b) > 0 && a[0] != b[0] {
		return a[0] < b[0]
	}
	return bytes.Compare(a, b) < 0
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
