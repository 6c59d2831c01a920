package idem

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"
)

// maxPooledScratch is the most scratch, in bytes, that a pooled state keeps:
// one large body must not pin its memory for ever.
const maxPooledScratch = 64 << 10

// keyedHash is HMAC-SHA-256 under one derived key, with a pool of ready states:
// keying a new state costs four times what the MAC itself does. Safe for
// concurrent use.
type keyedHash struct{ pool sync.Pool }

// newKeyedHash derives a key from a secret by HKDF-SHA-256 under a label, so
// that hashes of different labels have nothing to do with each other.
func newKeyedHash(secret []byte, label string) *keyedHash {
	key, err := hkdf.Key(sha256.New, secret, nil, label, sha256.Size)
	if err != nil {
		panic("idem: deriving a key of 32 bytes cannot fail: " + err.Error())
	}
	states := newMACStates(key)
	return &keyedHash{pool: sync.Pool{New: func() any {
		return &hashState{mac: hmac.New(sha256.New, key), states: states.another(), msg: make([]byte, 0, 256)}
	}}}
}

// hashState is one state taken from a pool: build the message in msg, or write what
// comes in pieces, then call digest. What it returns is good until the state is given
// back.
type hashState struct {
	mac    hash.Hash
	fed    bool       // mac was written to
	states *macStates // for a message that lies in msg whole; nil: mac does that, too
	msg    []byte
	sum    [sha256.Size]byte
	tree   jsonTree // where a body is read that goes into msg
}

// take returns an empty state.
func (k *keyedHash) take() *hashState {
	h := k.pool.Get().(*hashState)
	if h.fed {
		h.mac.Reset()
		h.fed = false
	}
	h.msg = h.msg[:0]
	return h
}

func (k *keyedHash) give(h *hashState) {
	if cap(h.msg) <= maxPooledScratch {
		k.pool.Put(h)
	}
}

// write adds a piece of the message, in front of msg.
func (h *hashState) write(piece []byte) {
	h.fed = true
	_, _ = h.mac.Write(piece) // a hash never fails
}

// digest returns the MAC of what was written so far and then msg.
func (h *hashState) digest() []byte {
	if !h.fed && h.states != nil {
		if sum, ok := h.states.sum(h.sum[:0], &h.msg); ok {
			return sum
		}
	}
	h.write(h.msg)
	return h.mac.Sum(h.sum[:0])
}

// appendFramed appends the length of an element and then its bytes, so that two
// lists of elements never share an encoding.
func appendFramed[T string | []byte](dst []byte, element T) []byte {
	if len(element) < 0x80 { // nearly always; the same byte, sooner
		dst = append(dst, byte(len(element)))
	} else {
		dst = binary.AppendUvarint(dst, uint64(len(element)))
	}
	return append(dst, element...)
}
