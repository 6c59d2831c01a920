package idem

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// testSecret is a secret of 32 bytes, each letter another.
func testSecret(letter byte) []byte { return bytes.Repeat([]byte{letter}, 32) }

func testSigner(t testing.TB) *Signer {
	t.Helper()
	s, err := NewSigner(SigningKey{ID: 3, Secret: testSecret('a')})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNewSignerReportsEverythingWrongAtOnce(t *testing.T) {
	tests := map[string]struct {
		ring []SigningKey
		want []string // nil: nothing is wrong
	}{
		"one key":            {[]SigningKey{{ID: 0, Secret: testSecret('a')}}, nil},
		"a ring in rotation": {[]SigningKey{{ID: 0, Secret: testSecret('a'), VerifyOnly: true}, {ID: 31, Secret: testSecret('b')}}, nil},
		"empty":              {nil, []string{"the ring is empty"}},
		"short":              {[]SigningKey{{ID: 1, Secret: testSecret('a')[:31]}}, []string{"k1", "has 31 bytes"}},
		"id too high":        {[]SigningKey{{ID: 32, Secret: testSecret('a')}}, []string{"k32", "0 to 31"}},
		"two sign":           {[]SigningKey{{ID: 1, Secret: testSecret('a')}, {ID: 2, Secret: testSecret('b')}}, []string{"2 keys of the ring sign"}},
		"none signs":         {[]SigningKey{{ID: 1, Secret: testSecret('a'), VerifyOnly: true}}, []string{"0 keys of the ring sign"}},
		"everything at once": {[]SigningKey{{ID: 1, Secret: nil}, {ID: 1, Secret: testSecret('b')}, {ID: 40}}, []string{"k1: the secret has 0 bytes", "k1 is given twice", "k40", "2 keys"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := NewSigner(tt.ring...)
			if (err != nil) != (tt.want != nil) || (s == nil) != (tt.want != nil) {
				t.Fatalf("signer %v, error %v", s, err)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error lacks %q:\n%v", part, err)
				}
			}
		})
	}
}

// TestTokenBytesAreThoseOfThePage builds a token by hand from PROTOCOL section 6
// and has it verified: the layout, the labels and the framing may not drift, or
// a deploy would refuse the pages that are open.
func TestTokenBytesAreThoseOfThePage(t *testing.T) {
	mac := func(label string, message string) []byte {
		key, err := hkdf.Key(sha256.New, testSecret('a'), nil, label, 32)
		if err != nil {
			t.Fatal(err)
		}
		h := hmac.New(sha256.New, key)
		h.Write([]byte(message))
		return h.Sum(nil)
	}
	head := "\x23" + "\x4e" + "\x6b\x49\xd2\x00" // version 1 key 3, 15 min, 2027-01-15 08:00:00
	nonce := "nonce-7"
	ours := mac("idem token v1: ours", head+nonce+"\x11shop:order:create"+"\x05alice")
	page := mac("idem token v1: page", nonce+"\x06cart-9"+"\x02"+"\x0d203.0.113.0/2"+"\x02ua")
	tok := Token{set: true}
	copy(tok.raw[:], head+nonce+string(ours[:8])+string(page[:3]))

	traits := []string{"203.0.113.0/2", "ua"}
	if o, b := testSigner(t).verify(tok, time.Unix(1_800_000_000, 0), "shop:order:create", "alice", "cart-9", traits); !o || !b {
		t.Errorf("ours %v, bound %v", o, b)
	}
	if tok.life() != 15*time.Minute || tok.issuedAt() != time.Unix(1_800_000_000, 0).UTC() || tok.keyID() != 3 {
		t.Errorf("read as %v", tok)
	}
}

