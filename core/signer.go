package idem

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"
)

// minSecret is the least length in bytes of every secret of the house.
const minSecret = 32

// maxContext is the longest context a token can be bound to, in bytes.
const maxContext = 256

// maxKeyID is the highest id of a signing key: a token has five bits for it.
const maxKeyID = 31

// SigningKey is one key of the ring that signs tokens. A ring is rotated in
// steps, each rolled out to every process before the next: add the new key as
// VerifyOnly; make it the one that signs and the old one VerifyOnly; drop the
// old one no sooner than the longest retention after its last signature.
//
// It redacts itself: no way of printing or marshalling it shows the secret.
type SigningKey struct {
	ID         uint8  // 0 to 31, travels in the token; never reuse one for another secret
	Secret     []byte // at least 32 random bytes, see [GenerateKey]
	VerifyOnly bool   // it verifies what it signed elsewhere or before, and signs nothing
}

// String tells the key's id and part, never its secret.
func (k SigningKey) String() string {
	if k.VerifyOnly {
		return fmt.Sprintf("signing key k%d (verifies only)", k.ID)
	}
	return fmt.Sprintf("signing key k%d", k.ID)
}

// GoString is String: %#v shows no more than %v.
func (k SigningKey) GoString() string { return k.String() }

// Format is String for every verb.
func (k SigningKey) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// MarshalText is String.
func (k SigningKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// LogValue is String.
func (k SigningKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// GenerateKey returns 32 random bytes, fit for a [SigningKey] or a [NameKey].
// A key made at start is for demonstrations: the next process cannot read what
// this one signed, nor find the records it named. Keep real ones where all
// processes of a service read the same.
func GenerateKey() []byte {
	secret := make([]byte, minSecret)
	_, _ = rand.Read(secret) // never fails: crypto/rand ends the process instead
	return secret
}

// Signer issues and verifies tokens with a ring of keys. It holds no state but
// its keys, issues without any call to a store, and may be used from any number
// of goroutines. Make one with [NewSigner] and hand it to the guard.
type Signer struct {
	ring  [maxKeyID + 1]*ringKey // by id, nil where there is none
	signs uint8
}

// ringKey is one secret split in two, so that neither MAC can stand in for the
// other.
type ringKey struct {
	ours *keyedHash // first MAC: is it ours, and whose
	page *keyedHash // second MAC: is it for this page and client
}

// NewSigner builds a signer from a ring, of which exactly one key signs. It
// reports everything wrong with the ring at once: no key, an id above 31 or
// given twice, a secret under 32 bytes, none or several that sign. The secrets
// are copied.
func NewSigner(keys ...SigningKey) (*Signer, error) {
	var errs []error
	if len(keys) == 0 {
		return nil, errors.New("the ring is empty: give one signing key of at least 32 random bytes")
	}
	s := &Signer{}
	signing := 0
	for _, k := range keys {
		if k.ID > maxKeyID {
			errs = append(errs, fmt.Errorf("signing key k%d: an id is 0 to %d", k.ID, maxKeyID))
			continue
		}
		if s.ring[k.ID] != nil {
			errs = append(errs, fmt.Errorf("signing key k%d is given twice: every key needs an id of its own", k.ID))
		}
		s.ring[k.ID] = &ringKey{}
		if len(k.Secret) < minSecret {
			errs = append(errs, fmt.Errorf("signing key k%d: the secret has %d bytes, it needs at least %d random ones", k.ID, len(k.Secret), minSecret))
		} else {
			s.ring[k.ID].ours = newKeyedHash(k.Secret, "idem token v1: ours")
			s.ring[k.ID].page = newKeyedHash(k.Secret, "idem token v1: page")
		}
		if !k.VerifyOnly {
			s.signs = k.ID
			signing++
		}
	}
	if signing != 1 {
		errs = append(errs, fmt.Errorf("%d keys of the ring sign: exactly one must, mark the others VerifyOnly", signing))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return s, nil
}

// String tells the ids of the ring, for the start-up report.
func (s *Signer) String() string {
	if s == nil {
		return "signer(none)"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "signer(signs with k%d, verifies", s.signs)
	for id, k := range s.ring {
		if k != nil {
			fmt.Fprintf(&b, " k%d", id)
		}
	}
	return b.String() + ")"
}

// GoString is String.
func (s *Signer) GoString() string { return s.String() }

// issue makes a token that lives as long as the code says from now on, for one
// operation and scope, bound to a context and client traits ("" and nil bind it
// to none). It fails where the context is too long or the clock is outside the
// years a token can say.
func (s *Signer) issue(now time.Time, life byte, operation, scope, context string, traits []string) (Token, error) {
	if len(context) > maxContext {
		return Token{}, fmt.Errorf("the context has %d bytes, a token can be bound to at most %d: name the thing, not its content", len(context), maxContext)
	}
	seconds := now.Unix()
	if seconds < 0 || seconds > math.MaxUint32 {
		return Token{}, fmt.Errorf("the clock says %s: a token can say 1970 to 2106", now.UTC().Format(time.RFC3339))
	}
	t := Token{set: true}
	t.raw[0] = tokenVersion<<5 | s.signs
	t.raw[tokenAtLife] = life
	binary.BigEndian.PutUint32(t.raw[tokenAtIssued:], uint32(seconds))
	key := s.ring[s.signs]

	// The nonce is drawn in the pooled state: one on the stack would escape.
	h := key.ours.take()
	_, _ = rand.Read(h.sum[:tokenAtOurs-tokenAtNonce]) // never fails
	copy(t.raw[tokenAtNonce:tokenAtOurs], h.sum[:])
	h.addOurs(&t, operation, scope)
	copy(t.raw[tokenAtOurs:tokenAtPage], h.digest())
	key.ours.give(h)

	h = key.page.take()
	h.addPage(&t, context, traits)
	copy(t.raw[tokenAtPage:], h.digest())
	key.page.give(h)
	return t, nil
}

// verify judges a token without any store. ours says that we issued it for this
// operation and scope; bound says besides that it is for this context and these
// traits. To start a run a token must be both; one that is only ours may still
// find the run it had (PROTOCOL section 4). Forged, foreign, unknown key,
// unknown version and stamped in the future all read the same: not ours.
func (s *Signer) verify(t Token, now time.Time, operation, scope, context string, traits []string) (ours, bound bool) {
	if s == nil || !t.set || t.version() != tokenVersion {
		return false, false
	}
	key := s.ring[t.keyID()]
	if key == nil || t.issuedAt().After(now.Add(futureStamp)) {
		return false, false
	}
	h := key.ours.take()
	h.addOurs(&t, operation, scope)
	ours = subtle.ConstantTimeCompare(h.digest()[:tokenAtPage-tokenAtOurs], t.raw[tokenAtOurs:tokenAtPage]) == 1
	key.ours.give(h)
	if !ours {
		return false, false
	}
	h = key.page.take()
	h.addPage(&t, context, traits)
	bound = subtle.ConstantTimeCompare(h.digest()[:tokenBytes-tokenAtPage], t.raw[tokenAtPage:]) == 1
	key.page.give(h)
	return true, bound
}

// addOurs frames what the first MAC covers.
func (h *hashState) addOurs(t *Token, operation, scope string) {
	h.msg = append(h.msg, t.raw[:tokenAtOurs]...)
	h.msg = appendFramed(h.msg, operation)
	h.msg = appendFramed(h.msg, scope)
}

// addPage frames what the second MAC covers. The nonce, which the first MAC
// covers too, ties the two together.
func (h *hashState) addPage(t *Token, context string, traits []string) {
	h.msg = append(h.msg, t.raw[tokenAtNonce:tokenAtOurs]...)
	h.msg = appendFramed(h.msg, context)
	h.msg = binary.AppendUvarint(h.msg, uint64(len(traits)))
	for _, trait := range traits {
		h.msg = appendFramed(h.msg, trait)
	}
}
