package httpflow

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	idem "github.com/go-idem/idem/core"
)

// Given bodies of several kinds, when they are kept, then those are compressed
// that get smaller by it, and every one comes back byte for byte (B9).
func TestKeptBodiesAreCompressedWhereThatHelps(t *testing.T) {
	random := make([]byte, 64<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(random)
	text := strings.Repeat(`{"order":7,"lines":[{"sku":"a","n":1}]},`, 100)
	for name, c := range map[string]struct {
		reply   Reply
		version byte
		atMost  int
	}{
		"text":                     {Reply{Status: 200, Body: []byte(text)}, replyVersionCompressed, len(text) / 4},
		"text below the limit":     {Reply{Status: 200, Body: []byte(text[:compressFrom-1])}, replyVersion, compressFrom + 10},
		"text at the limit":        {Reply{Status: 200, Body: []byte(text[:compressFrom])}, replyVersionCompressed, compressFrom / 2},
		"a picture, say":           {Reply{Status: 200, Body: random}, replyVersion, len(random) + 10},
		"random after text":        {Reply{Status: 200, Body: append([]byte(text), random...)}, replyVersion, len(random) + len(text) + 10},
		"zeros, one MiB":           {Reply{Status: 200, Body: make([]byte, 1<<20)}, replyVersionCompressed, 16 << 10},
		"encoded by its handler":   {Reply{Status: 200, Body: []byte(text), Fields: []Field{{"Content-Encoding", "br"}}}, replyVersion, len(text) + 20},
		"nothing is kept of it":    {Reply{Status: 200, Partial: true}, replyVersion, 20},
		"text with fields, partly": {Reply{Status: 201, Body: []byte(text), Fields: []Field{{"Location", "/x"}}}, replyVersionCompressed, len(text) / 4},
	} {
		t.Run(name, func(t *testing.T) {
			kept, err := codec{}.Encode(&c.reply)
			if err != nil || kept.Bytes[0] != c.version || len(kept.Bytes) > c.atMost {
				t.Fatalf("kept as version %d in %d bytes, want version %d in at most %d; %v", kept.Bytes[0], len(kept.Bytes), c.version, c.atMost, err)
			}
			got, err := codec{}.Decode(kept)
			if err != nil || !bytes.Equal(got.Body, c.reply.Body) || got.Status != c.reply.Status || len(got.Fields) != len(c.reply.Fields) {
				t.Errorf("came back as %d with %d bytes, %v", got.Status, len(got.Body), err)
			}
		})
	}
}

func TestADamagedCompressedBodyIsNoAnswer(t *testing.T) {
	kept, _ := codec{}.Encode(&Reply{Status: 200, Body: []byte(strings.Repeat("one two three ", 200))})
	if kept.Bytes[0] != replyVersionCompressed {
		t.Fatal("not compressed")
	}
	for cut := 1; cut < len(kept.Bytes); cut++ {
		if r, err := (codec{}).Decode(idem.Payload{Bytes: kept.Bytes[:cut]}); err == nil {
			t.Errorf("cut off at %d of %d bytes it was read as %d bytes", cut, len(kept.Bytes), len(r.Body))
		}
	}
	for _, change := range []func(b []byte){
		func(b []byte) { b[5]++ },     // the length told
		func(b []byte) { b[12] ^= 9 }, // the bytes
	} {
		b := bytes.Clone(kept.Bytes)
		change(b)
		if r, err := (codec{}).Decode(idem.Payload{Bytes: b}); err == nil && len(r.Body) != 2800 {
			t.Errorf("damaged, it was read as %d bytes", len(r.Body))
		}
	}
}

func BenchmarkCompress(b *testing.B) {
	text := []byte(strings.Repeat(`{"order":7,"lines":[{"sku":"a","n":1}]},`, 100))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (codec{}).Encode(&Reply{Status: 200, Body: text}); err != nil {
			b.Fatal(err)
		}
	}
}
