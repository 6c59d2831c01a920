package idem

import (
	"bytes"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// maxOperation is the longest name of an operation in bytes.
const maxOperation = 100

// ValidOperation says what is wrong with the name of an operation, nil if
// nothing. A name is system:domain:action: three parts of lower-case letters,
// digits, '-', '_' and '.', at most 100 bytes in all. It stands in record
// names, spans and metrics as it is, so nothing in it may need escaping.
func ValidOperation(operation string) error {
	if operation == "" {
		return errors.New("the operation has no name: name it system:domain:action, such as shop:order:create")
	}
	if len(operation) > maxOperation {
		return fmt.Errorf("the operation's name has %d bytes, at most %d are allowed", len(operation), maxOperation)
	}
	parts := strings.Split(operation, ":")
	if len(parts) != 3 {
		return fmt.Errorf("operation %q has %d parts: name it system:domain:action, such as shop:order:create", operation, len(parts))
	}
	for _, part := range parts {
		if part == "" {
			return fmt.Errorf("operation %q has an empty part: name it system:domain:action", operation)
		}
		for _, r := range part {
			if !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.') {
				return fmt.Errorf("operation %q holds %q: only a-z, 0-9, '-', '_' and '.' are allowed in its three parts", operation, r)
			}
		}
	}
	return nil
}

// maxPrefix leaves room for the longest operation in a name of 200 bytes.
const maxPrefix = 64