func TestStatement45_VerifyTellsForeignFromUnbound(t *testing.T) {
	const op, scope, page = "shop:order:create", "alice", "cart-9"
	traits := []string{"ip", "ua"}
	now := time.Unix(1_800_000_000, 0)
	s := testSigner(t)
	other, err := NewSigner(SigningKey{ID: 3, Secret: testSecret('b')})
	if err != nil {
		t.Fatal(err)
	}
	tok, err := s.issue(now, 0x4e, op, scope, page, traits)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(change func(*Token)) Token { c := tok; change(&c); return c }
	tests := map[string]struct {
		signer      *Signer
		tok         Token
		now         time.Time
		op, scope   string
		page        string
		traits      []string
		ours, bound bool
	}{
		"as issued":                  {s, tok, now, op, scope, page, traits, true, true},
		"long after its life":        {s, tok, now.Add(1000 * time.Hour), op, scope, page, traits, true, true},
		"clock a minute behind":      {s, tok, now.Add(-time.Minute), op, scope, page, traits, true, true},
		"stamped in the future":      {s, tok, now.Add(-time.Minute - time.Second), op, scope, page, traits, false, false},
		"other operation":            {s, tok, now, "shop:order:cancel", scope, page, traits, false, false},
		"other scope":                {s, tok, now, op, "mallory", page, traits, false, false},
		"no scope":                   {s, tok, now, op, "", page, traits, false, false},
		"border of names moved":      {s, tok, now, op + "a", "lice", page, traits, false, false},
		"other context":              {s, tok, now, op, scope, "cart-8", traits, true, false},
		"no context":                 {s, tok, now, op, scope, "", traits, true, false},
		"other client":               {s, tok, now, op, scope, page, []string{"ip", "other"}, true, false},
		"traits swapped":             {s, tok, now, op, scope, page, []string{"ua", "ip"}, true, false},
		"traits run together":        {s, tok, now, op, scope, page, []string{"ipua"}, true, false},
		"no traits":                  {s, tok, now, op, scope, page, nil, true, false},
		"context moved into a trait": {s, tok, now, op, scope, "", []string{page, "ip", "ua"}, true, false},
		"other ring, same id":        {other, tok, now, op, scope, page, traits, false, false},
		"no signer":                  {nil, tok, now, op, scope, page, traits, false, false},
		"no token":                   {s, Token{}, now, op, scope, page, traits, false, false},
		"unknown key":                {s, changed(func(c *Token) { c.raw[0] ^= 1 }), now, op, scope, page, traits, false, false},
		"unknown version":            {s, changed(func(c *Token) { c.raw[0] ^= 0x40 }), now, op, scope, page, traits, false, false},
		"longer life":                {s, changed(func(c *Token) { c.raw[1]++ }), now, op, scope, page, traits, false, false},
		"second MAC wrong":           {s, changed(func(c *Token) { c.raw[23] ^= 1 }), now, op, scope, page, traits, true, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ours, bound := tt.signer.verify(tt.tok, tt.now, tt.op, tt.scope, tt.page, tt.traits)
			if ours != tt.ours || bound != tt.bound {
				t.Errorf("ours %v, bound %v; want %v, %v", ours, bound, tt.ours, tt.bound)
			}
		})
	}
}

