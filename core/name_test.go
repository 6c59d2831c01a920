package idem

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"
	"time"
)

func testNamer(t testing.TB) *namer {
	t.Helper()
	n, err := newNamer(testSecret('n'))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestValidOperation(t *testing.T) {
	tests := map[string]string{ // operation → what the error says, "" for none
		"shop:order:create":              "",
		"s-1:o_2:c.3":                    "",
		"a:b:" + strings.Repeat("c", 96): "",
		"a:b:" + strings.Repeat("c", 97): "at most 100",
		"":                               "has no name",
		"create":                         "has 1 parts",
		"order:create":                   "has 2 parts",
		"a:b:c:d":                        "has 4 parts",
		"a::c":                           "empty part",
		":b:c":                           "empty part",
		"a:b:":                           "empty part",
		"Shop:order:new":                 `'S'`,
		"shop:order:new order":           `' '`,
		"shop:order:*":                   `'*'`,
		"shop:{order}:x":                 `'{'`,
		"shop:order:é":                   `'é'`,
		"shop:order:x\n":                 `'\n'`,
		"shop:order:x\x00":               `'\x00'`,
	}
	for operation, want := range tests {
		err := ValidOperation(operation)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", operation, err, want)
		}
	}
}

// TestRecordNameIsThatOfThePage computes a name by hand from PROTOCOL section 7.
// A name that drifts makes every record of the last version unfindable, and
// everything runs again.
//
// Faults: 18.
func TestRecordNameIsThatOfThePage(t *testing.T) {
	key, err := hkdf.Key(sha256.New, testSecret('n'), nil, "idem name key v1: record names", 32)
	if err != nil {
		t.Fatal(err)
	}
	h := hmac.New(sha256.New, key)
	h.Write([]byte("\x11shop:order:create" + "\x05alice" + "k" + "\x03abc"))
	hash := strings.ToLower(strings.TrimRight(base32.StdEncoding.EncodeToString(h.Sum(nil)[:16]), "="))
	want := "idem:shop:order:create:" + hash
	if got := RecordName(testSecret('n'), "idem:", "shop:order:create", "alice", KindKey, "abc"); got != want {
		t.Errorf("name %s, want %s", got, want)
	}
	if got := testNamer(t).keyRecord("idem:", "shop:order:create", "alice", "abc"); got != want {
		t.Errorf("the guard's name %s, the operator's %s", got, want)
	}
	const kept = "idem:shop:order:create:sr7oagylmmncfmdchqdtis6chu"
	if want != kept {
		t.Errorf("name %s, it was %s in the first release", want, kept)
	}
}

// Faults: 49.
func TestRecordNamesTellApart(t *testing.T) {
	n := testNamer(t)
	names := map[string]string{
		"a key":                     n.keyRecord("idem:", "a:b:c", "alice", "abc"),
		"other key":                 n.keyRecord("idem:", "a:b:c", "alice", "abd"),
		"other scope":               n.keyRecord("idem:", "a:b:c", "bob", "abc"),
		"no scope":                  n.keyRecord("idem:", "a:b:c", "", "abc"),
		"other operation":           n.keyRecord("idem:", "a:b:d", "alice", "abc"),
		"other kind":                n.recordName("idem:", "a:b:c", "alice", KindToken, "abc"),
		"border of scope and key":   n.keyRecord("idem:", "a:b:c", "alicek", "bc"),
		"border of scope and key 2": n.keyRecord("idem:", "a:b:c", "alic", "eabc"),
		"kind inside the scope":     n.keyRecord("idem:", "a:b:c", "alicek\x03abc", ""),
	}
	hashes := map[string]string{}
	for what, name := range names {
		hash := name[len(name)-nameHashChars:]
		if other, ok := hashes[hash]; ok {
			t.Errorf("%q and %q share a hash", what, other)
		}
		hashes[hash] = what
	}
}

// TestStatement07_NoKeyReachesAName: names are made of what stores and logs take
// as it is, whatever the key holds.
func TestStatement07_NoKeyReachesAName(t *testing.T) {
	shape := regexp.MustCompile(`^idem:shop:order:create:[a-z2-7]{26}$`)
	n := testNamer(t)
	for _, key := range []string{"", ":*{}", `'; drop table idem; --`, `"\r\n"`, "\r\nSET x 1\r\n", "{tag}", strings.Repeat("k", 255), "abc"} {
		for _, scope := range []string{"alice", "{t}:*\x00"} {
			name := n.keyRecord("idem:", "shop:order:create", scope, key)
			if !shape.MatchString(name) {
				t.Errorf("key %q makes the name %q", key, name)
			}
		}
	}
}

// TestTokenNamesItsRecordWhateverThePage: a token whose second MAC is wrong has
// to find the run it had.
func TestTokenNamesItsRecordWhateverThePage(t *testing.T) {
	n := testNamer(t)
	tok, err := testSigner(t).issue(time.Unix(1_800_000_000, 0), 0, "a:b:c", "alice", "cart-9", nil)
	if err != nil {
		t.Fatal(err)
	}
	name := n.tokenRecord("idem:", "a:b:c", "alice", tok)
	for i := range tokenBytes {
		changed := tok
		changed.raw[i] ^= 1
		same := n.tokenRecord("idem:", "a:b:c", "alice", changed) == name
		if names := i < tokenAtOurs; same == names {
			t.Errorf("byte %d changed: same name %v", i, same)
		}
	}
	if got := RecordName(testSecret('n'), "idem:", "a:b:c", "alice", KindToken, tok.Reveal()); got != name {
		t.Errorf("the operator's name %s, the guard's %s", got, name)
	}
	if got := n.keyRecord("idem:", "a:b:c", "alice", tok.Reveal()); got == name {
		t.Error("a token sent as an Idempotency-Key reaches the token's record")
	}
}