// validPrefix says what is wrong with the prefix of record names, nil if
// nothing. An operation has three parts, so behind a colon no two prefixes and
// operations make one name: without it "shop" + "a:b:c" would be "sho" + "pa:b:c",
// and two operations would have one card. Braces would send every record to one
// node of a cluster, and a scan reads '*', '?', '[' and '\' as patterns.
func validPrefix(prefix string) error {
	switch {
	case len(prefix) > maxPrefix || strings.ContainsFunc(prefix, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("config: Prefix must be at most %d bytes of printable ASCII without spaces", maxPrefix)
	case strings.ContainsAny(prefix, `{}*?[]\`):
		return fmt.Errorf("config: Prefix %q holds one of { } * ? [ ] \\, which stores read as more than a name", prefix)
	case !strings.HasSuffix(prefix, ":"):
		return fmt.Errorf("config: Prefix %q must end in ':', so that no other prefix and operation make the same names", prefix)
	}
	return nil
}

// KeyKind tells issued tokens from every other key, so that nobody can reach
// the record of a token by sending its characters as an Idempotency-Key.
type KeyKind byte

// The kinds. The bytes are part of every record name and never change.
const (
	KindToken KeyKind = 't' // a token issued by a [Signer]
	KindKey   KeyKind = 'k' // an Idempotency-Key, or a key derived by a key source
)

// String returns "token" or "key", "" for anything else.
func (k KeyKind) String() string {
	switch k {
	case KindToken:
		return "token"
	case KindKey:
		return "key"
	}
	return ""
}

// NameKey is the secret behind record names, fingerprints and downstream keys,
// so that what the store holds tells nothing about the keys and bodies it stands
// for. At least 32 random bytes, see [GenerateKey]. Every process of a service
// needs the same one, and it must not change while records live: under another
// key no record is found and everything would run again. The guard looks at that
// through each operation's card.
//
// It redacts itself: no way of printing or marshalling it shows the bytes.
type NameKey []byte

// NewNameKey returns a copy of a secret as a name key, or an error if it has
// less than 32 bytes.
func NewNameKey(secret []byte) (NameKey, error) {
	if len(secret) < minSecret {
		return nil, fmt.Errorf("the name key has %d bytes, it needs at least %d random ones", len(secret), minSecret)
	}
	return NameKey(bytes.Clone(secret)), nil
}

// String tells that there is a key, and nothing of it.
func (k NameKey) String() string {
	if len(k) == 0 {
		return "name key(none)"
	}
	return "name key(…)"
}

// GoString is String: %#v shows no more than %v.
func (k NameKey) GoString() string { return k.String() }

// Format is String for every verb.
func (k NameKey) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// MarshalText is String.
func (k NameKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// LogValue is String.
func (k NameKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// namer makes every keyed hash of a guard from its name key. The labels stand
// for ever: changing one changes every name. Safe for concurrent use.
type namer struct {
	names      *keyedHash
	prints     *keyedHash
	downstream *keyedHash
	scopes     *keyedHash
	check      string
}

const labelRecordNames = "idem name key v1: record names"

func newNamer(key NameKey) (*namer, error) {
	if _, err := NewNameKey(key); err != nil {
		return nil, err
	}
	h := newKeyedHash(key, "idem name key v1: check").take()
	return &namer{
		names:      newKeyedHash(key, labelRecordNames),
		prints:     newKeyedHash(key, "idem name key v1: fingerprints"),
		downstream: newKeyedHash(key, "idem name key v1: downstream keys"),
		scopes:     newKeyedHash(key, "idem name key v1: scopes"),
		check:      hex.EncodeToString(h.digest()[:8]),
	}, nil
}

// checkValue tells one name key from another: 16 hex digits, for the card. It
// is no secret.
func (n *namer) checkValue() string { return n.check }

// base32Lower writes hashes so that they survive every store, file name and
// terminal: lower case, no padding, no letters that look like digits.
var base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

const (
	nameHashBytes = 16 // 128 bits of every record name's hash
	nameHashChars = 26
)

// RecordName returns the name under which the store keeps the record of a key:
//
//	{prefix}{operation}:{26 characters}
//
// for operators who hold a key and look for its record. For [KindKey], key is
// the bare key, as [ParseKey] returns it; for [KindToken] it is the token's 32
// characters. It looks nothing up: a scope nobody has, or a key never used, has
// a name like any other. It returns "" where there can be no record at all: key
// is no token, or the name key is too short to be one.
//
// The 26 characters are 128 bits of a keyed hash: without the name key, a name
// tells nothing of the key, the scope, or whether two records share either.
func RecordName(nameKey NameKey, prefix, operation, scope string, kind KeyKind, key string) string {
	if len(nameKey) < minSecret {
		return ""
	}
	n := &namer{names: newKeyedHash(nameKey, labelRecordNames)}
	if kind != KindToken {
		return n.recordName(prefix, operation, scope, kind, key)
	}
	t, err := ParseToken(key)
	if err != nil {
		return ""
	}
	return n.tokenRecord(prefix, operation, scope, t)
}

// tokenRecord names the record of a token by its first 13 bytes, version to
// nonce. The second MAC must play no part: a token shown on the wrong page still
// has to find the run it had. The first MAC adds nothing to these bytes, the
// operation and the scope, of which it is a function.
func (n *namer) tokenRecord(prefix, operation, scope string, t Token) string {
	return n.recordName(prefix, operation, scope, KindToken, string(t.raw[:tokenAtOurs]))
}

// keyRecord names the record of a client's key, or of one that was derived.
func (n *namer) keyRecord(prefix, operation, scope, key string) string {
	return n.recordName(prefix, operation, scope, KindKey, key)
}

// recordName names the record of a key.
func (n *namer) recordName(prefix, operation, scope string, kind KeyKind, key string) string {
	h := n.names.take()
	h.msg = appendFramed(h.msg, operation)
	h.msg = appendFramed(h.msg, scope)
	h.msg = append(h.msg, byte(kind))
	h.msg = appendFramed(h.msg, key)
	sum := h.digest()[:nameHashBytes]

	h.msg = append(append(append(h.msg[:0], prefix...), operation...), ':')
	h.msg = base32Lower.AppendEncode(h.msg, sum)
	name := string(h.msg)
	n.names.give(h)
	return name
}

// KeyHash returns the keyed hash of a record's key in 16 hex digits, as it
// stands in spans, logs and the audit: the first 64 of the 128 bits that the
// record's name carries, so an operator can get from one to the other. It
// returns "" for what is not the name of a record, such as a card's.
func KeyHash(recordName string) string {
	if len(recordName) <= nameHashChars || recordName[len(recordName)-nameHashChars-1] != ':' {
		return ""
	}
	var sum [nameHashBytes]byte
	var text [nameHashChars]byte
	copy(text[:], recordName[len(recordName)-nameHashChars:])
	if n, err := base32Lower.Decode(sum[:], text[:]); err != nil || n != nameHashBytes {
		return ""
	}
	return hex.EncodeToString(sum[:8])
}

// scopeHash returns a keyed hash of a scope in 16 hex digits, for audit and
// logs: the same scope gives the same digits in every operation, and nobody
// without the name key can tell whose they are.
func (n *namer) scopeHash(scope string) string { return n.scopeSum(scope).String() }

func (n *namer) scopeSum(scope string) scopeHash {
	h := n.scopes.take()
	h.msg = append(h.msg, scope...)
	sum := scopeHash(h.digest()[:len(scopeHash{})])
	n.scopes.give(h)
	return sum
}

// downstreamKey derives the key under which a run asks another system, such as
// a payment provider: 32 characters (160 bits, short enough for every provider
// we know of). It is a function of the record, so that a retake sends the same
// one and a resolver can ask with it; another request or another label gives
// another key. Hand it the fingerprint as the record keeps it.
func (n *namer) downstreamKey(recordName string, asked Fingerprint, label string) string {
	h := n.downstream.take()
	h.msg = appendFramed(h.msg, recordName)
	h.msg = append(append(h.msg, asked.Version), asked.Sum[:]...)
	h.msg = appendFramed(h.msg, label)
	key := base32Lower.EncodeToString(h.digest()[:20])
	n.downstream.give(h)
	return key
}
