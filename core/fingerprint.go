package idem

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// Fingerprint tells whether a repeat asks for the same thing: a keyed hash of
// what was asked, and the version of the rules it was made by. It holds nothing
// of the request that anybody without the name key could find out. Fingerprints
// are compared by their sums only where the versions are equal. The zero
// Fingerprint means "none was made".
type Fingerprint struct {
	Version byte     // of [FingerprintChoice.Version], never 0 in one that was made
	Sum     [15]byte // 120 bits of HMAC-SHA-256
}

// Equal says that both were made by the same rules from the same content.
func (f Fingerprint) Equal(other Fingerprint) bool { return f == other }

// IsZero says that no fingerprint was made.
func (f Fingerprint) IsZero() bool { return f == Fingerprint{} }

// String returns the fingerprint in hexadecimal, version first.
func (f Fingerprint) String() string {
	return hex.EncodeToString(append([]byte{f.Version}, f.Sum[:]...))
}

// Content is what a request asks for. Strings and Body are read, never kept or
// changed.
type Content struct {
	Method      string
	Path        string // as on the request line, percent-encoding and all
	Query       string // without the question mark
	ContentType string // decides how Body is read; plays no other part
	Body        []byte
}

// maxCanonical is the longest body, in bytes, that is compared by content.
// Putting members in order needs the body whole, so a longer one is compared
// byte for byte.
const maxCanonical = 1 << 20

// bodyKind is how a body was read. It is the tag of the body in the hashed
// message, so that no two readings share an encoding.
type bodyKind byte

const (
	bodyRaw  bodyKind = 'r'
	bodyJSON bodyKind = 'j'
	bodyForm bodyKind = 'f'
	bodyNone bodyKind = '0' // the policy compares no content
)

// kind tells how the content type wants the body read.
func (c *Content) kind() bodyKind {
	if c.ContentType == "application/json" { // as most say it
		return bodyJSON
	}
	media, _, _ := strings.Cut(c.ContentType, ";")
	media = strings.TrimSpace(media)
	const suffix = "+json" // RFC 6839 section 3.1
	switch {
	case strings.EqualFold(media, "application/json"),
		len(media) > len(suffix) && strings.EqualFold(media[len(media)-len(suffix):], suffix):
		return bodyJSON
	case strings.EqualFold(media, "application/x-www-form-urlencoded"):
		return bodyForm
	}
	return bodyRaw
}

// ComparedRaw says that a body of size bytes is compared byte for byte under
// this content type, so it may be written to a [FingerprintStream] piece by
// piece. Any other has to be handed over whole in Body. Both ways give a raw
// body the same fingerprint.
func (c Content) ComparedRaw(size int64) bool {
	return size == 0 || size > maxCanonical || c.kind() == bodyRaw
}

// fingerprint hashes content as choice wants it compared. The message is
//
//	'h' version · method · path · query · kind of body, body, length of body
//
// with every element tagged or framed by its length. The body stands last and
// is framed from behind, so that it can be streamed.
func (n *namer) fingerprint(choice FingerprintChoice, content Content) Fingerprint {
	plan := choice.planned()
	h := n.prints.take()
	defer n.prints.give(h)
	h.addHead(plan, &content)
	if plan.none {
		h.msg = append(h.msg, byte(bodyNone))
		return h.fingerprint(plan)
	}
	body := content.Body
	if kind := content.kind(); kind != bodyRaw && len(body) > 0 && len(body) <= maxCanonical {
		start := len(h.msg)
		h.msg = append(h.msg, byte(kind))
		appendBody := h.tree.appendJSON
		if kind == bodyForm {
			appendBody = appendForm
		}
		if out, ok := appendBody(h.msg, body, plan); ok {
			h.msg = binary.BigEndian.AppendUint64(out, uint64(len(out)-start-1))
			return h.fingerprint(plan)
		}
		h.msg = h.msg[:start]
	}
	h.msg = append(h.msg, byte(bodyRaw))
	h.write(h.msg)
	h.write(body)
	h.msg = binary.BigEndian.AppendUint64(h.msg[:0], uint64(len(body)))
	return h.fingerprint(plan)
}

// fingerprintOf hashes what a caller without HTTP asks for: any number of
// parts, in order. ("a", "b") and ("ab") are different.
func (n *namer) fingerprintOf(choice FingerprintChoice, parts ...[]byte) Fingerprint {
	plan := choice.planned()
	h := n.prints.take()
	defer n.prints.give(h)
	h.msg = append(h.msg, 'p', plan.version)
	if !plan.none {
		for _, part := range parts {
			h.msg = appendFramed(h.msg, part)
		}
	}
	return h.fingerprint(plan)
}

// addHead appends everything that stands before the body.
func (h *hashState) addHead(plan *fingerprintPlan, content *Content) {
	h.msg = append(h.msg, 'h', plan.version)
	h.msg = appendFramed(h.msg, content.Method)
	h.msg = appendPath(h.msg, content.Path)
	if !plan.none {
		h.msg = appendQuery(h.msg, content.Query)
	}
}

// fingerprint ends the message.
func (h *hashState) fingerprint(plan *fingerprintPlan) Fingerprint {
	f := Fingerprint{Version: plan.version}
	copy(f.Sum[:], h.digest())
	return f
}

// FingerprintStream makes the fingerprint of content whose body is too long to
// hold in memory and is compared byte for byte: see [Content.ComparedRaw]. It is
// an io.Writer for the body, for one goroutine. One that is abandoned needs no
// closing.
type FingerprintStream struct {
	from   *keyedHash
	h      *hashState
	plan   *fingerprintPlan
	length uint64
	made   Fingerprint
}

// streamFingerprint begins a fingerprint; content's Body is not looked at.
func (n *namer) streamFingerprint(choice FingerprintChoice, content Content) *FingerprintStream {
	s := &FingerprintStream{from: n.prints, h: n.prints.take(), plan: choice.planned()}
	s.h.addHead(s.plan, &content)
	kind := bodyRaw
	if s.plan.none {
		kind = bodyNone
	}
	s.h.msg = append(s.h.msg, byte(kind))
	s.h.write(s.h.msg)
	s.h.msg = s.h.msg[:0]
	return s
}

// Write adds a piece of the body. It never fails before Fingerprint was called,
// and must not be called after.
func (s *FingerprintStream) Write(piece []byte) (int, error) {
	s.length += uint64(len(piece))
	if s.plan.none {
		return len(piece), nil
	}
	s.h.write(piece)
	return len(piece), nil
}

// Fingerprint ends the body and returns its fingerprint, the same however often
// it is called.
func (s *FingerprintStream) Fingerprint() Fingerprint {
	if s.h != nil {
		if !s.plan.none {
			s.h.msg = binary.BigEndian.AppendUint64(s.h.msg, s.length)
		}
		s.made = s.h.fingerprint(s.plan)
		s.from.give(s.h)
		s.h = nil
	}
	return s.made
}
