package idem

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"
)

// pairReader reads percent-encoded text: the pairs of a form or a query, or a
// path. Its memory is kept between uses; one goroutine at a time.
type pairReader struct {
	src   []byte // a query, as bytes
	text  []byte // everything decoded
	pairs []span
}

// span is a pair in text: a name and the value behind it.
type span struct{ name, value, end int }

var pairReaders = sync.Pool{New: func() any { return &pairReader{} }}

// giveBack returns a reader to the pool, unless a large body made it large.
func (r *pairReader) giveBack() {
	if cap(r.text) <= maxPooledScratch && cap(r.pairs) <= maxPooledScratch/24 {
		pairReaders.Put(r)
	}
}

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
	r := pairReaders.Get().(*pairReader)
	defer r.giveBack()
	if !r.normalPath(path) {
		return appendFramed(append(dst, readRaw), path)
	}
	return appendFramed(append(dst, readByContent), r.text)
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
func (r *pairReader) normalPath(path string) bool {
	const upper = "0123456789ABCDEF"
	r.text = r.text[:0]
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
			r.text = append(r.text, b)
		} else {
			r.text = append(r.text, '%', upper[b>>4], upper[b&15])
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
	r := pairReaders.Get().(*pairReader)
	defer r.giveBack()
	r.src = append(r.src[:0], query...)
	if !r.readPairs(r.src) {
		return appendFramed(append(dst, readRaw), query)
	}
	return r.appendPairs(append(dst, readByContent))
}

// appendForm appends the encoding of a body that is a form: its pairs sorted by
// name, the order within a name kept. The token's field is left out, and so is
// what the plan does not compare. It reports false, and appends nothing, for a
// form with a broken escape: that is compared raw.
func appendForm(dst, body []byte, plan *fingerprintPlan) ([]byte, bool) {
	r := pairReaders.Get().(*pairReader)
	defer r.giveBack()
	if !r.readPairs(body) {
		return dst, false
	}
	found := false // one of the fields that were chosen or ignored
	r.pairs = slices.DeleteFunc(r.pairs, func(p span) bool {
		name := r.text[p.name:p.value]
		found = found || plan.fields[string(name)]
		return string(name) == TokenField
	})
	if found {
		r.pairs = slices.DeleteFunc(r.pairs, func(p span) bool {
			return plan.fields[string(r.text[p.name:p.value])] != plan.only
		})
	}
	return r.appendPairs(dst), true
}

// readPairs reads encoded pairs into pairs and text. Empty pieces are
// skipped, and "a" is "a=", as the URL Standard reads such forms.
func (r *pairReader) readPairs(encoded []byte) bool {
	r.pairs, r.text = r.pairs[:0], r.text[:0]
	for rest := encoded; len(rest) > 0; {
		var piece []byte
		piece, rest, _ = bytes.Cut(rest, []byte{'&'})
		if len(piece) == 0 {
			continue
		}
		name, value, _ := bytes.Cut(piece, []byte{'='})
		p := span{name: len(r.text)}
		if !r.decode(name) {
			return false
		}
		p.value = len(r.text)
		if !r.decode(value) {
			return false
		}
		p.end = len(r.text)
		r.pairs = append(r.pairs, p)
	}
	return true
}

// decode appends what a name or value says to text.
func (r *pairReader) decode(encoded []byte) bool {
	for len(encoded) > 0 {
		plain := 0
		for plain < len(encoded) && encoded[plain] != '%' && encoded[plain] != '+' {
			plain++
		}
		r.text = append(r.text, encoded[:plain]...)
		if encoded = encoded[plain:]; len(encoded) == 0 {
			break
		}
		if encoded[0] == '+' {
			r.text = append(r.text, ' ')
			encoded = encoded[1:]
			continue
		}
		b, ok := unpercent(encoded)
		if !ok {
			return false
		}
		r.text = append(r.text, b)
		encoded = encoded[3:]
	}
	return true
}

// appendPairs appends the number of pairs and then each, in order.
func (r *pairReader) appendPairs(dst []byte) []byte {
	byName := func(a, b span) int {
		return bytes.Compare(r.text[a.name:a.value], r.text[b.name:b.value])
	}
	if !slices.IsSortedFunc(r.pairs, byName) {
		slices.SortStableFunc(r.pairs, byName)
	}
	dst = binary.AppendUvarint(dst, uint64(len(r.pairs)))
	for _, p := range r.pairs {
		dst = appendFramed(dst, r.text[p.name:p.value])
		dst = appendFramed(dst, r.text[p.value:p.end])
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
