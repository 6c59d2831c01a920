package idem

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// The words of JSON, read strictly by RFC 8259. Every method reads what begins at
// pos, appends its encoding to out, and reports false where it is not that.

// number reads a number by the grammar of RFC 8259 section 6.
func (c *canonicalizer) number() bool {
	start := c.pos
	c.skip('-')
	if !c.skip('0') && !c.digits() {
		return false
	}
	if c.skip('.') && !c.digits() {
		return false
	}
	if c.skip('e') || c.skip('E') {
		if !c.skip('+') {
			c.skip('-')
		}
		if !c.digits() {
			return false
		}
	}
	c.out = append(c.out, '#')
	c.out = appendFramed(c.out, c.src[start:c.pos])
	return true
}

func (c *canonicalizer) digits() bool {
	start := c.pos
	for c.pos < len(c.src) && isDigit(c.src[c.pos]) {
		c.pos++
	}
	return c.pos > start
}

func (c *canonicalizer) literal(word string) bool {
	if !bytes.HasPrefix(c.src[c.pos:], []byte(word)) {
		return false
	}
	c.pos += len(word)
	c.out = append(c.out, word[0])
	return true
}

// str reads the string that begins here and appends its text, framed.
func (c *canonicalizer) str() bool {
	c.pos++
	start := c.pos
	for i := start; i < len(c.src); i++ {
		switch b := c.src[i]; {
		case b == '"':
			c.out = appendFramed(c.out, c.src[start:i])
			c.pos = i + 1
			return true
		case b < 0x20:
			return false
		case b == '\\' || b >= utf8.RuneSelf:
			c.text = append(c.text[:0], c.src[start:i]...)
			c.pos = i
			return c.unescape()
		}
	}
	return false
}

// unescape is str from the first byte on that does not stand for itself.
func (c *canonicalizer) unescape() bool {
	for c.pos < len(c.src) {
		switch b := c.src[c.pos]; {
		case b == '"':
			c.pos++
			c.out = appendFramed(c.out, c.text)
			return true
		case b < 0x20:
			return false
		case b == '\\':
			if !c.escape() {
				return false
			}
		case b < utf8.RuneSelf:
			c.text = append(c.text, b)
			c.pos++
		default:
			r, size := utf8.DecodeRune(c.src[c.pos:])
			if r == utf8.RuneError && size == 1 {
				return false
			}
			c.text = append(c.text, c.src[c.pos:c.pos+size]...)
			c.pos += size
		}
	}
	return false
}

// escape reads one escape, a pair of them for a character beyond 16 bits.
func (c *canonicalizer) escape() bool {
	if c.pos+1 >= len(c.src) {
		return false
	}
	const names, meanings = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	letter := c.src[c.pos+1]
	if i := bytes.IndexByte([]byte(names), letter); i >= 0 {
		c.text = append(c.text, meanings[i])
		c.pos += 2
		return true
	}
	r, ok := c.hex4()
	if !ok || r >= 0xdc00 && r <= 0xdfff { // the second half without the first
		return false
	}
	if r >= 0xd800 && r <= 0xdbff {
		low, ok := c.hex4()
		if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
			return false
		}
	}
	c.text = utf8.AppendRune(c.text, r)
	return true
}

// hex4 reads \uXXXX.
func (c *canonicalizer) hex4() (rune, bool) {
	if c.pos+6 > len(c.src) || c.src[c.pos] != '\\' || c.src[c.pos+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, b := range c.src[c.pos+2 : c.pos+6] {
		digit, ok := hexDigit(b)
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	c.pos += 6
	return r, true
}

// space skips white space.
func (c *canonicalizer) space() {
	for c.pos < len(c.src) {
		switch c.src[c.pos] {
		case ' ', '\t', '\n', '\r':
			c.pos++
		default:
			return
		}
	}
}

// skip steps over b if it is next.
func (c *canonicalizer) skip(b byte) bool {
	if c.pos < len(c.src) && c.src[c.pos] == b {
		c.pos++
		return true
	}
	return false
}

// frameLength returns how many bytes the length before a framed element takes.
func frameLength(framed []byte) int {
	_, n := binary.Uvarint(framed)
	return n
}
