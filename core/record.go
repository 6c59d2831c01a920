package idem

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/go-idem/idem/internal/broken"
)

// State is what a record says of its intent (design: PROTOCOL section 3).
type State uint8

// The states. The zero State means that there is no record.
const (
	StateAbsent     State         = iota
	StateProcessing               // claimed, and running as long as the lease does
	StateSucceeded                // done, the answer is kept
	StateFailed                   // definitely refused, the answer is kept
	StateReleased                 // ran without effect: the same key may run again
	StateUncertain                // may have had an effect: held until resolved
	StateBuried                   // a token that had no effect and can have none any more
	highestState    = StateBuried // higher numbers come from a newer version
)

var stateWords = [...]string{"absent", "processing", "succeeded", "failed", "released", "uncertain", "buried"}

// String returns the state in lower case, as the status endpoint says it.
func (s State) String() string { return stateWords[min(s, highestState)] }

// MarshalText returns the state's word.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// The flags of a record.
const (
	flagEffects   byte = 1 << iota // the point of no return was marked
	flagReserved                   // an item of a batch that was never started
	flagForced                     // somebody chose in writing that it may run again, or settled it for its owner
	flagTakenOver                  // this claim followed one whose lease ran out
	flagWeak                       // the store called the claim weak: see Result.Weak
	flagDiscarded                  // buried because it was no longer wanted, not because it expired
	flagTail                       // a tail of tagged fields follows the head
)

// scopeHash is the keyed hash of a scope, kept where the operation has a resolver.
type scopeHash [8]byte

func (s scopeHash) String() string {
	if s == (scopeHash{}) {
		return ""
	}
	return hex.EncodeToString(s[:])
}

// owner names one request's claim: random, made once, kept over every retry.
type owner [12]byte

// record is a decoded value. The layout, big-endian, is:
//
//	 0  1  record version (high 4 bits), state (low 4)
//	 1  1  flags
//	 2 12  owner
//	14  7  fence: max(old + 1, microseconds of the corrected clock)
//	21  2  change counter
//	23  2  lease in 100 ms
//	25  3  T0, the time to live given at this write, in seconds
//	28  1  fingerprint version
//	29 15  fingerprint
//	44     if flagged, the tail: {tag 1, length 2, bytes}*, tag 0
//	 …     if an answer is kept: its form (1 whole, 2 partial; 0xa4 and 0xa8 the
//	       same, sealed), then its bytes
//
// It changes by a new version only, and a version is read one release before
// it is written. A sealed answer has a form of its own, so that whoever cannot
// open it holds the record; a sealed note has a tag of its own, so that whoever
// cannot open it passes it over.
type record struct {
	state    State
	flags    byte
	owner    owner
	fence    uint64
	counter  uint16
	lease    uint16
	t0       uint32
	fp       Fingerprint
	trace    []byte // packed trace context, 25 bytes
	note     []byte
	scope    scopeHash // zero: not kept
	payload  Payload
	answered bool // payload is there; empty answers are answers

	// As they were read, and not opened: see sealed.go. A note takes the place of
	// a sealed one.
	sealedNote   []byte
	unsealedNote bool // there was a note that is not read, as it is not sealed
	sealed       bool // the bytes of payload are
}

const (
	recordVersion = 1
	headSize      = 44
	maxNote       = 256
	traceSize     = 25

	tagTrace      byte = 1
	tagNote       byte = 2
	tagSealedNote byte = 3
	tagScope      byte = 4

	// No flip of one bit, or of three, makes one of the first two of one of the
	// others.
	formWhole         byte = 1
	formPartial       byte = 2
	formSealedWhole   byte = 0xa4
	formSealedPartial byte = 0xa8
)

var errNewerRecord = errors.New("idem: the record was written by a newer version")

// Payload is what a record keeps of an answer.
type Payload struct {
	Bytes []byte
	// Partial says that the answer itself was not kept, being too large or a
	// stream: Bytes hold what little is, such as a Location, and a repeat is Used.
	Partial bool
}

// append encodes r behind dst and seals nothing.
func (r *record) append(dst []byte) []byte { return r.appendSealed(dst, nil, "") }

