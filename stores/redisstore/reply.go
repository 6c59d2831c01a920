package redisstore

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// kind is what a reply is.
type kind byte

const (
	nothing kind = iota // a null bulk, array or RESP3 null
	status
	failure
	integer
	bulk
	array
)

// reply is one reply as it stood on the wire. We read it ourselves: the driver
// builds an error, dozens of allocations, for "nothing is there", which is the
// answer to every claim that is won.
type reply struct {
	kind  kind
	text  []byte // of status, failure and bulk; for bulk never nil
	n     int64  // of integer
	items []reply
}

// errMalformed is a reply that is none.
var errMalformed = errors.New("redisstore: the reply is not RESP")

// maxDepth bounds how deep arrays may lie in each other; ours lie flat.
const maxDepth = 4

// parse reads exactly one reply. Its texts lie in raw.
func parse(raw []byte) (reply, error) {
	r, rest, err := parseNext(raw, maxDepth)
	if err == nil && len(rest) > 0 {
		err = errMalformed
	}
	return r, err
}

func parseNext(raw []byte, depth int) (r reply, rest []byte, err error) {
	end := bytes.Index(raw, []byte("\r\n"))
	if end < 1 || depth == 0 {
		return reply{}, nil, errMalformed
	}
	line, rest := raw[1:end], raw[end+2:]
	switch raw[0] {
	case '+':
		return reply{kind: status, text: line}, rest, nil
	case '-':
		return reply{kind: failure, text: line}, rest, nil
	case '_':
		return reply{}, rest, nil
	case ':':
		n, err := strconv.ParseInt(string(line), 10, 64)
		if err != nil {
			return reply{}, nil, errMalformed
		}
		return reply{kind: integer, n: n}, rest, nil
	case '$':
		n, null, err := length(line)
		if err != nil || null {
			return reply{}, rest, err
		}
		if len(rest) < n+2 || rest[n] != '\r' || rest[n+1] != '\n' {
			return reply{}, nil, errMalformed
		}
		return reply{kind: bulk, text: rest[:n:n]}, rest[n+2:], nil
	case '*':
		n, null, err := length(line)
		if err != nil || null {
			return reply{}, rest, err
		}
		return parseItems(rest, n, depth-1)
	}
	return reply{}, nil, errMalformed
}

func parseItems(raw []byte, n, depth int) (r reply, rest []byte, err error) {
	if n > len(raw) { // each item takes three bytes and more
		return reply{}, nil, errMalformed
	}
	r = reply{kind: array, items: make([]reply, n)}
	for i := range r.items {
		if r.items[i], raw, err = parseNext(raw, depth); err != nil {
			return reply{}, nil, err
		}
	}
	return r, raw, nil
}

// length reads the length of a bulk or array; -1 is a null.
func length(line []byte) (n int, null bool, err error) {
	n64, err := strconv.ParseInt(string(line), 10, 32)
	switch {
	case err != nil || n64 < -1:
		return 0, false, errMalformed
	case n64 == -1:
		return 0, true, nil
	}
	return int(n64), false, nil
}

// unexpected is the error for a reply that a command does not give.
func (r reply) unexpected(command string) error {
	if r.kind == failure {
		return refusal(r.text)
	}
	return fmt.Errorf("redisstore: %s was answered by something else (kind %d): is this Redis?", command, r.kind)
}

// time reads the reply of TIME.
func (r reply) time() (time.Time, error) {
	if r.kind != array || len(r.items) != 2 {
		return time.Time{}, r.unexpected("TIME")
	}
	seconds, err1 := strconv.ParseInt(string(r.items[0].text), 10, 64)
	micros, err2 := strconv.ParseInt(string(r.items[1].text), 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return time.Time{}, fmt.Errorf("redisstore: TIME: %w", err)
	}
	return time.Unix(seconds, micros*int64(time.Microsecond)), nil
}

// refusedError is an answer of the server that says no.
type refusedError string

func (e refusedError) Error() string { return "redisstore: the server refused the call: " + string(e) }

// refusal makes an error of such an answer. Some repeat the arguments, in quotes:
// those are names and values, so the text ends before the first quote.
func refusal(text []byte) error {
	if i := bytes.IndexAny(text, "'`\""); i >= 0 {
		text = append(bytes.TrimRight(text[:i:i], " "), "…"...)
	}
	if len(text) > 200 {
		text = text[:200]
	}
	return refusedError(text)
}

// code is the first word of a refusal, such as MOVED.
func code(text []byte) string {
	first, _, _ := bytes.Cut(text, []byte(" "))
	return string(first)
}
