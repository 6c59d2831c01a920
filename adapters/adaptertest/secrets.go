package adaptertest

import (
	"crypto/sha256"
	"fmt"

	idem "github.com/go-idem/idem/core"
)

// The secrets below are made of a text in the open. That is what a test server
// needs, whose processes have to agree without being told anything, and what no
// other server may do.

// TestNameKey is the name key of test servers; which tells several apart.
func TestNameKey(which string) idem.NameKey {
	sum := sha256.Sum256([]byte("a name key for tests, known to everybody " + which))
	return idem.NameKey(sum[:])
}

// TestSigner is a ring of test keys: ids[0] signs, the others verify. None at
// all is the ring of key 1.
func TestSigner(ids ...int) (*idem.Signer, error) {
	if len(ids) == 0 {
		ids = []int{1}
	}
	ring := make([]idem.SigningKey, len(ids))
	for i, id := range ids {
		if id < 0 || id > 31 {
			return nil, fmt.Errorf("test signing key %d: an id is 0 to 31", id)
		}
		sum := sha256.Sum256(fmt.Appendf(nil, "a signing key for tests, known to everybody %d", id))
		ring[i] = idem.SigningKey{ID: uint8(id), Secret: sum[:], VerifyOnly: i > 0}
	}
	return idem.NewSigner(ring...)
}

// TestSealer is a ring of test keys: ids[0] seals, the others open. None at all is
// no sealer, nil.
func TestSealer(ids ...int) (*idem.Sealer, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	ring := make([]idem.SealingKey, len(ids))
	for i, id := range ids {
		if id < 0 || id > 255 {
			return nil, fmt.Errorf("test sealing key %d: an id is 0 to 255", id)
		}
		sum := sha256.Sum256(fmt.Appendf(nil, "a sealing key for tests, known to everybody %d", id))
		ring[i] = idem.SealingKey{ID: uint8(id), Secret: sum[:], OpenOnly: i > 0}
	}
	return idem.NewSealer(ring...)
}
