package idem

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// How a path or query stands in the hashed message.
const (
	readByContent = 'c'
	readRaw       = 'r'
)

// appendPath appends a path with its percent-encoding normalised (RFC 3986
// section 6.2.2): unreserved characters are decoded, hexadecimal is upper case,
// and bytes that should have been encoded are. %2F stays what it is: it does not
// separate segments. A path with a broken escape counts as it stands.
func appendPath(dst []byte, path string) []byte {
	if plainPath(path) {
		return appendFramed(append(dst, readByContent), path)
	}
	c := canonicalizers.Get().(*canonicalizer)
	defer canonicalizers.Put(c)
	if !c.normalPath(path) {
		return appendFramed(append(dst, readRaw), path)
	}
	return appendFramed(append(dst, readByContent), c.text)
}

// plainPath says that a path is normal already, as nearly all are.
func plainPath(path string) bool {
	for i := range len(path) {
		if b := path[i]; b <= 0x20 || b >= 0x7f || b == '%' {
			return false
		}
	}
	return true
}

// normalPath writes the normal form of a path to text.
func (c *canonicalizer) normalPath(path string) bool {
	const upper = "0123456789ABCDEF"
	c.text = c.text[:0]
	for i := 0; i < len(path); i++ {
		b := path[i]
		stays := b > 0x20 && b < 0x7f
		if b == '%' {
			var ok bool
			if b, ok = unpercent(path[i:]); !ok {
				return false
			}
			i += 2
			stays = isUnreserved(b)
		}
		if stays {
			c.text = append(c.text, b)
		} else {
			c.text = append(c.text, '%', upper[b>>4], upper[b&15])
		}
	}
	return true
}

// appendQuery appends a query sorted by name, the order within a name kept, as
// that may mean something. A query with a broken escape counts as it stands.
func appendQuery(dst []byte, query string) []byte {
	if query == "" {
		return append(dst, readByContent, 0)
	}
	c := canonicalizers.Get().(*canonicalizer)
	defer canonicalizers.Put(c)
	c.swap = append(c.swap[:0], query...)
	if !c.readPairs(c.swap) {
		return appendFramed(append(dst, readRaw), query)
	}
	return c.appendPairs(append(dst, readByContent))
}

// form reads a body of application/x-www-form-urlencoded: pairs sorted by name,
// the order within a name kept. The token's field is left out, and so is what
// the policy does not compare.
func (c *canonicalizer) form() bool {
	if !c.readPairs(c.src) {
		return false
	}
	fields := c.plan.fields
	found := false // one of the fields that were chosen or ignored
	c.members = slices.DeleteFunc(c.members, func(m member) bool {
		name := c.text[m.name:m.value]
		found = found || fields[string(name)]
		return string(name) == TokenField
	})
	if found {
		c.members = slices.DeleteFunc(c.members, func(m member) bool {
			return fields[string(c.text[m.name:m.value])] != c.plan.only
		})
	}
	c.out = c.appendPairs(c.out)
	return true
}

// readPairs reads encoded pairs into members and text. Empty pieces are
// skipped, and "a" is "a=", as the URL Standard reads such forms.
func (c *canonicalizer) readPairs(encoded []byte) bool {
	c.members, c.text = c.members[:0], c.text[:0]
	for rest := encoded; len(rest) > 0; {
		var piece []byte
		piece, rest, _ = bytes.Cut(rest, []byte{'&'})
		if len(piece) == 0 {
			continue
		}
		name, value, _ := bytes.Cut(piece, []byte{'='})
		m := member{name: len(c.text)}
		if !c.decode(name) {
			return false
		}
		m.value = len(c.text)
		if !c.decode(value) {
			return false
		}
		m.end = len(c.text)
		c.members = append(c.members, m)
	}
	return true
}

// decode appends what a name or value says to text.
func (c *canonicalizer) decode(encoded []byte) bool {
	for i := 0; i < len(encoded); i++ {
		switch b := encoded[i]; b {
		case '+':
			c.text = append(c.text, ' ')
		case '%':
			b, ok := unpercent(encoded[i:])
			if !ok {
				return false
			}
			c.text = append(c.text, b)
			i += 2
		default:
			c.text = append(c.text, b)
		}
	}
	return true
}

// appendPairs appends the number of pairs and then each, in order.
func (c *canonicalizer) appendPairs(dst []byte) []byte {
	byName := func(a, b member) int {
		return bytes.Compare(c.text[a.name:a.value], c.text[b.name:b.value])
	}
	if !slices.IsSortedFunc(c.members, byName) {
		slices.SortStableFunc(c.members, byName)
	}
	dst = binary.AppendUvarint(dst, uint64(len(c.members)))
	for _, m := range c.members {
		dst = appendFramed(dst, c.text[m.name:m.value])
		dst = appendFramed(dst, c.text[m.value:m.end])
	}
	return dst
}

func isUnreserved(b byte) bool {
	return isAlnum(b) || b == '-' || b == '.' || b == '_' || b == '~'
}

// unpercent reads %XX at the start of s, which begins with the percent sign.
func unpercent[T string | []byte](s T) (byte, bool) {
	if len(s) < 3 {
		return 0, false
	}
	high, ok1 := hexDigit(s[1])
	low, ok2 := hexDigit(s[2])
	return high<<4 | low, ok1 && ok2
}

// hexDigit returns the value of a hexadecimal digit.
func hexDigit(b byte) (byte, bool) {
	switch {
	case isDigit(b):
		return b - '0', true
	case b >= 'a' && b <= 'f':
		return b - 'a' + 10, true
	case b >= 'A' && b <= 'F':
		return b - 'A' + 10, true
	}
	return 0, false
}
