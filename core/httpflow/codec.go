package httpflow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	idem "github.com/go-idem/idem/core"
)

// codec keeps replies as bytes:
//
//	0  1  version: 1, or 2 where the body is compressed
//	1  …  status, number of fields, bytes of all fields (uvarints)
//	   …  per field: code 1 (0: the name's length and bytes follow, else its
//	      place in fieldNames), the value's length (uvarint) and bytes
//	   …  the body, to the end; compressed: its length (uvarint), then DEFLATE (RFC 1951)
//
// A new layout is a new version, read one release before it is written.
type codec struct{ into *room } // of a kept answer; nil makes a new one

// room is where one answer stands while its request lasts.
type room struct {
	reply  Reply
	fields [6]Field // of most answers, ours included
}

// empty is a reply to be filled in.
func (o *room) empty() *Reply {
	if o == nil {
		return new(Reply)
	}
	o.reply = Reply{Fields: o.fields[:0]}
	return &o.reply
}

const (
	replyVersion           = 1
	replyVersionCompressed = 2
)

// fieldNames are common names, kept as their place in this list. It only grows
// at its end.
var fieldNames = [...]string{
	"", "Content-Type", "Location", "Content-Encoding", "Content-Language", "Content-Disposition", "Cache-Control",
	"Etag", "Expires", "Last-Modified", "Link", "Retry-After", "Vary", "Server", "X-Content-Type-Options",
	"Content-Location", "Accept-Patch", "Allow", "Pragma", "Content-Security-Policy",
}

func fieldCode(name string) byte {
	if name == "Content-Type" { // most answers have one, and little else
		return 1
	}
	for i := 2; i < len(fieldNames); i++ {
		if fieldNames[i] == name {
			return byte(i)
		}
	}
	return 0
}

// Encode copies the reply into one slice of its own.
func (codec) Encode(r *Reply) (idem.Payload, error) {
	head := 0
	for _, f := range r.Fields {
		if head += 1 + sized(f.Value); fieldCode(f.Name) == 0 {
			head += sized(f.Name)
		}
	}
	b := append(make([]byte, 0, 1+3*binary.MaxVarintLen32+head+len(r.Body)), replyVersion)
	b = binary.AppendUvarint(b, uint64(r.Status))
	b = binary.AppendUvarint(b, uint64(len(r.Fields)))
	b = binary.AppendUvarint(b, uint64(head))
	for _, f := range r.Fields {
		code := fieldCode(f.Name)
		if b = append(b, code); code == 0 {
			b = append(binary.AppendUvarint(b, uint64(len(f.Name))), f.Name...)
		}
		b = append(binary.AppendUvarint(b, uint64(len(f.Value))), f.Value...)
	}
	if _, encoded := r.field("Content-Encoding"); len(r.Body) >= compressFrom && !encoded {
		if smaller, helps := compressed(b, r.Body); helps {
			smaller[0] = replyVersionCompressed
			return idem.Payload{Bytes: bytes.Clone(smaller), Partial: r.Partial}, nil
		}
	}
	return idem.Payload{Bytes: append(b, r.Body...), Partial: r.Partial}, nil
}

// sized is the length of s behind its own length.
func sized(s string) int {
	n := 1
	for v := len(s); v >= 0x80; v >>= 7 {
		n++
	}
	return n + len(s)
}

var errReply = errors.New("httpflow: the kept answer is cut off or damaged")

// Decode reads what Encode wrote. Bytes that are not of that form are an error,
// never an answer. A body that was not
// compressed points into p.
func (c codec) Decode(p idem.Payload) (*Reply, error) {
	r := c.into.empty()
	if len(p.Bytes) == 0 && p.Partial { // nothing at all was kept
		r.Partial = true
		return r, nil
	}
	if len(p.Bytes) == 0 || p.Bytes[0] != replyVersion && p.Bytes[0] != replyVersionCompressed {
		return nil, fmt.Errorf("%w: version unknown", errReply)
	}
	b := p.Bytes[1:]
	var numbers [3]int
	for i := range numbers {
		v, size := binary.Uvarint(b)
		if size <= 0 || v > 1<<31-1 {
			return nil, errReply
		}
		numbers[i], b = int(v), b[size:]
	}
	status, count, head := numbers[0], numbers[1], numbers[2]
	if status < 100 || status > 999 || head > len(b) || count > head/2 {
		return nil, errReply
	}
	r.Status, r.Partial, r.Body = status, p.Partial, slices.Clip(b[head:])
	if count+2 > cap(r.Fields) { // two places are left for the verdict
		r.Fields = make([]Field, 0, count+2)
	}
	r.Fields = r.Fields[:count]
	text := string(b[:head]) // names and values are pieces of it
	for i := range r.Fields {
		var ok bool
		if r.Fields[i], text, ok = cutField(text); !ok {
			return nil, errReply
		}
	}
	if text != "" {
		return nil, errReply
	}
	if p.Bytes[0] == replyVersionCompressed {
		var err error
		if r.Body, err = expanded(r.Body); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// cutField reads the field at the start of text.
func cutField(text string) (f Field, rest string, ok bool) {
	if text == "" || int(text[0]) >= len(fieldNames) {
		return f, "", false
	}
	f.Name, rest, ok = fieldNames[text[0]], text[1:], true
	if f.Name == "" {
		if f.Name, rest, ok = cutSized(rest); !ok || f.Name == "" {
			return f, "", false
		}
	}
	f.Value, rest, ok = cutSized(rest)
	return f, rest, ok
}

// cutSized reads a string behind its length.
func cutSized(text string) (s, rest string, ok bool) {
	length, shift := 0, 0
	for i := range len(text) {
		length |= int(text[i]&0x7f) << shift
		if text[i] < 0x80 {
			text = text[i+1:]
			if length > len(text) {
				return "", "", false
			}
			return text[:length], text[length:], true
		}
		if shift += 7; shift > 28 {
			break
		}
	}
	return "", "", false
}

// Failed tells an answer that is the handler's own failure from a refusal.
func (codec) Failed(r *Reply) bool { return r.Status >= 500 }

// Skipped says why an answer is not kept.
func (codec) Skipped(r *Reply) string {
	switch {
	case r.TooLarge:
		return "too_large"
	case r.BrokeOff:
		return "error"
	}
	return "stream"
}

// Outcome says how a run ends from the status of its answer. A connection that
// was handed over is done, whatever was said on it.
func (codec) Outcome(p *idem.Policy, r *Reply) idem.Outcome {
	if r.Partial && r.Status < 200 {
		return idem.Completes
	}
	return p.OutcomeOf(r.Status)
}
