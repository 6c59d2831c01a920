package redisstore

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestReplies(t *testing.T) {
	for raw, want := range map[string]reply{
		"$-1\r\n":                 {},
		"*-1\r\n":                 {},
		"_\r\n":                   {},
		"+OK\r\n":                 {kind: status, text: []byte("OK")},
		"-ERR no\r\n":             {kind: failure, text: []byte("ERR no")},
		":-2\r\n":                 {kind: integer, n: -2},
		"$0\r\n\r\n":              {kind: bulk, text: []byte{}},
		"$4\r\na\r\nb\r\n":        {kind: bulk, text: []byte("a\r\nb")},
		"*2\r\n$1\r\na\r\n:7\r\n": {kind: array, items: []reply{{kind: bulk, text: []byte("a")}, {kind: integer, n: 7}}},
		"*0\r\n":                  {kind: array},
	} {
		got, err := parse([]byte(raw))
		if err != nil || !same(got, want) {
			t.Errorf("%q was read as %+v, %v, want %+v", raw, got, err, want)
		}
		if got.kind == bulk && got.text == nil {
			t.Errorf("%q: a value is never nil", raw)
		}
	}
	for _, raw := range []string{
		"", "\r\n", "$", "$-1", "$-2\r\n", "$5\r\nabc\r\n", "$3\r\nabcd\r\n", "$3\r\nabc", "$x\r\n\r\n", ":x\r\n", ":\r\n", "*2\r\n:1\r\n",
		"*99999999\r\n", "$99999999999999999999\r\n", "$-1\r\n$-1\r\n", "?\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", "+OK\n",
	} {
		if got, err := parse([]byte(raw)); err == nil {
			t.Errorf("%q was read as %+v", raw, got)
		}
	}
}

func same(a, b reply) bool {
	if a.kind != b.kind || a.n != b.n || !bytes.Equal(a.text, b.text) || len(a.items) != len(b.items) {
		return false
	}
	for i := range a.items {
		if !same(a.items[i], b.items[i]) {
			return false
		}
	}
	return true
}

// Whatever comes in, reading it neither panics nor reads on; and what was read as
// a value was on the wire.
func FuzzReply(f *testing.F) {
	for _, seed := range []string{"$-1\r\n", "$3\r\nabc\r\n", "*2\r\n$1\r\na\r\n:-1\r\n", "-MOVED 1 h:2\r\n", "*1\r\n*1\r\n_\r\n", ":9\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		kept := bytes.Clone(raw)
		r, err := parse(raw)
		if !bytes.Equal(raw, kept) {
			t.Fatal("reading changed the bytes")
		}
		if err != nil {
			return
		}
		if r.kind == bulk && !bytes.Contains(raw, r.text) {
			t.Fatalf("%q is not in %q", r.text, raw)
		}
		_, _ = r.time()
		_ = r.unexpected("TEST").Error()
	})
}

func TestTimes(t *testing.T) {
	for ttl, want := range map[time.Duration]int64{
		1: 1, time.Microsecond: 1, time.Millisecond: 1, time.Millisecond + 1: 2, 1500 * time.Microsecond: 2,
		time.Second: 1000, 194 * 24 * time.Hour: 194 * 24 * 3600 * 1000,
	} {
		if got := millis(ttl); got != want {
			t.Errorf("%v is given as %d ms, want %d", ttl, got, want)
		}
	}
	for pttl, want := range map[int64]time.Duration{0: time.Millisecond, 1: 2 * time.Millisecond, pttlForever: 0, pttlGone: 0} {
		if got := timeLeft(pttl); got != want {
			t.Errorf("PTTL %d is told as %v, want %v", pttl, got, want)
		}
	}
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]bool{"6.2.14": true, "7.0.15": false, "7.2.4": false, "8.4.0": false, "10.0.0": false, "": false, "x.y": false} {
		if got := (findings{version: version}).before7(); got != want {
			t.Errorf("version %q claims by script: %v, want %v", version, got, want)
		}
	}
}

func TestVersionsWithIFEQ(t *testing.T) {
	for f, want := range map[findings]bool{
		{version: "8.4.0"}: true, {version: "8.2.9"}: false, {version: "9.0.0"}: true, {version: "7.0.15"}: false, {}: false,
		{version: "7.2.4", valkey: "8.1.0"}: true, {version: "7.2.4", valkey: "8.0.2"}: false, {version: "7.2.4", valkey: "9.0"}: true,
	} {
		if got := f.swapsAlone(); got != want {
			t.Errorf("%+v swaps by SET IFEQ: %v, want %v", f, got, want)
		}
	}
}

func TestInfoFields(t *testing.T) {
	info := "# Server\r\nredis_version:7.0.15\r\nrole:master\r\nmaxmemory_policy:noeviction\r\n"
	for name, want := range map[string]string{"redis_version": "7.0.15", "role": "master", "maxmemory_policy": "noeviction", "version": "", "absent": ""} {
		if got := infoField(info, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestRefusalsAreShort(t *testing.T) {
	if got := refusal(bytes.Repeat([]byte("x"), 5000)).Error(); len(got) > 300 {
		t.Errorf("a refusal of 5,000 bytes became an error of %d", len(got))
	}
	raw := []byte("ERR a  'b'")
	if got := refusal(raw).Error(); !strings.HasSuffix(got, "ERR a…") || string(raw) != "ERR a  'b'" {
		t.Errorf("got %q, and left %q", got, raw)
	}
}
