package idem

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"sync"
)

// maxJSONDepth is how deep containers may be nested in a body compared by
// content. It bounds the stack, and the work of putting members in order, which
// is one more copy of a value for each level above it.
const maxJSONDepth = 64

// canonicalizer rewrites a body into its canonical encoding. Scratch is kept
// between uses; one goroutine at a time.
type canonicalizer struct {
	src  []byte
	pos  int
	out  []byte
	plan *fingerprintPlan

	members []member // of the objects being read, innermost last; or pairs of a form
	text    []byte   // a string being unescaped; or the text of a form
	swap    []byte   // an object whose members are being put in order
	picked  []byte   // values of the members that Only names
	picks   []pick
}

// member is a member of an object in out, or a pair of a form in text: a name
// and what follows it.
type member struct {
	start, name, value, end int // the name itself is [name:value]
	drop                    bool
}

// pick is the value of a chosen member in picked.
type pick struct{ place, start, end int }

var canonicalizers = sync.Pool{New: func() any { return &canonicalizer{} }}

// appendCanonical appends the canonical encoding of a JSON body or a form. It
// reports false, and what it appended means nothing, where the body has none:
// then it is compared raw.
func appendCanonical(dst []byte, kind bodyKind, body []byte, plan *fingerprintPlan) ([]byte, bool) {
	c := canonicalizers.Get().(*canonicalizer)
	c.src, c.pos, c.out, c.plan = body, 0, dst, plan
	c.members, c.picked, c.picks = c.members[:0], c.picked[:0], c.picks[:0]
	var ok bool
	if kind == bodyJSON {
		ok = c.document()
	} else {
		ok = c.form()
	}
	dst = c.out
	c.src, c.out, c.plan = nil, nil, nil
	if cap(c.swap)+cap(c.text)+cap(c.picked) <= maxPooledScratch && cap(c.members) <= maxPooledScratch/64 {
		canonicalizers.Put(c)
	}
	return dst, ok
}

// document reads one JSON text (RFC 8259) and writes
//
//	null n   true t   false f   number # framed literal   string " framed text
//	array  [ value… ]           object { (framed name, value)… by name }
//
// Each encoding says where it ends, so different documents never share one.
// Numbers are kept as written: 1.0 is not 1, and no digit is lost to a float.
// Strings count by value, however they were escaped. A document that readers
// disagree about has no canonical form: one with two members of one name, with
// text that is not UTF-8 or with half a surrogate pair.
func (c *canonicalizer) document() bool {
	start := len(c.out)
	c.space()
	if !c.value(c.plan.tree, 0) {
		return false
	}
	c.space()
	if c.pos != len(c.src) {
		return false
	}
	if len(c.picks) > 0 {
		c.out = c.appendPicks(c.out[:start])
	}
	return true
}

// appendPicks writes what Only chose: for each entry found, its place in the
// list and its value.
func (c *canonicalizer) appendPicks(dst []byte) []byte {
	slices.SortFunc(c.picks, func(a, b pick) int { return a.place - b.place })
	dst = append(dst, '*') // begins no value
	for _, p := range c.picks {
		dst = binary.AppendUvarint(dst, uint64(p.place))
		dst = append(dst, c.picked[p.start:p.end]...)
	}
	return dst
}

// value reads one value, around which white space was skipped; tree is what is
// chosen at or below it.
func (c *canonicalizer) value(tree *fieldTree, depth int) bool {
	if c.pos == len(c.src) {
		return false
	}
	start := len(c.out)
	ok := false
	switch b := c.src[c.pos]; {
	case b == '"':
		c.out = append(c.out, '"')
		ok = c.str()
	case b == '{':
		ok = depth < maxJSONDepth && c.object(tree, depth+1)
	case b == '[':
		ok = depth < maxJSONDepth && c.array(tree, depth+1)
	case b == '-' || isDigit(b):
		ok = c.number()
	case b == 't':
		ok = c.literal("true")
	case b == 'f':
		ok = c.literal("false")
	case b == 'n':
		ok = c.literal("null")
	}
	if ok && c.plan.only && tree.isChosen() {
		at := len(c.picked)
		c.picked = append(c.picked, c.out[start:]...)
		c.picks = append(c.picks, pick{tree.place, at, len(c.picked)})
	}
	return ok
}

func (c *canonicalizer) object(tree *fieldTree, depth int) bool {
	c.pos++
	c.out = append(c.out, '{')
	first, base := len(c.members), len(c.out)
	tidy := true // in order, and nothing to be left out
	for c.space(); !c.skip('}'); c.space() {
		if len(c.members) > first {
			if !c.skip(',') {
				return false
			}
			c.space()
		}
		m := member{start: len(c.out)}
		if c.pos == len(c.src) || c.src[c.pos] != '"' || !c.str() {
			return false
		}
		m.value = len(c.out)
		m.name = m.start + frameLength(c.out[m.start:])
		name := c.out[m.name:m.value]
		below := tree.at(name)
		m.drop = depth == 1 && string(name) == TokenMember || below.isChosen() && !c.plan.only
		tidy = tidy && !m.drop && (len(c.members) == first || bytes.Compare(c.nameOf(len(c.members)-1), name) < 0)
		c.space()
		if !c.skip(':') {
			return false
		}
		c.space()
		if !c.value(below, depth) {
			return false
		}
		m.end = len(c.out)
		c.members = append(c.members, m)
	}
	if !tidy && !c.arrange(first, base) {
		return false
	}
	c.members = c.members[:first]
	c.out = append(c.out, '}')
	return true
}

// nameOf returns the name of a member that is still in out.
func (c *canonicalizer) nameOf(i int) []byte {
	return c.out[c.members[i].name:c.members[i].value]
}

// arrange puts the members from first on in order and leaves out those to be
// dropped. It reports false where two share a name.
func (c *canonicalizer) arrange(first, base int) bool {
	list := c.members[first:]
	c.swap = append(c.swap[:0], c.out[base:]...)
	name := func(m member) []byte { return c.swap[m.name-base : m.value-base] }
	slices.SortFunc(list, func(a, b member) int { return bytes.Compare(name(a), name(b)) })
	c.out = c.out[:base]
	for i, m := range list {
		if i > 0 && bytes.Equal(name(list[i-1]), name(m)) {
			return false
		}
		if !m.drop {
			c.out = append(c.out, c.swap[m.start-base:m.end-base]...)
		}
	}
	return true
}

func (c *canonicalizer) array(tree *fieldTree, depth int) bool {
	c.pos++
	c.out = append(c.out, '[')
	c.space()
	for i := 0; !c.skip(']'); i++ {
		if i > 0 {
			if !c.skip(',') {
				return false
			}
			c.space()
		}
		start := len(c.out)
		var below *fieldTree
		if tree != nil {
			var digits [20]byte
			below = tree.at(strconv.AppendInt(digits[:0], int64(i), 10))
		}
		if !c.value(below, depth) {
			return false
		}
		if below.isChosen() && !c.plan.only {
			c.out = append(c.out[:start], '-') // it is there, whatever it is
		}
		c.space()
	}
	c.out = append(c.out, ']')
	return true
}