// appendSealed encodes r behind dst, with what s seals sealed for the record of
// that name.
func (r *record) appendSealed(dst []byte, s *Sealer, name string) []byte {
	begin := len(dst)
	flags := r.flags &^ flagTail
	if len(r.trace) > 0 || len(r.note) > 0 || len(r.sealedNote) > 0 || r.scope != (scopeHash{}) {
		flags |= flagTail
	}
	var head [headSize]byte
	head[0] = recordVersion<<4 | byte(r.state)
	head[1] = flags
	copy(head[2:14], r.owner[:])
	var fence [8]byte
	binary.BigEndian.PutUint64(fence[:], r.fence)
	copy(head[14:21], fence[1:])
	binary.BigEndian.PutUint16(head[21:], r.counter)
	binary.BigEndian.PutUint16(head[23:], r.lease)
	head[25], head[26], head[27] = byte(r.t0>>16), byte(r.t0>>8), byte(r.t0)
	head[28] = r.fp.Version
	copy(head[29:], r.fp.Sum[:])
	dst = append(dst, head[:]...)
	if flags&flagTail != 0 {
		dst = appendField(dst, tagTrace, r.trace)
		switch {
		case len(r.note) == 0:
			dst = appendField(dst, tagSealedNote, r.sealedNote)
		case s.sealing():
			dst = appendField(dst, tagSealedNote, s.seal(nil, name, sealsNote, r.noteBound(nil), r.note))
		default:
			dst = appendField(dst, tagNote, r.note)
		}
		if r.scope != (scopeHash{}) {
			dst = appendField(dst, tagScope, r.scope[:])
		}
		dst = append(dst, 0)
	}
	switch {
	case !r.answered:
		return dst
	case r.sealed || !s.sealing():
		return append(append(dst, r.form(r.sealed)), r.payload.Bytes...)
	}
	dst = append(dst, r.form(true))
	return s.seal(dst, name, sealsAnswer, dst[begin:], r.payload.Bytes)
}

// form is the byte in front of the answer.
func (r *record) form(sealed bool) byte {
	switch {
	case sealed && r.payload.Partial:
		return formSealedPartial
	case sealed:
		return formSealedWhole
	case r.payload.Partial:
		return formPartial
	}
	return formWhole
}

// noteBound appends what the seal of a note covers: whose it is.
func (r *record) noteBound(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(append(dst, r.owner[:]...), r.fence)
}

func appendField(dst []byte, tag byte, field []byte) []byte {
	if len(field) == 0 {
		return dst
	}
	return append(append(dst, tag, byte(len(field)>>8), byte(len(field))), field...)
}

// size is the number of bytes that append adds.
func (r *record) size() int {
	n, note := headSize, r.note
	if len(note) == 0 {
		note = r.sealedNote
	}
	for _, field := range [...][]byte{r.trace, note} {
		if len(field) > 0 {
			n += 3 + len(field)
		}
	}
	if r.scope != (scopeHash{}) {
		n += 3 + len(r.scope)
	}
	if n > headSize {
		n++ // the tail's end
	}
	if r.answered {
		n += 1 + len(r.payload.Bytes)
	}
	return n
}

// decodeRecord reads a value. What it returns points into value. An error says
// why the value cannot be read; such a record is held, never treated as absent.
func decodeRecord(value []byte) (r record, err error) {
	err = r.decode(value)
	return r, err
}

