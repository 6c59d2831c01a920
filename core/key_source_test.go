package idem

import (
	"strings"
	"testing"
)

func TestKeySourcesAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string][]KeyPlace{
		"token":                       {{"token", ""}},
		"header:Idempotency-Key":      {{"header", "idempotency-key"}},
		"json:/order/id":              {{"json", "/order/id"}},
		"json:/a~1b/m~0n/0":           {{"json", "/a~1b/m~0n/0"}},
		"json:/":                      {{"json", "/"}},
		"form:order no":               {{"form", "order no"}},
		"path:*":                      {{"path", "*"}},
		"func:tenant":                 {{"func", "tenant"}},
		"json:/orderId+path:id":       {{"json", "/orderId"}, {"path", "id"}},
		"header:X-A+header:X-B":       {{"header", "x-a"}, {"header", "x-b"}},
		"func:shop+path:id+form:line": {{"func", "shop"}, {"path", "id"}, {"form", "line"}},
	} {
		s, err := ParseKeySource(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if len(s.Parts) != len(want) {
			t.Errorf("%s: %v, want %v", text, s.Parts, want)
			continue
		}
		for i := range want {
			if s.Parts[i] != want[i] {
				t.Errorf("%s: part %d is %v, want %v", text, i, s.Parts[i], want[i])
			}
		}
	}
}

func TestKeySourcesThatNobodyCouldFindAreRefused(t *testing.T) {
	for text, says := range map[string]string{
		"": "none of token", "cookie": "none of token", "query:id": "none of token", "pth:id": "none of token",
		"header": "names nothing", "header:": "names nothing", "header:a b": "none of a header", "header:a:b": "none of a header", "header:ä": "none of a header",
		"header:Idempotency-Token": "write token", "form:idempotent-token": "write token", "json:/idempotentToken": "write token",
		"json:orderId": "no JSON pointer", "json:/a~2": "no JSON pointer", "json:/a~": "no JSON pointer", "json:$.id": "no JSON pointer", "json:": "names nothing",
		"form:\x01": "control", "form:\xff": "UTF-8", "form:" + strings.Repeat("x", 257): "257 bytes",
		"path:{id}": "wildcard", "path::id": "wildcard", "path:rest...": "wildcard", "path:a/b": "wildcard", "func:": "names nothing",
		"token:x": "stands alone", "token+path:id": "stands alone", "json:/a+b": "joined by +", "path:id+": "none of token", "+path:id": "none of token",
		"path:id+path:id": "joined twice", "header:A+header:a": "joined twice",
		"path:1+path:2+path:3+path:4+path:5+path:6+path:7+path:8+path:9": "at most 8",
	} {
		if _, err := ParseKeySource(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: error %v, want one that says %q", text, err, says)
		}
	}
}

// A source of too many parts is refused before they are compared with each other.
func TestAKeySourceOfTooManyPartsIsNotReadToItsEnd(t *testing.T) {
	if _, err := ParseKeySource(strings.Repeat("cookie+", 10_000) + "cookie"); err == nil || len(err.Error()) > 100 || !strings.Contains(err.Error(), "10001 parts") {
		t.Errorf("%.200v", err)
	}
}

