package httpflow

import (
	"bytes"
	"io"
	"strings"
	"unsafe"
)

// Lender is a [Request] of a framework that reads requests into buffers of its
// own. Most of what the engine looks at it only compares or hashes, so there it
// looks into the buffers and has no strings made. An adapter need not be one.
type Lender interface {
	// LentLines returns the values of all field lines of a name, as Header does,
	// where they stand. The name is spelt as the framework spells names. The list
	// is good until the next call, the lines until the request is over or its
	// header is changed.
	LentLines(name string) [][]byte
	// LentBody returns the body where it stands.
	LentBody() HeldBody
}

// HeldBody is a body that the framework may hold in memory already. The bytes are
// good until the request is over or its body is changed.
type HeldBody interface {
	IsBodyStream() bool // it does not hold it: Body would read it
	Body() []byte
}

// Unread is what [Request] calls Body, of a framework that has either the one or
// the other; size is that of the stream.
func Unread(held HeldBody, stream io.Reader, size int) (io.Reader, int64) {
	if held.IsBodyStream() {
		return stream, int64(size)
	}
	return bytes.NewBuffer(held.Body()), -1
}

// SetField replaces a field of an answer whose framework makes line breaks harmless
// and corrects how names are spelt. What needs neither goes a shorter way.
func SetField(h interface {
	Set(name, value string)
	SetCanonical(name, value []byte)
	SetContentType(value string)
	Del(name string)
}, name, value string) {
	switch {
	case name == StatusHeader && value == "":
		h.Del(ReplayedHeader)
	case name == StatusHeader || name == ReplayedHeader:
		h.SetCanonical(lent(name), lent(value))
	case name == "Content-Type" && strings.IndexByte(value, '\n') < 0 && strings.IndexByte(value, '\r') < 0:
		h.SetContentType(value)
	default:
		h.Set(name, value)
	}
}

// Lent is to, for frameworks that tell field lines as bytes which stand until the
// answer has left.
func Lent(to FieldReader) func(name, value []byte) {
	return func(name, value []byte) { to.Field(inPlace(name), inPlace(value)) }
}

// Lines makes strings of their own of field lines that are bytes.
func Lines(lines [][]byte) []string {
	if len(lines) == 0 {
		return nil
	}
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = string(line)
	}
	return all
}

// lent is a string's bytes, for who only copies them.
func lent(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// inPlace reads bytes as a string for as long as nobody changes them.
func inPlace(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// netLines is a request of net/http, whichever framework is around it.
type netLines interface{ lines(name string) []string }

// peek returns the first field line of a name and how many there are. The name
// is spelt canonically. Whoever keeps the line clones it: it may stand in the
// framework's buffers.
func peek(r Request, name string) (line string, lines int) {
	switch r := r.(type) {
	case netLines:
		if all := r.lines(name); len(all) > 0 {
			return all[0], len(all)
		}
	case Lender:
		if all := r.LentLines(name); len(all) > 0 {
			return inPlace(all[0]), len(all)
		}
	default:
		if all := r.Header(name); len(all) > 0 {
			return all[0], len(all)
		}
	}
	return "", 0
}
