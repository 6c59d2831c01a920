package idem

import (
	"crypto/fips140"
	"crypto/hmac"
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"hash"
)

// macStates is HMAC-SHA-256 of messages that lie in memory whole, by the two states
// that SHA-256 has when it has read a key's blocks (RFC 2104 section 4): what
// crypto/hmac does, less its copies of a state for each of two sums, which here are
// padded by hand (FIPS 180-4 section 5.1.1) and read from the state that is left. That
// is a fifth of a MAC, and a claim by token takes four of them.
//
// A state is known by its encoding, which crypto/sha256 has and does not describe. So
// nothing here is taken on trust: newMACStates compares it with crypto/hmac.
//
// One goroutine at a time.
type macStates struct {
	sha          shaState
	inner, outer []byte // states, encoded
	last         [sha256.BlockSize]byte
	state        [stateSize]byte
}

type shaState interface {
	hash.Hash
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// The encoding of a state, as far as it is relied on: the eight words stand behind
// four bytes that say which hash it is of.
const (
	stateSize = 108
	wordsFrom = 4
	wordsTo   = wordsFrom + sha256.Size
)

// newMACStates returns nil where a MAC is left to crypto/hmac: in FIPS 140 mode, which
// knows its own HMAC only, and where this one does not come to the same.
func newMACStates(key []byte) *macStates {
	sha, ok := sha256.New().(shaState)
	if !ok || fips140.Enabled() || len(key) > sha256.BlockSize {
		return nil
	}
	m := &macStates{sha: sha}
	if m.inner, ok = m.after(key, 0x36); !ok {
		return nil
	}
	if m.outer, ok = m.after(key, 0x5c); !ok {
		return nil
	}
	msg := make([]byte, 0, 256)
	for _, n := range [...]int{0, 55, 56, 64, 150} { // that end at every kind of place in a block
		msg = msg[:n]
		should := hmac.New(sha256.New, key)
		_, _ = should.Write(msg)
		if sum, ok := m.sum(nil, &msg); !ok || !hmac.Equal(sum, should.Sum(nil)) {
			return nil
		}
	}
	return m
}

// another is one for another goroutine, nil of nil.
func (m *macStates) another() *macStates {
	if m == nil {
		return nil
	}
	return &macStates{sha: sha256.New().(shaState), inner: m.inner, outer: m.outer}
}

// after is the state when a key was read, every byte of it combined with pad.
func (m *macStates) after(key []byte, pad byte) ([]byte, bool) {
	var block [sha256.BlockSize]byte
	copy(block[:], key)
	for i := range block {
		block[i] ^= pad
	}
	m.sha.Reset()
	_, _ = m.sha.Write(block[:])
	state, err := m.sha.AppendBinary(nil)
	return state, err == nil && len(state) == stateSize
}

// sum appends the MAC of msg to dst. It writes behind msg, which grows where it has to
// and is as long as before. It fails where a state cannot be had.
func (m *macStates) sum(dst []byte, msg *[]byte) ([]byte, bool) {
	size := len(*msg)
	whole := padded(*msg, size)
	*msg = whole[:size]
	words, ok := m.hash(m.inner, whole)
	if !ok {
		return dst, false
	}
	copy(m.last[:], words)
	words, ok = m.hash(m.outer, padded(m.last[:sha256.Size], sha256.Size))
	return append(dst, words...), ok
}

// padded appends what ends a message of size bytes that follows a key's block.
func padded(msg []byte, size int) []byte {
	const lengthSize = 8
	msg = append(msg, 0x80)
	if free := -(len(msg) + lengthSize) & (sha256.BlockSize - 1); free > 0 {
		msg = append(msg, zeros[:free]...)
	}
	return binary.BigEndian.AppendUint64(msg, uint64(sha256.BlockSize+size)*8)
}

var zeros [sha256.BlockSize]byte

// hash goes on from a state with whole blocks and returns the words of the state that
// follows, good until the next call.
func (m *macStates) hash(from, blocks []byte) ([]byte, bool) {
	if m.sha.UnmarshalBinary(from) != nil {
		return nil, false
	}
	_, _ = m.sha.Write(blocks)
	state, err := m.sha.AppendBinary(m.state[:0])
	if err != nil || len(state) != stateSize {
		return nil, false
	}
	return state[wordsFrom:wordsTo], true
}
