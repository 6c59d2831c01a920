package idem

import (
	"bytes"
	"crypto/fips140"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"testing"
)

// TestMACStatesAreHMAC compares with crypto/hmac at every length around the ends of
// blocks, each message after another one of the same state.
func TestMACStatesAreHMAC(t *testing.T) {
	for _, size := range []int{1, 20, 32, 63, sha256.BlockSize} {
		key := bytes.Repeat([]byte{0xa5}, size)
		states := newMACStates(key).another()
		if states == nil {
			t.Fatalf("no states of a key of %d bytes", size)
		}
		should := hmac.New(sha256.New, key)
		var msg []byte
		for n := range 5 * sha256.BlockSize {
			should.Reset()
			_, _ = should.Write(msg)
			was := bytes.Clone(msg)
			sum, ok := states.sum(nil, &msg)
			if !ok || !bytes.Equal(sum, should.Sum(nil)) {
				t.Errorf("key of %d bytes, message of %d: %x", size, n, sum)
			}
			if !bytes.Equal(msg, was) {
				t.Errorf("a message of %d bytes was changed", n)
			}
			msg = append(msg, byte(n))
		}
	}
}

// TestMACStatesVectors are vectors of RFC 4231 section 4.
func TestMACStatesVectors(t *testing.T) {
	for _, v := range []struct {
		key, msg []byte
		sum      string
	}{
		{bytes.Repeat([]byte{0x0b}, 20), []byte("Hi There"), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
		{[]byte("Jefe"), []byte("what do ya want for nothing?"), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
		{bytes.Repeat([]byte{0xaa}, 20), bytes.Repeat([]byte{0xdd}, 50), "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
	} {
		if sum, ok := newMACStates(v.key).sum(nil, &v.msg); !ok || hex.EncodeToString(sum) != v.sum {
			t.Errorf("%q: %x, want %s", v.msg, sum, v.sum)
		}
	}
}

// TestMACStatesAreCompared: a hash whose states are not as expected makes no MACs, and
// nobody notices but the clock.
func TestMACStatesAreCompared(t *testing.T) {
	if m := newMACStates(make([]byte, sha256.BlockSize+1)); m != nil {
		t.Error("a key of more than a block, which HMAC hashes first, has states")
	}
	with, without := newKeyedHash(testSecret('a'), "label"), newKeyedHash(testSecret('a'), "label")
	without.pool.New = func() any {
		h := newKeyedHash(testSecret('a'), "label").take()
		h.states = nil
		return h
	}
	a, b := with.take(), without.take()
	for range 2 {
		a.msg, b.msg = append(a.msg, "message"...), append(b.msg, "message"...)
		if !bytes.Equal(a.digest(), b.digest()) {
			t.Error("two MACs of one message")
		}
		with.give(a)
		without.give(b)
		a, b = with.take(), without.take()
	}
	broken := newMACStates(testSecret('a'))
	broken.inner = broken.inner[1:]
	if _, ok := broken.sum(nil, new([]byte)); ok {
		t.Error("a sum from a state that is none")
	}
	a.msg, b.msg = append(a.msg, "more"...), append(b.msg, "more"...)
	if a.states = broken; !bytes.Equal(a.digest(), b.digest()) {
		t.Error("a MAC is lost where its states fail")
	}
}

// In FIPS 140 mode, which a process begins in, MACs are left to crypto/hmac, and they
// are the same.
func TestInFIPSModeMACsAreLeftToCryptoHMAC(t *testing.T) {
	const told = "IDEM_TEST_FIPS_MAC"
	h := newKeyedHash(testSecret('a'), "label").take()
	h.msg = append(h.msg, "message"...)
	sum := hex.EncodeToString(h.digest())
	if want := os.Getenv(told); want != "" {
		if !fips140.Enabled() || h.states != nil || sum != want {
			t.Errorf("FIPS mode %v, states %v, MAC %s, want %s", fips140.Enabled(), h.states != nil, sum, want)
		}
		return
	}
	if h.states == nil {
		t.Error("outside of it there are no states")
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), "GODEBUG=fips140=on", told+"="+sum)
	if out, err := child.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("%v: %s", err, out)
	}
}
