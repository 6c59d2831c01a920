package idem

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The words of JSON, read strictly by RFC 8259. Every method reads what begins at
// pos and reports false where it is not that.

// number reads a number by the grammar of RFC 8259 section 6.
func (t *jsonTree) number() bool {
	t.skip('-')
	if !t.skip('0') && !t.digits() {
		return false
	}
	if t.skip('.') && !t.digits() {
		return false
	}
	if t.skip('e') || t.skip('E') {
		if !t.skip('+') {
			t.skip('-')
		}
		return t.digits()
	}
	return true
}

// digits reads one digit or more.
func (t *jsonTree) digits() bool {
	start := t.pos
	for t.pos < len(t.src) && isDigit(t.src[t.pos]) {
		t.pos++
	}
	return t.pos > start
}

// word reads null, true or false.
func (t *jsonTree) word() bool {
	for _, word := range [...]string{"null", "true", "false"} {
		if rest := t.src[t.pos:]; len(rest) >= len(word) && string(rest[:len(word)]) == word {
			t.pos += len(word)
			return true
		}
	}
	return false
}

// plainText marks the bytes of a string that stand for themselves.
var plainText = func() (plain [256]bool) {
	for b := 0x20; b < utf8.RuneSelf; b++ {
		plain[b] = b != '"' && b != '\\'
	}
	return plain
}()

// str reads the string that begins here and returns the span of its text.
func (t *jsonTree) str() (start, end uint32, inText, ok bool) {
	src, i := t.src, t.pos+1
	for i < len(src) && plainText[src[i]] {
		i++
	}
	if i == len(src) {
		return 0, 0, false, false
	}
	if src[i] == '"' {
		start = uint32(t.pos + 1)
		t.pos = i + 1
		return start, uint32(i), false, true
	}
	start = uint32(len(t.text))
	t.text = append(t.text, src[t.pos+1:i]...)
	t.pos = i
	ok = t.unescape()
	return start, uint32(len(t.text)), true, ok
}

// unescape appends the rest of a string to text, from the first byte on that
// does not stand for itself.
func (t *jsonTree) unescape() bool {
	for t.pos < len(t.src) {
		switch b := t.src[t.pos]; {
		case plainText[b]:
			t.text = append(t.text, b)
			t.pos++
		case b == '"':
			t.pos++
			return true
		case b == '\\':
			if !t.escape() {
				return false
			}
		default:
			r, size := utf8.DecodeRune(t.src[t.pos:])
			if b < 0x20 || r == utf8.RuneError && size == 1 {
				return false
			}
			t.text = append(t.text, t.src[t.pos:t.pos+size]...)
			t.pos += size
		}
	}
	return false
}

// escape reads one escape, a pair of them for a character beyond 16 bits.
func (t *jsonTree) escape() bool {
	if t.pos+1 >= len(t.src) {
		return false
	}
	const letters, meanings = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if i := strings.IndexByte(letters, t.src[t.pos+1]); i >= 0 {
		t.text = append(t.text, meanings[i])
		t.pos += 2
		return true
	}
	r, ok := t.hex4()
	if ok && utf16.IsSurrogate(r) {
		low, both := t.hex4()
		r = utf16.DecodeRune(r, low)
		ok = both && r != utf8.RuneError
	}
	if ok {
		t.text = utf8.AppendRune(t.text, r)
	}
	return ok
}

// hex4 reads \uXXXX.
func (t *jsonTree) hex4() (rune, bool) {
	if t.pos+6 > len(t.src) || t.src[t.pos] != '\\' || t.src[t.pos+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, b := range t.src[t.pos+2 : t.pos+6] {
		digit, ok := hexDigit(b)
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	t.pos += 6
	return r, true
}

// space skips white space. It is small enough to be part of its callers.
func (t *jsonTree) space() {
	if t.pos < len(t.src) && t.src[t.pos] <= ' ' {
		t.spaces()
	}
}

func (t *jsonTree) spaces() {
	for t.pos < len(t.src) {
		switch t.src[t.pos] {
		case ' ', '\t', '\n', '\r':
			t.pos++
		default:
			return
		}
	}
}

// skip steps over b if it is next.
func (t *jsonTree) skip(b byte) bool {
	if t.pos < len(t.src) && t.src[t.pos] == b {
		t.pos++
		return true
	}
	return false
}
