package idem

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/go-idem/idem/internal/broken"
)

// SealingKey is one key of the ring that seals kept answers and notes. A ring is
// rotated in steps, each rolled out to every process before the next: add the new
// key as OpenOnly; make it the one that seals and the old one OpenOnly; drop the
// old one no sooner than the longest retention after the last process that sealed
// with it has ended.
//
// It redacts itself: no way of printing or marshalling it shows the secret.
type SealingKey struct {
	ID       uint8  // stands in front of what it sealed; never reuse one for another secret
	Secret   []byte // at least 32 random bytes, see [GenerateKey]; no other key's
	OpenOnly bool   // it opens what it sealed elsewhere or before, and seals nothing
}

// String tells the key's id and part, never its secret.
func (k SealingKey) String() string {
	if k.OpenOnly {
		return fmt.Sprintf("sealing key s%d (opens only)", k.ID)
	}
	return fmt.Sprintf("sealing key s%d", k.ID)
}

// GoString is String: %#v shows no more than %v.
func (k SealingKey) GoString() string { return k.String() }

// Format is String for every verb.
func (k SealingKey) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// MarshalText is String.
func (k SealingKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// LogValue is String.
func (k SealingKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// Sealer seals what a record keeps of an answer, and the note in it, so that
// whoever reads the store, a backup of it or its traffic reads neither: the third
// of the three keys (design: PROTOCOL section 6). What was sealed is
//
//	0   1  id of the sealing key
//	1  12  nonce, random
//	13  …  AES-256-GCM of the plain bytes, and its 16 bytes of tag
//
// under a key derived from the secret for this record's name, so that random
// nonces never come near to repeating under one key. An answer's seal covers the
// record's name and everything that stands before the answer: a record that was
// changed in any bit, or put under another name, does not open. A note's covers
// the name, the owner and the fence, because a record is written again while its
// claim runs.
//
// What stays in the clear is the record's name (a keyed hash), its state and
// times, the fingerprint (a keyed hash) and the trace context.
//
// It holds no state but its keys and may be used from any number of goroutines.
// Make one with [NewSealer] and hand it to the guard.
type Sealer struct {
	ring  [256]*keyedHash // by id, nil where there is none
	seals int             // the id that seals, -1 where none does
}

// NewSealer builds a sealer from a ring, of which at most one key seals. With
// none that seals, what was sealed is opened and nothing more is sealed: the
// first step of beginning with it and the last of leaving off. It reports
// everything wrong with the ring at once: no key, an id given twice, a secret
// under 32 bytes, several that seal. The secrets are copied.
func NewSealer(keys ...SealingKey) (*Sealer, error) {
	if len(keys) == 0 {
		return nil, errors.New("the ring is empty: give one sealing key of at least 32 random bytes")
	}
	var errs []error
	s, sealing := &Sealer{seals: -1}, 0
	for _, k := range keys {
		if s.ring[k.ID] != nil {
			errs = append(errs, fmt.Errorf("sealing key s%d is given twice: every key needs an id of its own", k.ID))
		}
		if len(k.Secret) < minSecret {
			errs = append(errs, fmt.Errorf("sealing key s%d: the secret has %d bytes, it needs at least %d random ones", k.ID, len(k.Secret), minSecret))
		}
		s.ring[k.ID] = newKeyedHash(k.Secret, "idem sealing key v1: records")
		if !k.OpenOnly {
			s.seals = int(k.ID)
			sealing++
		}
	}
	if sealing > 1 {
		errs = append(errs, fmt.Errorf("%d keys of the ring seal: at most one may, mark the others OpenOnly", sealing))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return s, nil
}

// String tells the ids of the ring, for the start-up report.
func (s *Sealer) String() string {
	if s == nil {
		return "sealer(none)"
	}
	var b strings.Builder
	b.WriteString("sealer(seals nothing, opens")
	if s.sealing() {
		b.Reset()
		fmt.Fprintf(&b, "sealer(seals with s%d, opens", s.seals)
	}
	for id, k := range s.ring {
		if k != nil {
			fmt.Fprintf(&b, " s%d", id)
		}
	}
	return b.String() + ")"
}

// GoString is String.
func (s *Sealer) GoString() string { return s.String() }

// What is sealed: a note must not pass for an answer.
const (
	sealsAnswer byte = 1
	sealsNote   byte = 2
)

// sealOverhead is how many bytes longer the sealed form is: id, nonce, tag.
const sealOverhead = 1 + 12 + 16

func (s *Sealer) sealing() bool { return s != nil && s.seals >= 0 }

// seal appends plain, sealed for the record of that name, to dst; bound is what
// the seal covers besides. It may be a part of dst.
func (s *Sealer) seal(dst []byte, name string, what byte, bound, plain []byte) []byte {
	key := s.ring[s.seals]
	h := key.take()
	defer key.give(h)
	aead := h.forRecord(name, what, bound)
	return aead.Seal(append(dst, byte(s.seals)), nil, plain, h.msg)
}

var (
	errNoSealer   = errors.New("idem: it is sealed, and this guard has no sealer")
	errSealBroken = errors.New("idem: its seal is broken: it was changed, or belongs to another record")
	errNotSealed  = errors.New("idem: it is not sealed, and this guard reads only what is (Config.ReadUnsealed)")
)

// open returns what seal was given. An error says why it cannot be told.
func (s *Sealer) open(name string, what byte, bound, sealed []byte) ([]byte, error) {
	switch {
	case s == nil:
		return nil, errNoSealer
	case len(sealed) < sealOverhead:
		return nil, errSealBroken
	}
	key := s.ring[sealed[0]]
	if key == nil {
		return nil, fmt.Errorf("idem: it is sealed with key s%d, which is not in the ring", sealed[0])
	}
	h := key.take()
	defer key.give(h)
	aead := h.forRecord(name, what, bound)
	plain, err := aead.Open(nil, nil, sealed[1:], h.msg)
	if err != nil {
		return nil, errSealBroken
	}
	return plain, nil
}

// forRecord derives the key of one record and leaves what its seal covers in
// h.msg.
func (h *hashState) forRecord(name string, what byte, bound []byte) cipher.AEAD {
	h.msg = appendFramed(h.msg, name)
	if broken.Is(broken.S6SealUnbound) {
		h.msg, bound = h.msg[:0], nil
	}
	block, err := aes.NewCipher(h.digest())
	if err != nil {
		panic("idem: a derived key of 32 bytes is one of AES-256: " + err.Error())
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic("idem: AES has the block size of GCM: " + err.Error())
	}
	h.msg = append(append(h.msg, what), bound...)
	return aead
}
