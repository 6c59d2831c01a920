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
	return &keyedHash{pool: sync.Pool{New: func() any {
		return &hashState{mac: hmac.New(sha256.New, key), msg: make([]byte, 0, 256)}
	}}}
}

// hashState is one state taken from a pool: build the message in msg, then call
// digest. What it returns is good until the state is given back.
type hashState struct {
	mac hash.Hash
	msg []byte
	sum [sha256.Size]byte
}

// take returns an empty state.
func (k *keyedHash) take() *hashState {
	h := k.pool.Get().(*hashState)
	h.mac.Reset()
	h.msg = h.msg[:0]
	return h
}

func (k *keyedHash) give(h *hashState) {
	if cap(h.msg) <= maxPooledScratch {
		k.pool.Put(h)
	}
}

// digest returns the MAC of what was written to mac so far and then msg.
func (h *hashState) digest() []byte {
	_, _ = h.mac.Write(h.msg)
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
