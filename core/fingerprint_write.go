package idem

import (
	"encoding/binary"
	"strconv"
)

// appendDocument writes what the plan compares of the document.
func (t *jsonTree) appendDocument(dst []byte, plan *fingerprintPlan) []byte {
	if !plan.only {
		return t.appendValue(dst, 0, plan.tree, true)
	}
	t.picks = t.picks[:0]
	t.pick(0, plan.tree)
	if len(t.picks) == 0 {
		return t.appendValue(dst, 0, nil, true)
	}
	// Each value behind its place in the list, which tells what it is. They were
	// met by name and index, an order that no spelling of the document changes.
	dst = append(dst, '*') // begins no value
	for _, p := range t.picks {
		dst = binary.AppendUvarint(dst, uint64(p.place))
		dst = t.appendValue(dst, p.node, nil, false)
	}
	return dst
}

// appendValue writes a value. Members at or below it that tree names are left out,
// and so is, of the whole document, the token.
func (t *jsonTree) appendValue(dst []byte, node uint32, tree *fieldTree, whole bool) []byte {
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
			dst = t.appendValue(dst, m, below, false)
		}
		return append(dst, '}')
	case '[':
		i := 0
		for e := n.start; e != 0; e = t.nodes[e].next {
			below := tree.element(i)
			if below.isChosen() {
				dst = append(dst, '-') // something is there, whatever it is
			} else {
				dst = t.appendValue(dst, e, below, false)
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