// Everything wrong with the key sources is said at once, at the start and when a
// policy is set later.
func TestAPolicysKeySourcesAreCheckedTogether(t *testing.T) {
	lost := func(KeyRequest) (string, error) { return "", nil }
	cfg := Config{Store: newShelf(), NameKey: testNameKey, Funcs: map[string]KeyFunc{"known": lost, "nil": nil}, Policies: []Policy{
		{Operation: testOperation, Preset: API, Key: []string{"json:id", "func:unknown", "func:nil+path:id", "path:x", "path:x", "func:known"}, Context: "json:cart"},
		{Operation: "test:other:run", Preset: API, Key: []string{"path:{id}"}},
	}}
	_, err := New(cfg)
	for _, want := range []string{`"json:id"`, "func:unknown", "func:nil", `"path:x" stands twice`, `context "json:cart"`, `policy "test:other:run"`, `"path:{id}"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
	if err != nil && strings.Contains(err.Error(), "func:known") {
		t.Errorf("the function that is there is named too: %v", err)
	}

	cfg.Policies = []Policy{{Operation: testOperation, Preset: API, Key: []string{"func:known"}}}
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close(t.Context()) }()
	if err := g.SetPolicy(Policy{Operation: testOperation, Preset: API, Key: []string{"func:unknown"}}); err == nil || !strings.Contains(err.Error(), "func:unknown") {
		t.Errorf("a policy with an unknown function was set: %v", err)
	}
	if g.KeyFunc("known") == nil || g.KeyFunc("unknown") != nil {
		t.Error("the guard's functions are not those of its Config")
	}
}

func TestSourcesSurviveTheirJSON(t *testing.T) {
	const text = `["token","header:X-Key","json:/a~1b+path:id","form:order no","func:tenant"]`
	policies, err := LoadPolicies([]byte(`[{"operation":"shop:order:create","key":` + text + `}]`))
	if err != nil {
		t.Fatal(err)
	}
	again, err := policies[0].MarshalJSON()
	if err != nil || !strings.Contains(string(again), `"key":`+text) {
		t.Errorf("written as %s, %v", again, err)
	}
}

func TestS7_JoinedPartsAreFramed(t *testing.T) {
	s, err := ParseKeySource("json:/orderId+path:id")
	if err != nil {
		t.Fatal(err)
	}
	one, other := s.Key(KeyValue{Text: "a"}, KeyValue{Text: "bc"}), s.Key(KeyValue{Text: "ab"}, KeyValue{Text: "c"})
	if one == other {
		t.Error(`"a" with "bc" and "ab" with "c" are one key`)
	}
	if one != s.Key(KeyValue{Text: "a"}, KeyValue{Text: "bc"}) {
		t.Error("the same values are two keys")
	}
}

// Derived keys differ where anything differs that they are made of.
func TestDerivedKeysAreOfTheirPlacesAndValues(t *testing.T) {
	str := func(texts ...string) (values []KeyValue) {
		for _, text := range texts {
			values = append(values, KeyValue{Text: text})
		}
		return values
	}
	seen := map[string]string{}
	for _, c := range []struct {
		source string
		values []KeyValue
	}{
		{"json:/id", str("7")}, {"json:/id", []KeyValue{{Text: "7", Number: true}}}, {"json:/id", []KeyValue{{Text: "7.0", Number: true}}},
		{"json:/ID", str("7")}, {"form:id", str("7")}, {"path:id", str("7")}, {"func:id", str("7")}, {"form:/id", str("7")},
		{"json:/id+path:id", str("a", "bc")}, {"json:/id+path:id", str("ab", "c")}, {"path:id+json:/id", str("ab", "c")}, {"json:/id+path:id", str("abc", "")},
		{"json:/id+path:id+form:x", str("a", "b", "c")}, {"header:X-Id+path:id", str("a", "bc")},
	} {
		s, err := ParseKeySource(c.source)
		if err != nil {
			t.Fatal(err)
		}
		key, what := s.Key(c.values...), c.source+" "+strings.Join(textsOf(c.values), "|")
		if before, there := seen[key]; there {
			t.Errorf("%s and %s are one key", before, what)
		}
		seen[key] = what
		if len(key) > maxKey || !isByteSequence(key) {
			t.Errorf("%s: the key %q is not of the form :…:, or too long", what, key)
		}
		if _, err := ParseKey(key, false); err == nil {
			t.Errorf("%s: a client can send the derived key %q", what, key)
		}
	}
	one, _ := ParseKeySource("header:X-Id+path:id")
	other, _ := ParseKeySource("header:x-id+path:id")
	if one.Key(str("a", "b")...) != other.Key(str("a", "b")...) {
		t.Error("the spelling of a header's name plays a part")
	}
	header, _ := ParseKeySource("header:Idempotency-Key")
	token, _ := ParseKeySource("token")
	if header.Key(str("a")...) != "a" || one.Key(str("a")...) != "" || one.Key() != "" || token.Key(str("a")...) != "" {
		t.Error("a header's key is its own, and what has not all of its parts is none")
	}
}

func textsOf(values []KeyValue) (texts []string) {
	for _, v := range values {
		texts = append(texts, v.Text)
	}
	return texts
}

// FuzzParseKeySource: what is read can be written and read again, and names
// nothing that its check refuses.
func FuzzParseKeySource(f *testing.F) {
	for _, text := range []string{"token", "header:X-A", "json:/a~1b+path:id", "form:a b", "func:x", "json:/a+b", "path:*", "+", "token+token", "header:A+header:a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseKeySource(text)
		if err != nil {
			return
		}
		var parts []string
		for _, p := range s.Parts {
			if p.Kind == "token" {
				parts = append(parts, p.Kind)
				continue
			}
			parts = append(parts, p.Kind+":"+p.Name)
		}
		again, err := ParseKeySource(strings.Join(parts, "+"))
		if err != nil || len(again.Parts) != len(s.Parts) {
			t.Fatalf("%q was read as %v, which reads as %v, %v", text, s.Parts, again.Parts, err)
		}
	})
}

// FuzzDerivedKeys: two lists of values are one key only if they are the same.
func FuzzDerivedKeys(f *testing.F) {
	f.Add("a", "bc", false, "ab", "c", false)
	f.Add("7", "x", true, "7", "x", false)
	f.Add("", "\x00", false, "\x00", "", false)
	s, err := ParseKeySource("json:/a+form:b")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, a, b string, n bool, c, d string, m bool) {
		one, other := s.Key(KeyValue{a, n}, KeyValue{Text: b}), s.Key(KeyValue{c, m}, KeyValue{Text: d})
		if same := a == c && b == d && n == m; (one == other) != same {
			t.Fatalf("(%q,%v)+%q and (%q,%v)+%q: the same key %v", a, n, b, c, m, d, one == other)
		}
	})
}