// TestEveryBitOfATokenIsCovered flips each of the 192 bits.
func TestEveryBitOfATokenIsCovered(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := testSigner(t)
	tok, err := s.issue(now, 0, "a:b:c", "alice", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range tokenBytes * 8 {
		forged := tok
		forged.raw[bit/8] ^= 1 << (bit % 8)
		ours, bound := s.verify(forged, now, "a:b:c", "alice", "", nil)
		if wantOurs := bit/8 >= tokenAtPage; ours != wantOurs || bound {
			t.Errorf("bit %d flipped: ours %v, bound %v", bit, ours, bound)
		}
	}
}

// TestATokenOfAnotherVersionIsNotOurs, even if its MACs are: what a later
// version means by these bytes is not known here.
func TestATokenOfAnotherVersionIsNotOurs(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := testSigner(t)
	for version := range byte(8) {
		tok, err := s.issue(now, 0, "a:b:c", "alice", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		tok.raw[0] = version<<5 | 3
		h := s.ring[3].ours.take()
		h.addOurs(&tok, "a:b:c", "alice")
		copy(tok.raw[tokenAtOurs:tokenAtPage], h.digest())
		if ours, _ := s.verify(tok, now, "a:b:c", "alice", "", nil); ours != (version == tokenVersion) {
			t.Errorf("version %d: ours %v", version, ours)
		}
	}
}

// TestTheTwoMACsCannotStandInForEachOther: one secret, two keys.
func TestTheTwoMACsCannotStandInForEachOther(t *testing.T) {
	key := testSigner(t).ring[3]
	sums := map[string]bool{}
	for _, k := range []*keyedHash{key.ours, key.page, newKeyedHash(testSecret('a'), labelRecordNames)} {
		h := k.take()
		h.msg = append(h.msg, "the same message"...)
		sums[string(h.digest())] = true
		k.give(h)
	}
	if len(sums) != 3 {
		t.Errorf("%d different sums of 3", len(sums))
	}
}

// TestStatement53_RotationRefusesNothing walks two servers through a rotation,
// one step at a time; in between they differ.
func TestStatement53_RotationRefusesNothing(t *testing.T) {
	oldKey, newKey := SigningKey{ID: 1, Secret: testSecret('a')}, SigningKey{ID: 2, Secret: testSecret('b')}
	verifies := func(k SigningKey) SigningKey { k.VerifyOnly = true; return k }
	steps := [][]SigningKey{
		{oldKey},
		{oldKey, verifies(newKey)},
		{verifies(oldKey), newKey},
	}
	server := func(ring []SigningKey) *Signer {
		s, err := NewSigner(ring...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	now := time.Unix(1_800_000_000, 0)
	refused := func(issuer, verifier []SigningKey) bool {
		tok, err := server(issuer).issue(now, 0, "a:b:c", "alice", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		ours, bound := server(verifier).verify(tok, now, "a:b:c", "alice", "", nil)
		return !ours || !bound
	}
	for i := range len(steps) - 1 {
		for _, pair := range [][2]int{{i, i}, {i, i + 1}, {i + 1, i}, {i + 1, i + 1}} {
			if refused(steps[pair[0]], steps[pair[1]]) {
				t.Errorf("issued in step %d, refused in step %d", pair[0], pair[1])
			}
		}
	}
	if !refused(steps[2], steps[0]) {
		t.Error("control: a rotation in one step must be seen to refuse tokens")
	}
}

func TestIssueRefusesWhatATokenCannotSay(t *testing.T) {
	s := testSigner(t)
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	tests := map[string]struct {
		now     time.Time
		context string
		want    string
	}{
		"ordinary":         {year(2026), strings.Repeat("c", 256), ""},
		"last year":        {year(2106), "", ""},
		"context too long": {year(2026), strings.Repeat("c", 257), "at most 256"},
		"before 1970":      {year(1969), "", "1970 to 2106"},
		"after 2106":       {year(2107), "", "1970 to 2106"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tok, err := s.issue(tt.now, 0, "a:b:c", "alice", tt.context, nil)
			if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			if tok.IsZero() != (err != nil) {
				t.Errorf("token %v with error %v", tok, err)
			}
		})
	}
}

// TestTokensAreIndependent issues many in one second for one page, from many
// goroutines, and verifies each elsewhere.
func TestTokensAreIndependent(t *testing.T) {
	const workers, each = 8, 500
	s := testSigner(t)
	now := time.Unix(1_800_000_000, 0)
	var mu sync.Mutex
	seen := make(map[Token]bool, workers*each)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			scope := fmt.Sprint("user-", w)
			for range each {
				tok, err := s.issue(now, 0, "a:b:c", scope, "page", nil)
				if err != nil {
					t.Error(err)
					return
				}
				if ours, bound := s.verify(tok, now, "a:b:c", scope, "page", nil); !ours || !bound {
					t.Error("a state was shared between goroutines: a good token was refused")
					return
				}
				mu.Lock()
				seen[tok] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != workers*each {
		t.Errorf("%d different tokens of %d", len(seen), workers*each)
	}
}

func TestStatement46_KeysRedactThemselves(t *testing.T) {
	secret := []byte("0123456789abcdefghijklmnopqrstuv")
	key := SigningKey{ID: 7, Secret: secret}
	name, err := NewNameKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := NewSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	names, err := newNamer(name)
	if err != nil {
		t.Fatal(err)
	}
	config := struct {
		Keys   []SigningKey
		Name   NameKey
		Signer *Signer
	}{[]SigningKey{key}, name, signer}
	var shown bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%b", "%c"} {
		for _, v := range []any{key, &key, name, signer, names, config, &config} {
			fmt.Fprintf(&shown, verb+"\n", v)
		}
	}
	out, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	shown.Write(out)
	for _, h := range []slog.Handler{slog.NewTextHandler(&shown, nil), slog.NewJSONHandler(&shown, nil)} {
		slog.New(h).Info("start", "key", key, "name", name, "signer", signer, "config", config)
	}
	assertHidden(t, shown.String(), secret)
	if text := signer.String(); text != "signer(signs with k7, verifies k7)" {
		t.Errorf("the ring's ids should be told: %s", text)
	}
}

func TestGenerateKeyFitsBoth(t *testing.T) {
	a, b := GenerateKey(), GenerateKey()
	if bytes.Equal(a, b) {
		t.Fatal("the same key twice")
	}
	if _, err := NewSigner(SigningKey{Secret: a}); err != nil {
		t.Error(err)
	}
	if _, err := NewNameKey(b); err != nil {
		t.Error(err)
	}
}

// TestB3_TokensAllocateNothing: the time half of budget B3 is for the
// benchmarks.
func TestB3_TokensAllocateNothing(t *testing.T) {
	if poolsLeak {
		t.Skip("allocations cannot be counted under the race detector")
	}
	s := testSigner(t)
	now := time.Unix(1_800_000_000, 0)
	traits := []string{"203.0.113.0/24"}
	tok, _ := s.issue(now, 0, "shop:order:create", "tenant-7/user-4711", "cart-9", traits)
	if n := testing.AllocsPerRun(500, func() { s.verify(tok, now, "shop:order:create", "tenant-7/user-4711", "cart-9", traits) }); n != 0 {
		t.Errorf("verify allocates %v times", n)
	}
	if n := testing.AllocsPerRun(500, func() { _, _ = s.issue(now, 0, "shop:order:create", "tenant-7/user-4711", "cart-9", traits) }); n != 0 {
		t.Errorf("issue allocates %v times", n)
	}
}

func BenchmarkB3_Verify(b *testing.B) {
	s := testSigner(b)
	now := time.Unix(1_800_000_000, 0)
	tok, _ := s.issue(now, 0, "shop:order:create", "tenant-7/user-4711", "cart-9", nil)
	b.ReportAllocs()
	for b.Loop() {
		if ours, bound := s.verify(tok, now, "shop:order:create", "tenant-7/user-4711", "cart-9", nil); !ours || !bound {
			b.Fatal("refused")
		}
	}
}

func BenchmarkB3_Issue(b *testing.B) {
	s := testSigner(b)
	now := time.Unix(1_800_000_000, 0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.issue(now, 0, "shop:order:create", "tenant-7/user-4711", "cart-9", nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkB14_Forged is all that core does about a forged token.
func BenchmarkB14_Forged(b *testing.B) {
	s := testSigner(b)
	now := time.Unix(1_800_000_000, 0)
	tok, _ := s.issue(now, 0, "shop:order:create", "tenant-7/user-4711", "cart-9", nil)
	tok.raw[tokenAtOurs] ^= 1
	text := tok.Reveal()
	b.ReportAllocs()
	for b.Loop() {
		forged, err := ParseToken(text)
		if err != nil {
			b.Fatal(err)
		}
		if ours, _ := s.verify(forged, now, "shop:order:create", "tenant-7/user-4711", "cart-9", nil); ours {
			b.Fatal("accepted")
		}
	}
}
