package httpflow

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	idem "github.com/go-idem/idem/core"
)

func replies() []*Reply {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	return []*Reply{
		{Status: 204, Fields: []Field{}},
		{Status: 200, Fields: []Field{}, Body: []byte("0")},
		{Status: 201, Fields: []Field{{"Content-Type", "application/json"}, {"Location", "/orders/7"}, {"X-Step", "one"}, {"X-Step", "two"}}, Body: every},
		{Status: 599, Fields: []Field{{"X-Empty", ""}, {"Link", strings.Repeat("l", 127)}, {"Vary", strings.Repeat("v", 128)}, {strings.Repeat("N", 20_000), "x"}}, Body: bytes.Repeat([]byte{0}, 1<<20)},
		{Status: 101, Fields: []Field{{"Location", "/x"}}, Partial: true},
	}
}

func TestCodecGivesBackWhatItKept(t *testing.T) {
	for i, want := range replies() {
		kept, err := codec{}.Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := codec{}.Decode(kept)
		if err != nil {
			t.Fatalf("reply %d: %v", i, err)
		}
		if len(want.Body) == 0 {
			want.Body = got.Body[:0]
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("reply %d: got %d fields and %d bytes, want %d and %d", i, len(got.Fields), len(got.Body), len(want.Fields), len(want.Body))
		}
	}
}

// The bytes are a format: what a release has written the next one reads.
func TestCodecBytesAreAFormat(t *testing.T) {
	kept, _ := codec{}.Encode(&Reply{Status: 201, Fields: []Field{{"Content-Type", "text/plain"}, {"X-A", "b"}}, Body: []byte("ok")})
	const want = "01c9010213" + "010a746578742f706c61696e" + "0003582d410162" + "6f6b"
	if got := fmt.Sprintf("%x", kept.Bytes); got != want {
		t.Errorf("kept as %s, want %s", got, want)
	}
	if fieldNames[1] != "Content-Type" || fieldNames[2] != "Location" || fieldNames[19] != "Content-Security-Policy" {
		t.Error("the list of common names was changed; it only grows at its end")
	}
}

// Whatever has a place in the list is taken for kept without a further look.
func TestCommonNamesAreKept(t *testing.T) {
	for _, name := range fieldNames[1:] {
		if slices.Contains(notKept[:], name) || slices.ContainsFunc(notKeptPrefixes[:], func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			t.Errorf("%s is on the deny-list", name)
		}
		if canonical(name) != name {
			t.Errorf("%s is not spelt as it comes", name)
		}
	}
}

func TestCodecRefusesWhatItDidNotWrite(t *testing.T) {
	whole, _ := codec{}.Encode(replies()[2])
	head := len(whole.Bytes) - 256
	for cut := range head {
		if _, err := (codec{}).Decode(idem.Payload{Bytes: whole.Bytes[:cut]}); err == nil {
			t.Errorf("cut off at %d of %d bytes of head, it was still read", cut, head)
		}
	}
	for name, b := range map[string]string{
		"nothing": "", "a newer version": "\x03\xc9\x01\x00\x00", "status 0": "\x01\x00\x00\x00", "status 1000": "\x01\xe8\x07\x00\x00",
		"more fields than bytes": "\x01\xc9\x01\x7f\x02\x01\x00", "an unknown name": "\x01\xc9\x01\x01\x02\xff\x00",
		"an empty name": "\x01\xc9\x01\x01\x03\x00\x00\x00", "a head that is too long": "\x01\xc9\x01\x00\x01x", "an endless number": "\x01" + strings.Repeat("\xff", 11),
	} {
		if r, err := (codec{}).Decode(idem.Payload{Bytes: []byte(b)}); err == nil {
			t.Errorf("%s: read as %+v", name, r)
		}
	}
	if r, err := (codec{}).Decode(idem.Payload{Partial: true}); err != nil || !r.Partial {
		t.Errorf("an answer of which nothing was kept: %v", err)
	}
}

func FuzzDecodeReply(f *testing.F) {
	for _, r := range replies() {
		kept, _ := codec{}.Encode(r)
		f.Add(kept.Bytes[:min(len(kept.Bytes), 300)], r.Partial)
	}
	f.Fuzz(func(t *testing.T, b []byte, partial bool) {
		r, err := codec{}.Decode(idem.Payload{Bytes: b, Partial: partial})
		if err != nil {
			return
		}
		if r.Status == 0 { // of a partial answer of which nothing was kept
			if !partial || len(b) > 0 {
				t.Fatalf("status 0 of %x", b)
			}
			return
		}
		// What can be read can be kept again, and is the same answer then.
		again, err := codec{}.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := codec{}.Decode(again)
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Fatalf("%x was read as %+v, kept again it reads %+v, %v", b, r, got, err)
		}
	})
}

func TestOutcomeOfAStatus(t *testing.T) {
	p := &idem.Policy{On4xx: idem.Release, OnOther4xx: idem.Keep, On5xx: idem.Doubt}
	for _, c := range []struct {
		r    Reply
		want idem.Outcome
	}{
		{Reply{Status: 200}, idem.Completes}, {Reply{Status: 422}, idem.Releases}, {Reply{Status: 404}, idem.Fails}, {Reply{Status: 500}, idem.Doubts},
		{Reply{Status: 101, Partial: true}, idem.Completes}, // the connection was handed over
	} {
		if got := (codec{}).Outcome(p, &c.r); got != c.want {
			t.Errorf("%d: %s, want %s", c.r.Status, got, c.want)
		}
	}
}
