package idem

import (
	"bytes"
	"encoding/hex"
	"testing"
)

func TestRecordLayout(t *testing.T) {
	r := record{
		state: StateProcessing, flags: flagEffects | flagForced,
		owner: owner{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, fence: 0x01020304050607, counter: 0x0809,
		lease: 300, t0: 86400, fp: Fingerprint{Version: 0xfe, Sum: [15]byte{0xaa, 14: 0xbb}},
	}
	want := "11" + "05" + "0102030405060708090a0b0c" + "01020304050607" + "0809" + "012c" + "015180" + "fe" +
		"aa" + "0000000000000000000000000000"[:26] + "bb"
	value := r.append(nil)
	if got := hex.EncodeToString(value); got != want {
		t.Errorf("a claim is\n%s, want\n%s", got, want)
	}
	if len(value) != headSize || r.size() != len(value) {
		t.Errorf("a claim has %d bytes (size says %d), want %d", len(value), r.size(), headSize)
	}
	traced := r
	traced.trace = bytes.Repeat([]byte{7}, traceSize)
	if n := len(traced.append(nil)); n > 80 || n != traced.size() {
		t.Errorf("a claim with a trace link has %d bytes (size says %d), want at most 80", n, traced.size())
	}
}

func TestRecordRoundTrip(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for name, r := range map[string]record{
		"claim":          {state: StateProcessing},
		"answer":         {state: StateSucceeded, answered: true, payload: Payload{Bytes: all}},
		"empty answer":   {state: StateSucceeded, answered: true, payload: Payload{Bytes: []byte{}}},
		"partial answer": {state: StateFailed, answered: true, payload: Payload{Bytes: []byte("/done/1"), Partial: true}},
		"tail":           {state: StateUncertain, flags: flagTail, trace: all[:25], note: all[:256]},
		"tail, answer":   {state: StateSucceeded, flags: flagTail, note: all[:1], answered: true, payload: Payload{Bytes: all[:1]}},
	} {
		t.Run(name, func(t *testing.T) {
			value := r.append([]byte("x"))[1:]
			got, err := decodeRecord(value)
			if err != nil {
				t.Fatal(err)
			}
			if again := got.append(nil); !bytes.Equal(again, value) {
				t.Errorf("read and written again:\n%x\n%x", again, value)
			}
			if got.answered != r.answered || got.payload.Partial != r.payload.Partial || !bytes.Equal(got.payload.Bytes, r.payload.Bytes) {
				t.Errorf("answer %v %+v, want %v %+v", got.answered, got.payload, r.answered, r.payload)
			}
		})
	}
}

func TestTraceIsKeptWholeOrNotAtAll(t *testing.T) {
	parent := "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	if got := string(unpackTrace(packTrace([]byte(parent)))); got != parent {
		t.Errorf("kept %q of %q", got, parent)
	}
	for _, bad := range []string{"", "00", parent[:54], "01" + parent[2:], "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"} {
		if got := packTrace([]byte(bad)); got != nil {
			t.Errorf("%q was kept as %x", bad, got)
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add((&record{state: StateProcessing}).append(nil))
	f.Add((&record{state: StateSucceeded, trace: make([]byte, 25), note: []byte("n"), answered: true, payload: Payload{Bytes: []byte("a")}}).append(nil))
	f.Add([]byte{0x12, 0xff})
	f.Fuzz(func(t *testing.T, value []byte) {
		r, err := decodeRecord(value)
		if err != nil {
			return
		}
		again, err := decodeRecord(r.append(nil))
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if again.state != r.state || again.fence != r.fence || again.answered != r.answered || !bytes.Equal(again.payload.Bytes, r.payload.Bytes) || !bytes.Equal(again.note, r.note) {
			t.Fatalf("read %+v, then %+v", r, again)
		}
	})
}
