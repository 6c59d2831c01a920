package idem

import (
	"bytes"
	"slices"
)

// maxJSONDepth is how deep containers may be nested in a body compared by
// content. It bounds the stack.
const maxJSONDepth = 64

// jsonTree is a JSON text (RFC 8259) read into a flat tree of nodes, members of
// objects in order. Its memory is kept between uses; one goroutine at a time.
type jsonTree struct {
	src   []byte
	pos   int
	text  []byte // the strings of src that hold escapes or more than ASCII
	nodes []jsonNode
	order []uint32 // members of the objects being read, innermost last
	picks []pick

	members []member // of direct, innermost last
	moved   []byte
}

// jsonNode is a value, and its name where it is a member. Spans are of src, or
// of text where the flag says so. Node 0 is the whole document, which is
// nobody's child, so 0 also means "none".
type jsonNode struct {
	nameStart, nameEnd uint32
	start, end         uint32 // a string's text or a number's literal; start is a container's first child
	next               uint32 // the next child of the same container
	kind               byte   // the tag of the encoding
	nameInText, inText bool
}

// pick is a value that Only names.
type pick struct {
	place int
	node  uint32
}

// appendJSON appends the canonical encoding of a JSON body. It reports false,
// and appends nothing, where the body has none: then it is compared raw.
//
//	null n   true t   false f   number # framed literal   string " framed text
//	array  [ value… ]           object { (" framed name, value)… by name }
//
// Every piece begins with a tag and says where it ends, so different documents
// never share an encoding. Numbers are kept as written: 1.0 is not 1, and no
// digit is lost to a float. Strings count by value, however they were escaped. A
// document that readers disagree about has no canonical form: one with two
// members of one name, with text that is not UTF-8 or with half a surrogate
// pair.
func (t *jsonTree) appendJSON(dst, body []byte, plan *fingerprintPlan) ([]byte, bool) {
	t.src, t.pos = body, 0
	t.text, t.nodes, t.order, t.members = t.text[:0], t.nodes[:0], t.order[:0], t.members[:0]
	if len(body) > maxDirect || plan.tree != nil || plan.only {
		return t.appendTree(dst, body, plan)
	}
	begin := len(dst)
	out := slices.Grow(dst, room(body))
	out = out[:cap(out)]
	at, _ := t.after(0)
	end, at := t.direct(out, begin, at, 0)
	ok := false
	if at >= 0 {
		at, _ = t.after(at)
		ok = at == len(body)
	}
	t.src = nil
	if !ok {
		return dst, false
	}
	return out[:end], true
}

// appendTree is appendJSON by way of the tree.
func (t *jsonTree) appendTree(dst, body []byte, plan *fingerprintPlan) ([]byte, bool) {
	if len(body) > 4<<10 { // growing step by step costs a large body several times its tree
		t.nodes = slices.Grow(t.nodes, mostValues(body))
		dst = slices.Grow(dst, len(body))
	}
	t.space()
	_, ok := t.value(0)
	if t.space(); ok && t.pos == len(body) {
		dst = t.appendDocument(dst, plan)
	} else {
		ok = false
	}
	t.src = nil
	if cap(t.text) > maxPooledScratch || cap(t.nodes) > maxPooledScratch/32 {
		*t = jsonTree{}
	}
	return dst, ok
}

// mostValues is the most values a body can hold: each but the first of its
// container stands behind a comma, and takes two bytes with it.
func mostValues(body []byte) int {
	most := 1 + bytes.Count(body, []byte{','}) + bytes.Count(body, []byte{'{'}) + bytes.Count(body, []byte{'['})
	return min(most, len(body)/2+1)
}

// value reads the value that begins here and returns its node.
func (t *jsonTree) value(depth int) (node uint32, ok bool) {
	if t.pos == len(t.src) {
		return 0, false
	}
	node = uint32(len(t.nodes))
	b := t.src[t.pos]
	switch {
	case b == '{' || b == '[':
		if depth == maxJSONDepth {
			return 0, false
		}
		t.nodes = append(t.nodes, jsonNode{kind: b})
		if b == '{' {
			return node, t.object(node, depth+1)
		}
		return node, t.array(node, depth+1)
	case b == '"':
		n := jsonNode{kind: b}
		n.start, n.end, n.inText, ok = t.str()
		t.nodes = append(t.nodes, n)
		return node, ok
	case b == '-' || isDigit(b):
		n := jsonNode{kind: '#', start: uint32(t.pos)}
		ok = t.number()
		n.end = uint32(t.pos)
		t.nodes = append(t.nodes, n)
		return node, ok
	}
	t.nodes = append(t.nodes, jsonNode{kind: b})
	return node, t.word()
}

// array reads the elements of an array and links them.
func (t *jsonTree) array(array uint32, depth int) bool {
	t.pos++
	t.space()
	last := array
	for !t.skip(']') {
		if last != array {
			if !t.skip(',') {
				return false
			}
			t.space()
		}
		node, ok := t.value(depth)
		if !ok {
			return false
		}
		if last == array {
			t.nodes[array].start = node
		} else {
			t.nodes[last].next = node
		}
		last = node
		t.space()
	}
	return true
}

// object reads the members of an object and links them by name. Two of one name
// are refused.
func (t *jsonTree) object(object uint32, depth int) bool {
	t.pos++
	first := len(t.order)
	for t.space(); !t.skip('}'); t.space() {
		if len(t.order) > first {
			if !t.skip(',') {
				return false
			}
			t.space()
		}
		if t.pos == len(t.src) || t.src[t.pos] != '"' {
			return false
		}
		start, end, inText, ok := t.str()
		if !ok {
			return false
		}
		t.space()
		if !t.skip(':') {
			return false
		}
		t.space()
		node, ok := t.value(depth)
		if !ok {
			return false
		}
		n := &t.nodes[node]
		n.nameStart, n.nameEnd, n.nameInText = start, end, inText
		t.order = append(t.order, node)
	}
	members := t.order[first:]
	t.order = t.order[:first]
	return t.link(object, members)
}

// link puts members in the order of their names.
func (t *jsonTree) link(object uint32, members []uint32) bool {
	const few = 16 // sorting by insertion wins up to here: nearly every object
	if len(members) > few {
		slices.SortFunc(members, func(a, b uint32) int { return bytes.Compare(t.name(a), t.name(b)) })
	}
	for i := 1; i < len(members); i++ {
		node, name := members[i], t.name(members[i])
		for j := i; ; j-- {
			order := 1
			if j > 0 {
				order = bytes.Compare(name, t.name(members[j-1]))
			}
			if order == 0 {
				return false
			}
			if order > 0 {
				members[j] = node
				break
			}
			members[j] = members[j-1]
		}
	}
	before := object
	for _, node := range members {
		if before == object {
			t.nodes[object].start = node
		} else {
			t.nodes[before].next = node
		}
		before = node
	}
	return true
}

func (t *jsonTree) name(node uint32) []byte {
	n := &t.nodes[node]
	if n.nameInText {
		return t.text[n.nameStart:n.nameEnd]
	}
	return t.src[n.nameStart:n.nameEnd]
}
