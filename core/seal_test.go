package idem

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func testSealingKey(id uint8, openOnly bool) SealingKey {
	return SealingKey{ID: id, Secret: bytes.Repeat([]byte{id + 1}, 32), OpenOnly: openOnly}
}

// sealerOf is a ring of test keys, the first of which seals.
func sealerOf(t testing.TB, ids ...uint8) *Sealer {
	t.Helper()
	var ring []SealingKey
	for i, id := range ids {
		ring = append(ring, testSealingKey(id, i > 0))
	}
	s, err := NewSealer(ring...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatIsWrongWithASealingRingIsSaidAtOnce(t *testing.T) {
	short := SealingKey{ID: 3, Secret: []byte("short")}
	for _, row := range []struct {
		name string
		ring []SealingKey
		says []string // nil: nothing is wrong
	}{
		{"one key", []SealingKey{testSealingKey(255, false)}, nil},
		{"one seals, one opens", []SealingKey{testSealingKey(1, false), testSealingKey(2, true)}, nil},
		{"none seals yet", []SealingKey{testSealingKey(1, true)}, nil},
		{"empty", nil, []string{"empty"}},
		{"twice", []SealingKey{testSealingKey(1, false), testSealingKey(1, true)}, []string{"s1 is given twice"}},
		{"two seal, one is short", []SealingKey{testSealingKey(1, false), short}, []string{"2 keys of the ring seal", "s3: the secret has 5 bytes"}},
	} {
		s, err := NewSealer(row.ring...)
		if (err == nil) != (row.says == nil) || (s == nil) != (err != nil) {
			t.Errorf("%s: %v, %v", row.name, s, err)
		}
		for _, part := range row.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", row.name, err, part)
			}
		}
	}
}

func TestSealingKeysRedactThemselves(t *testing.T) {
	k := SealingKey{ID: 7, Secret: []byte("0123456789abcdef-a-sealing-secret")}
	s, err := NewSealer(k)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(k)
	shown := fmt.Sprintf("%v %+v %#v %s %x %s %v %+v %#v %v", k, k, k, text, k, k.LogValue(), s, s, s, []SealingKey{k})
	if strings.Contains(shown, "secret") || strings.Contains(shown, "30313233") || !strings.Contains(shown, "s7") {
		t.Errorf("shown: %s", shown)
	}
	if got := sealerOf(t, 2, 1).String(); got != "sealer(seals with s2, opens s1 s2)" {
		t.Error(got)
	}
	opens, _ := NewSealer(testSealingKey(1, true))
	if got := opens.String() + (*Sealer)(nil).String(); got != "sealer(seals nothing, opens s1)sealer(none)" {
		t.Error(got)
	}
}

func TestSealedBytesAreWrittenAsRecordsSayTheyAre(t *testing.T) {
	s := sealerOf(t, 9)
	for name, r := range map[string]record{
		"answer":         {state: StateSucceeded, answered: true, payload: Payload{Bytes: []byte("the answer")}},
		"empty answer":   {state: StateSucceeded, answered: true, payload: Payload{Bytes: []byte{}}},
		"partial answer": {state: StateFailed, answered: true, payload: Payload{Partial: true}},
		"longest note":   {state: StateProcessing, trace: make([]byte, 25), note: bytes.Repeat([]byte("n"), maxNote)},
		"both":           {state: StateSucceeded, note: []byte("n"), answered: true, payload: Payload{Bytes: []byte("a")}},
	} {
		g := &Guard{sealer: s}
		value := g.encode("name", &r)
		if len(value) != g.encodedSize(&r) || cap(value) != len(value) {
			t.Errorf("%s: %d bytes in %d, and encodedSize says %d", name, len(value), cap(value), g.encodedSize(&r))
		}
		got, err := decodeRecord(value)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if again := got.append(nil); !bytes.Equal(again, value) || got.size() != len(value) {
			t.Errorf("%s: read and written again, unopened:\n%x\n%x", name, again, value)
		}
		if r.answered && (got.payload.Partial != r.payload.Partial || value[len(value)-len(got.payload.Bytes)] != 9) {
			t.Errorf("%s: partial %v, and the key's id is not in front of %x", name, got.payload.Partial, got.payload.Bytes)
		}
		if f := readFound(Result{Value: value}); (f.unread != nil) != r.answered {
			t.Errorf("%s: unopened, and unread is %v", name, f.unread)
		}
		f := g.read("name", Result{Value: value})
		if f.unread != nil || f.rec.answered != r.answered || !bytes.Equal(f.rec.payload.Bytes, r.payload.Bytes) || !bytes.Equal(g.noteOf("name", &f.rec), r.note) {
			t.Errorf("%s: opened: %v, %+v", name, f.unread, f.rec)
		}
	}
}

// FuzzSealedRecord says that nothing but what a key of the ring has sealed is
// read as an answer, whatever stands in the store. (Each process of a fuzzer has
// sealed it anew.)
func FuzzSealedRecord(f *testing.F) {
	s := sealerOf(f, 1)
	g := &Guard{sealer: s, log: discarded()}
	answered := record{state: StateSucceeded, trace: make([]byte, 25), note: []byte("n"), answered: true, payload: Payload{Bytes: []byte("the answer")}}
	genuine := g.encode("name", &answered)
	f.Add(genuine)
	f.Add(g.encode("another", &answered))
	f.Add(answered.append(nil))
	f.Add(g.encode("name", &record{state: StateUncertain, note: []byte("order 7")}))
	f.Fuzz(func(t *testing.T, value []byte) {
		found := g.read("name", Result{Value: value})
		if found.value == nil || found.unread != nil {
			return
		}
		done := found.rec.state == StateSucceeded || found.rec.state == StateFailed
		sealed := bytes.Equal(value[:headSize], genuine[:headSize]) && string(found.rec.payload.Bytes) == "the answer"
		if (done || found.rec.answered) && !sealed {
			t.Fatalf("%x was read as an answer", value)
		}
		_ = g.noteOf("name", &found.rec)
	})
}