func TestKeyKindsHaveWords(t *testing.T) {
	for kind, want := range map[KeyKind]string{KindToken: "token", KindKey: "key", 0: ""} {
		if got := kind.String(); got != want {
			t.Errorf("kind %d reads %q, want %q", kind, got, want)
		}
	}
}

func TestRecordNameOfNothing(t *testing.T) {
	if got := RecordName(testSecret('n'), "idem:", "a:b:c", "alice", KindToken, "no token"); got != "" {
		t.Errorf("what is no token has the name %q", got)
	}
	if got := RecordName(testSecret('n')[:31], "idem:", "a:b:c", "alice", KindKey, "abc"); got != "" {
		t.Errorf("a short name key makes the name %q", got)
	}
	if _, err := NewNameKey(testSecret('n')[:31]); err == nil || !strings.Contains(err.Error(), "31 bytes") {
		t.Errorf("a short name key: error %v", err)
	}
}

func TestKeyHashIsTheStartOfTheName(t *testing.T) {
	name := testNamer(t).keyRecord("idem:", "a:b:c", "alice", "abc")
	raw, err := base32Lower.DecodeString(name[len(name)-26:])
	if err != nil {
		t.Fatal(err)
	}
	if got, want := KeyHash(name), hex.EncodeToString(raw[:8]); got != want {
		t.Errorf("key hash %s of %s, want %s", got, name, want)
	}
	for _, other := range []string{"", "idem:a:b:c:card", name[1+len(name)-27:], name[:len(name)-1] + "!", name[:len(name)-1] + "A"} {
		if got := KeyHash(other); got != "" {
			t.Errorf("%q is no record's name, but has the key hash %q", other, got)
		}
	}
}

// TestNamesOfAnotherKeyHaveNothingInCommon changes the name key and looks at
// everything made with it.
func TestNamesOfAnotherKeyHaveNothingInCommon(t *testing.T) {
	n := testNamer(t)
	other, err := newNamer(testSecret('m'))
	if err != nil {
		t.Fatal(err)
	}
	made := func(n *namer) []string {
		fp := n.fingerprint(FingerprintChoice{}, Content{Method: "POST", Path: "/"})
		return []string{
			n.keyRecord("", "a:b:c", "alice", "abc"), n.scopeHash("alice"), n.checkValue(),
			n.downstreamKey("name", Fingerprint{}, "stripe"), fp.String(),
		}
	}
	again, there := made(testNamer(t)), made(other)
	for i, here := range made(n) {
		if here != again[i] {
			t.Errorf("%q became %q under the same key", here, again[i])
		}
		if here == there[i] {
			t.Errorf("%q is the same under both keys", here)
		}
	}
	if hash := n.scopeHash("alice"); len(hash) != 16 || hash == n.scopeHash("bob") {
		t.Errorf("scope hash %q", hash)
	}
	if check := n.checkValue(); len(check) != 16 {
		t.Errorf("check value %q", check)
	}
}

func TestDownstreamKey(t *testing.T) {
	n := testNamer(t)
	asked := Fingerprint{Version: 1, Sum: [15]byte{1}}
	key := n.downstreamKey("idem:a:b:c:x", asked, "stripe")
	if !regexp.MustCompile(`^[a-z2-7]{32}$`).MatchString(key) {
		t.Errorf("key %q", key)
	}
	if again := n.downstreamKey("idem:a:b:c:x", asked, "stripe"); again != key {
		t.Errorf("a repeat asks with another key: %s, %s", key, again)
	}
	others := map[string]string{
		"record":      n.downstreamKey("idem:a:b:c:y", asked, "stripe"),
		"fingerprint": n.downstreamKey("idem:a:b:c:x", Fingerprint{Version: 1, Sum: [15]byte{2}}, "stripe"),
		"version":     n.downstreamKey("idem:a:b:c:x", Fingerprint{Version: 2, Sum: [15]byte{1}}, "stripe"),
		"label":       n.downstreamKey("idem:a:b:c:x", asked, "mail"),
	}
	for what, other := range others {
		if other == key {
			t.Errorf("another %s asks with the same key", what)
		}
	}
}

func TestNamesAllocateTheirTextOnly(t *testing.T) {
	if poolsLeak {
		t.Skip("allocations cannot be counted under the race detector")
	}
	n := testNamer(t)
	tok, _ := testSigner(t).issue(time.Unix(1_800_000_000, 0), 0, "a:b:c", "alice", "", nil)
	if got := testing.AllocsPerRun(500, func() { n.keyRecord("idem:", "a:b:c", "alice", "abc") }); got > 1 {
		t.Errorf("naming a key's record allocates %v times", got)
	}
	if got := testing.AllocsPerRun(500, func() { n.tokenRecord("idem:", "a:b:c", "alice", tok) }); got > 1 {
		t.Errorf("naming a token's record allocates %v times", got)
	}
}

func BenchmarkRecordName(b *testing.B) {
	n := testNamer(b)
	b.ReportAllocs()
	for b.Loop() {
		n.keyRecord("idem:", "shop:order:create", "tenant-7/user-4711", "8e03978e-40d5-43dd-bc93-6894a57f9324")
	}
}
