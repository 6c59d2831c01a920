package idem

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"sync"
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

var jsonTrees = sync.Pool{New: func() any { return &jsonTree{} }}

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
func appendJSON(dst, body []byte, plan *fingerprintPlan) ([]byte, bool) {
	t := jsonTrees.Get().(*jsonTree)
	t.src, t.pos = body, 0
	t.text, t.nodes, t.order = t.text[:0], t.nodes[:0], t.order[:0]
	t.space()
	_, ok := t.value(0)
	if t.space(); ok && t.pos == len(body) {
		dst = t.appendDocument(dst, plan)
	} else {
		ok = false
	}
	t.src = nil
	if cap(t.text) <= maxPooledScratch && cap(t.nodes) <= maxPooledScratch/32 {
		jsonTrees.Put(t)
	}
	return dst, ok
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

// appendDocument writes what the plan compares of the document.
func (t *jsonTree) appendDocument(dst []byte, plan *fingerprintPlan) []byte {
	if !plan.only {
		return t.append(dst, 0, plan.tree, true)
	}
	t.picks = t.picks[:0]
	t.pick(0, plan.tree)
	if len(t.picks) == 0 {
		return t.append(dst, 0, nil, true)
	}
	// Each value behind its place in the list, which tells what it is. They were
	// met by name and index, an order that no spelling of the document changes.
	dst = append(dst, '*') // begins no value
	for _, p := range t.picks {
		dst = binary.AppendUvarint(dst, uint64(p.place))
		dst = t.append(dst, p.node, nil, false)
	}
	return dst
}

// append writes a value. Members at or below it that tree names are left out,
// and so is, of the whole document, the token.
func (t *jsonTree) append(dst []byte, node uint32, tree *fieldTree, whole bool) []byte {
	n := &t.nodes[node]
	dst = append(dst, n.kind)
	switch n.kind {
	case '"', '#':
		if n.inText {
			return appendFramed(dst, t.text[n.start:n.end])
		}
		return appendFramed(dst, t.src[n.start:n.end])
	case '{':
		for m := n.start; m != 0; m = t.nodes[m].next {
			name := t.name(m)
			below := tree.at(name)
			if below.isChosen() || whole && string(name) == TokenMember {
				continue
			}
			dst = appendFramed(append(dst, '"'), name)
			dst = t.append(dst, m, below, false)
		}
		return append(dst, '}')
	case '[':
		i := 0
		for e := n.start; e != 0; e = t.nodes[e].next {
			below := tree.element(i)
			if below.isChosen() {
				dst = append(dst, '-') // something is there, whatever it is
			} else {
				dst = t.append(dst, e, below, false)
			}
			i++
		}
		return append(dst, ']')
	}
	return dst // null, true and false are their tags
}

// pick collects the values at or below node that tree names.
func (t *jsonTree) pick(node uint32, tree *fieldTree) {
	n := &t.nodes[node]
	switch {
	case tree == nil:
	case tree.chosen:
		t.picks = append(t.picks, pick{tree.place, node})
	case n.kind == '{':
		for m := n.start; m != 0; m = t.nodes[m].next {
			t.pick(m, tree.at(t.name(m)))
		}
	case n.kind == '[':
		i := 0
		for e := n.start; e != 0; e = t.nodes[e].next {
			t.pick(e, tree.element(i))
			i++
		}
	}
}

// at returns what is chosen at or below a member, nil for nothing.
func (f *fieldTree) at(name []byte) *fieldTree {
	if f == nil {
		return nil
	}
	return f.next[string(name)]
}

// element returns what is chosen at or below an element, nil for nothing.
func (f *fieldTree) element(i int) *fieldTree {
	if f == nil {
		return nil
	}
	return f.next[strconv.Itoa(i)]
}

// isChosen is chosen, of a tree that may be nil.
func (f *fieldTree) isChosen() bool { return f != nil && f.chosen }