func (r *record) decode(value []byte) (err error) {
	if len(value) == 0 {
		return errors.New("idem: the record is empty")
	}
	if v := value[0] >> 4; v > recordVersion {
		return errNewerRecord
	} else if v != recordVersion || len(value) < headSize {
		return fmt.Errorf("idem: the record cannot be read: %d bytes, version %d", len(value), v)
	}
	r.state, r.flags = State(value[0]&0x0f), value[1]
	if r.state == StateAbsent || r.state > highestState {
		return errNewerRecord
	}
	copy(r.owner[:], value[2:14])
	var fence [8]byte
	copy(fence[1:], value[14:21])
	r.fence = binary.BigEndian.Uint64(fence[:])
	r.counter = binary.BigEndian.Uint16(value[21:])
	r.lease = binary.BigEndian.Uint16(value[23:])
	r.t0 = uint32(value[25])<<16 | uint32(value[26])<<8 | uint32(value[27])
	r.fp.Version = value[28]
	copy(r.fp.Sum[:], value[29:headSize])
	rest := value[headSize:]
	if r.flags&flagTail != 0 {
		if rest, err = r.readTail(rest); err != nil {
			return err
		}
	}
	if len(rest) > 0 {
		r.answered = true
		r.payload.Bytes = rest[1:]
		r.sealed = rest[0] == formSealedWhole || rest[0] == formSealedPartial
		r.payload.Partial = rest[0] == formPartial || rest[0] == formSealedPartial
		if rest[0] != r.form(r.sealed) {
			return errNewerRecord
		}
	}
	return nil
}

// readTail reads the tagged fields and returns what follows them. Unknown tags
// are passed over: a later release may say more about a record.
func (r *record) readTail(rest []byte) ([]byte, error) {
	torn := errors.New("idem: the record cannot be read: its tail is cut off")
	for {
		if len(rest) == 0 {
			return nil, torn
		}
		tag := rest[0]
		if tag == 0 {
			return rest[1:], nil
		}
		if len(rest) < 3 {
			return nil, torn
		}
		n := int(rest[1])<<8 | int(rest[2])
		if rest = rest[3:]; len(rest) < n {
			return nil, torn
		}
		switch tag {
		case tagTrace:
			r.trace = rest[:n:n]
		case tagNote:
			r.note = rest[:n:n]
		case tagSealedNote:
			r.sealedNote = rest[:n:n]
		case tagScope:
			copy(r.scope[:], rest[:n])
		}
		rest = rest[n:]
	}
}

// leaseTime and retention say r's numbers as durations.
func (r *record) leaseTime() time.Duration { return time.Duration(r.lease) * 100 * time.Millisecond }
func (r *record) retention() time.Duration { return time.Duration(r.t0) * time.Second }

// lapsed tells whether the lease of r has run out, from how long the store
// says its value still has. No application clock takes part (PROTOCOL P5).
func (r *record) lapsed(left time.Duration) bool {
	if broken.Is(broken.I1TakenEarly) {
		return 2*max(0, r.retention()-left) >= r.leaseTime()
	}
	return max(0, r.retention()-left) >= r.leaseTime()
}

// begun is when this claim began, by the corrected clock of whoever claimed.
func (r *record) begun() time.Time { return time.UnixMicro(int64(r.fence)) }

// isOf tells whether r is the record of this owner's claim, whatever its
// counter: a renewal without a reply may have been applied, or not, or may be
// yet (PROTOCOL P2).
func (r *record) isOf(o owner, fence uint64) bool {
	return r.owner == o && r.fence == fence && (r.state == StateProcessing || r.state == StateUncertain)
}

// packTrace turns a traceparent (W3C Trace Context, version 00) into its 25
// bytes; anything else is left out rather than kept in part.
func packTrace(parent []byte) []byte {
	if len(parent) == traceSize {
		return parent
	}
	if len(parent) != 55 || parent[2] != '-' || parent[35] != '-' || parent[52] != '-' || parent[0] != '0' || parent[1] != '0' {
		return nil
	}
	packed := make([]byte, 0, traceSize)
	for _, part := range [][]byte{parent[3:35], parent[36:52], parent[53:55]} {
		for i := 0; i < len(part); i += 2 {
			hi, lo := unhex(part[i]), unhex(part[i+1])
			if hi > 15 || lo > 15 {
				return nil
			}
			packed = append(packed, hi<<4|lo)
		}
	}
	return packed
}

func unhex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}

// unpackTrace returns the traceparent again, nil where none is kept.
func unpackTrace(packed []byte) []byte {
	if len(packed) != traceSize {
		return nil
	}
	return fmt.Appendf(make([]byte, 0, 55), "00-%x-%x-%x", packed[:16], packed[16:24], packed[24:])
}
