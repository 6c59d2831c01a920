package idem

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"log/slog"
	"time"
)

// The bytes of a token (design: PROTOCOL section 6):
//
//	 0        1      2           6                  13                21       24
//	┌────────┬──────┬───────────┬──────────────────┬─────────────────┬────────┐
//	│ver│key │ life │ issued at │ nonce            │ MAC: is it ours │ MAC:   │
//	│ 3 │ 5  │ code │ seconds   │ 7 random bytes   │ and whose       │ page   │
//	└────────┴──────┴───────────┴──────────────────┴─────────────────┴────────┘
//	└──────────── these 13 bytes name the token ───┘
//
// 24 bytes are exactly 32 characters of base64url with no bits to spare, so a
// token has one spelling only, and no padding that a form could lose.
const (
	tokenVersion = 1

	tokenAtLife   = 1
	tokenAtIssued = 2
	tokenAtNonce  = 6
	tokenAtOurs   = 13
	tokenAtPage   = 21
	tokenBytes    = 24
	tokenChars    = tokenBytes / 3 * 4
)

// Where a token travels in a body. Both are left out of the fingerprint: the
// token names the request, it is no part of what is asked.
const (
	// TokenField is the form field of a token.
	TokenField = "idempotent-token"
	// TokenMember is the top-level JSON member of a token.
	TokenMember = "idempotentToken"
)

var (
	errTokenLength   = fmt.Errorf("%w: a token has exactly %d characters", ErrMalformed, tokenChars)
	errTokenAlphabet = fmt.Errorf("%w: a token consists of A-Z, a-z, 0-9, - and _ only", ErrMalformed)
)

// Token names one intent of one scope: whoever sends it twice means the same
// thing twice. It is a plain value that may be copied, compared and used as a
// map key; the zero Token means "none".
//
// A token is a secret of its page: printed, logged or marshalled in any way it
// shows only its key and times. [Token.Reveal] is the one door to its characters.
type Token struct {
	raw [tokenBytes]byte
	set bool
}

// ParseToken reads the 32 characters of a token. Any other length, padding, or
// a character outside the base64url alphabet is [ErrMalformed]; the error never
// holds what was read. A token that parses is not yet one of ours: only the
// guard, which holds the ring, can tell.
func ParseToken(text string) (Token, error) {
	if len(text) != tokenChars {
		return Token{}, errTokenLength
	}
	var in [tokenChars]byte
	copy(in[:], text)
	t := Token{set: true}
	// The decoder skips line breaks; a text with one comes out short.
	if n, err := base64.RawURLEncoding.Decode(t.raw[:], in[:]); err != nil || n != tokenBytes {
		return Token{}, errTokenAlphabet
	}
	return t, nil
}

// Reveal returns the token's 32 characters, for the hidden field of a form, the
// answer of the token endpoint, or the header of a request; "" for the zero
// Token. Keep them out of logs.
func (t Token) Reveal() string {
	if !t.set {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(t.raw[:])
}

// IsZero says that there is no token.
func (t Token) IsZero() bool { return !t.set }

// String tells a token's key and times, never what would let somebody use it.
func (t Token) String() string {
	if !t.set {
		return "token(none)"
	}
	return fmt.Sprintf("token(k%d issued %s for %s …)", t.keyID(), t.issuedAt().Format(time.RFC3339), t.life())
}

// GoString is String: %#v shows no more than %v.
func (t Token) GoString() string { return t.String() }

// Format is String for every verb: fmt would print the bytes for %d otherwise.
func (t Token) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(t.String())) }

// MarshalText is String, so that no encoder lets a token out unseen. Answers
// that are meant to carry one call [Token.Reveal].
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// LogValue is String.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

func (t Token) version() byte { return t.raw[0] >> 5 }

// keyID is the ring's key that is said to have signed the token.
func (t Token) keyID() uint8 { return t.raw[0] & 31 }

// issuedAt is when the token was issued, in whole seconds. Like everything a
// token says, it is worth nothing before the first MAC was verified.
func (t Token) issuedAt() time.Time {
	return time.Unix(int64(binary.BigEndian.Uint32(t.raw[tokenAtIssued:])), 0).UTC()
}

// life is how long after issuedAt the token can start a first run.
func (t Token) life() time.Duration { return lifeOf(t.raw[tokenAtLife]) }

// lifeUnits are what the high two bits of a life code count in.
var lifeUnits = [4]time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour}

// lifeOf returns the life that a code says: 1 to 64 seconds, minutes, hours or
// days. Every byte is a code.
func lifeOf(code byte) time.Duration {
	return lifeUnits[code>>6] * time.Duration(code&63+1)
}

// lifeCode returns the code of a life, in the smallest unit that can say it. A
// life that cannot be said exactly is an error which names the nearest ones.
func lifeCode(life time.Duration) (byte, error) {
	below, above := time.Duration(0), time.Duration(0)
	for code := range 256 {
		switch d := lifeOf(byte(code)); {
		case d == life:
			return byte(code), nil
		case d < life:
			below = max(below, d)
		case above == 0 || d < above:
			above = d
		}
	}
	const rule = "a token's life is 1 to 64 whole seconds, minutes, hours or days"
	switch {
	case below == 0:
		return 0, fmt.Errorf("life %v cannot be said: %s; the nearest is %v", life, rule, above)
	case above == 0:
		return 0, fmt.Errorf("life %v cannot be said: %s; the nearest is %v", life, rule, below)
	}
	return 0, fmt.Errorf("life %v cannot be said: %s; the nearest are %v and %v", life, rule, below, above)
}
