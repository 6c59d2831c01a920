package idem

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

const (
	typeJSON = "application/json"
	typeForm = "application/x-www-form-urlencoded"
)

// post is a POST to /orders with a body.
func post(contentType, body string) Content {
	return Content{Method: "POST", Path: "/orders", ContentType: contentType, Body: []byte(body)}
}

// pair is two contents and whether they ask for the same thing.
type pair struct {
	a, b Content
	same bool
}

func checkPairs(t *testing.T, choice FingerprintChoice, tests map[string]pair) {
	t.Helper()
	n := testNamer(t)
	if err := choice.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a, b := n.fingerprint(choice, tt.a), n.fingerprint(choice.prepared(), tt.b)
			if a.Equal(b) != tt.same {
				t.Errorf("same is %v, want %v\n%+v\n%+v", a.Equal(b), tt.same, tt.a, tt.b)
			}
			if a.IsZero() || a.Version != b.Version {
				t.Errorf("fingerprints %v and %v", a, b)
			}
		})
	}
}

func jsonPair(a, b string, same bool) pair { return pair{post(typeJSON, a), post(typeJSON, b), same} }
func formPair(a, b string, same bool) pair { return pair{post(typeForm, a), post(typeForm, b), same} }

// Faults: 38, 39.
func TestStatement14_JSONIsComparedByContent(t *testing.T) {
	checkPairs(t, FingerprintChoice{}, map[string]pair{
		"member order and white space":         jsonPair(`{"a":1,"b":[1,2]}`, " {\n\t\"b\" : [ 1 , 2 ] ,\r\"a\" : 1 } ", true),
		"order, deep":                          jsonPair(`{"o":{"x":{"b":1,"a":2},"y":[{"d":1,"c":2}]}}`, `{"o":{"y":[{"c":2,"d":1}],"x":{"a":2,"b":1}}}`, true),
		"many members":                         jsonPair(`{"a":0,"b":1,"c":2,"d":3,"e":4,"f":5,"g":6,"h":7,"i":8,"j":9,"k":10,"l":11,"m":12,"n":13}`, `{"n":13,"m":12,"l":11,"k":10,"j":9,"i":8,"h":7,"g":6,"f":5,"e":4,"d":3,"c":2,"b":1,"a":0}`, true),
		"more members than are sorted by hand": jsonPair(manyMembers(40, false), manyMembers(40, true), true),
		"order of elements":                    jsonPair(`[1,2]`, `[2,1]`, false),
		"1.0 and 1":                            jsonPair(`{"n":1.0}`, `{"n":1}`, false),
		"1e2 and 100":                          jsonPair(`{"n":1e2}`, `{"n":100}`, false),
		"-0 and 0":                             jsonPair(`[-0]`, `[0]`, false),
		"9007199254740993 and …992":            jsonPair(`[9007199254740993]`, `[9007199254740992]`, false),
		"a long fraction":                      jsonPair(`[0.1000000000000000055]`, `[0.1000000000000000056]`, false),
		"number and text":                      jsonPair(`["1"]`, `[1]`, false),
		"null and absent":                      jsonPair(`{"a":null}`, `{}`, false),
		"null and text":                        jsonPair(`[null]`, `["null"]`, false),
		"true and false":                       jsonPair(`[true]`, `[false]`, false),
		"text escaped and not":                 jsonPair("{\"n\":\"caf\u00e9 \U0001f600/\"}", `{"n":"caf\u00e9 \uD83d\uDe00\/"}`, true),
		"name escaped and not":                 jsonPair("{\"\u00e9\":1,\"z\":2}", `{"z":2,"\u00E9":1}`, true),
		"control escapes":                      jsonPair(`["\n\t\b\f\r"]`, `["\u000a\u0009\u0008\u000C\u000d"]`, true),
		"composed and decomposed é":            jsonPair("[\"\u00e9\"]", "[\"e\u0301\"]", false),
		"border of two texts":                  jsonPair(`["ab","c"]`, `["a","bc"]`, false),
		"nesting":                              jsonPair(`[[1],2]`, `[[1,2]]`, false),
		"name and value swapped":               jsonPair(`{"a":"b"}`, `{"b":"a"}`, false),
		"object and array":                     jsonPair(`{}`, `[]`, false),
		"media type of a profile":              {post("application/vnd.shop+JSON; v=1", `{"a":1,"b":2}`), post(typeJSON, `{"b":2,"a":1}`), true},
		"parameter of the type":                {post("Application/JSON;charset=utf-8", `{"a":1,"b":2}`), post(typeJSON, `{"b":2,"a":1}`), true},
		"not said to be JSON":                  {post("text/plain", `{"a":1,"b":2}`), post("text/plain", `{"b":2,"a":1}`), false},
		"many JSON texts in one":               {post("application/x-ndjson", `{"a":1,"b":2}`), post("application/x-ndjson", `{"b":2,"a":1}`), false},
	})
}

// manyMembers is an object of n members, in order or from the last to the first.
func manyMembers(n int, backward bool) string {
	list := make([]string, n)
	for i := range list {
		at := i
		if backward {
			at = n - 1 - i
		}
		list[at] = fmt.Sprintf(`"m%03d":%d`, i, i)
	}
	return "{" + strings.Join(list, ",") + "}"
}

// TestStatement14_WhatReadersDisagreeAboutIsComparedRaw: two readers of such a
// body may see different things, so no two spellings of it are taken for one.
//
// Faults: 39.
func TestStatement14_WhatReadersDisagreeAboutIsComparedRaw(t *testing.T) {
	bodies := map[string]string{
		"two members of one name":         `{"a":1,"a":2}`,
		"two members, one escaped":        `{"a":1,"\u0061":1}`,
		"two members, far apart":          `{"a":1,"c":1,"b":1,"a":1}`,
		"two members among many":          strings.Replace(manyMembers(40, true), `"m007"`, `"m031"`, 1),
		"two tokens":                      `{"idempotentToken":"x","idempotentToken":"x"}`,
		"two members, deep":               `[{"o":{"b":1,"a":1,"b":1}}]`,
		"unfinished":                      `{"a":1`,
		"more than one value":             `1 2`,
		"comma at the end":                `[1,]`,
		"comma at the start":              `[,1]`,
		"comma at an object's end":        `{"a":1,}`,
		"no comma":                        `{"a":1 "b":2}`,
		"no colon":                        `{"a" 1}`,
		"name without quotes":             `{a:1}`,
		"single quotes":                   `['a']`,
		"a comment":                       `[1] // one`,
		"number with a leading zero":      `[01]`,
		"number with a plus":              `[+1]`,
		"number without digits":           `[-]`,
		"number that ends in a dot":       `[1.]`,
		"number that starts with a dot":   `[.5]`,
		"number with an empty exponent":   `[1e]`,
		"number with a sign for exponent": `[1e+-1]`,
		"hexadecimal":                     `[0x10]`,
		"NaN":                             `[NaN]`,
		"True":                            `[True]`,
		"a word cut":                      `[tru]`,
		"text without an end":             `["a]`,
		"text that ends in a backslash":   `["a\`,
		"unknown escape":                  `["\x"]`,
		"short escape":                    `["\u00e"]`,
		"escape that is not hexadecimal":  `["\u00eg"]`,
		"first half of a pair":            `["\ud83d"]`,
		"first half, then text":           `["\ud83dab1234"]`,
		"second half of a pair":           `["\ude00"]`,
		"two first halves":                `["\ud83d\ud83d"]`,
		"not UTF-8":                       "[\"\xff\"]",
		"overlong":                        "[\"\xc0\xaf\"]",
		"a surrogate in UTF-8":            "[\"\xed\xa0\xbd\"]",
		"a line break in text":            "[\"a\nb\"]",
		"NUL in text":                     "[\"a\x00b\"]",
		"byte order mark":                 "\ufeff[1]",
		"vertical tab as white space":     "[\v1]",
		"UTF-16":                          "[\x001\x00]\x00",
		"nested beyond the limit":         strings.Repeat("[", maxJSONDepth+1) + strings.Repeat("]", maxJSONDepth+1),
		"longer than is read":             `["` + strings.Repeat("a", maxCanonical) + `"]`,
	}
	n := testNamer(t)
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			c := post(typeJSON, body)
			if got := n.fingerprint(FingerprintChoice{}, c); got != n.fingerprint(FingerprintChoice{}, post("application/octet-stream", body)) {
				t.Error("not compared raw")
			}
			spaced := post(typeJSON, body+" ")
			if n.fingerprint(FingerprintChoice{}, c) == n.fingerprint(FingerprintChoice{}, spaced) {
				t.Error("white space made no difference")
			}
		})
	}
	deep := strings.Repeat(`{"b":0,"a":`, maxJSONDepth) + "1" + strings.Repeat("}", maxJSONDepth)
	if n.fingerprint(FingerprintChoice{}, post(typeJSON, deep)) != n.fingerprint(FingerprintChoice{}, post(typeJSON, deep+" ")) {
		t.Error("control: at the limit of nesting a body is compared by content")
	}
}

func TestFormsAreComparedByPairs(t *testing.T) {
	checkPairs(t, FingerprintChoice{}, map[string]pair{
		"order of fields":                 formPair("a=1&b=2", "b=2&a=1", true),
		"spelling":                        formPair("name=J%c3%bcrgen+M%2e", "name=J%C3%BCrgen%20M.", true),
		"empty pieces":                    formPair("a=1&&b=2&", "a=1&b=2", true),
		"no value and an empty one":       formPair("a", "a=", true),
		"other value":                     formPair("a=1", "a=2", false),
		"a field more":                    formPair("a=1", "a=1&b=", false),
		"a field twice":                   formPair("a=1", "a=1&a=1", false),
		"order within a name":             formPair("to=alice&to=bob", "to=bob&to=alice", false),
		"order within a name, kept":       formPair("to=b&x=1&to=a", "x=1&to=b&to=a", true),
		"order within a name, changed":    formPair("x=1&to=b&to=a", "x=1&to=a&to=b", false),
		"border of name and value":        formPair("ab=c", "a=bc", false),
		"an equals sign in the value":     formPair("a=b=c", "a=b%3Dc", true),
		"an ampersand in the value":       formPair("a=1%26b=2", "a=1&b=2", false),
		"a semicolon separates nothing":   formPair("a=1;b=2", "a=1&b=2", false),
		"name in another case":            formPair("A=1", "a=1", false),
		"token field":                     formPair("idempotent-token=AAAA&a=1", "a=1&idempotent-token=BBBB", true),
		"token field or not":              formPair("idempotent-token=AAAA&a=1", "a=1", true),
		"token member is no form field":   formPair("idempotentToken=AAAA&a=1", "a=1", false),
		"a broken escape is compared raw": formPair("a=1&b=%zz", "b=%zz&a=1", false),
		"a cut escape is compared raw":    formPair("a=1&b=%4", "b=%4&a=1", false),
		"the same as text":                {post(typeForm, "a=1"), post("text/plain", "a=1"), false},
		"the same as JSON":                {post(typeForm, "1"), post(typeJSON, "1"), false},
		"an empty form and no body":       {post(typeForm, ""), post("", ""), true},
	})
}

func TestTokenIsNoPartOfWhatIsAsked(t *testing.T) {
	checkPairs(t, FingerprintChoice{}, map[string]pair{
		"other token":             jsonPair(`{"idempotentToken":"AAAA","a":1}`, `{"a":1,"idempotentToken":"BBBB"}`, true),
		"with and without":        jsonPair(`{"a":1,"idempotentToken":"AAAA","b":2}`, `{"a":1,"b":2}`, true),
		"nothing else":            jsonPair(`{"idempotentToken":"AAAA"}`, `{}`, true),
		"escaped name":            jsonPair(`{"idempotent\u0054oken":"AAAA","a":1}`, `{"a":1}`, true),
		"any value":               jsonPair(`{"idempotentToken":{"b":[1],"a":2},"a":1}`, `{"a":1}`, true),
		"deeper it is ordinary":   jsonPair(`{"o":{"idempotentToken":"AAAA"}}`, `{"o":{"idempotentToken":"BBBB"}}`, false),
		"in an array's object":    jsonPair(`[{"idempotentToken":"AAAA"}]`, `[{"idempotentToken":"BBBB"}]`, false),
		"the field is no member":  jsonPair(`{"idempotent-token":"AAAA"}`, `{"idempotent-token":"BBBB"}`, false),
		"what else stands beside": jsonPair(`{"idempotentToken":"AAAA","a":1}`, `{"idempotentToken":"AAAA","a":2}`, false),
	})
}

func TestStatement12_QueryAndPath(t *testing.T) {
	at := func(path, query string) Content { return Content{Method: "POST", Path: path, Query: query} }
	checkPairs(t, FingerprintChoice{}, map[string]pair{
		"other query":                {at("/pay", "to=alice"), at("/pay", "to=mallory"), false},
		"reordered query":            {at("/pay", "to=alice&n=1"), at("/pay", "n=1&to=alice"), true},
		"order within a name":        {at("/pay", "to=alice&to=bob"), at("/pay", "to=bob&to=alice"), false},
		"query or none":              {at("/pay", ""), at("/pay", "a="), false},
		"spelling of the query":      {at("/pay", "a=%7e%2F+"), at("/pay", "a=~/%20"), true},
		"broken query":               {at("/pay", "a=1&b=%"), at("/pay", "b=%&a=1"), false},
		"token in a query counts":    {at("/pay", "idempotent-token=A"), at("/pay", "idempotent-token=B"), false},
		"other path":                 {at("/orders/1", ""), at("/orders/2", ""), false},
		"unreserved, encoded":        {at("/%7ejane/%41", ""), at("/~jane/A", ""), true},
		"case of an escape":          {at("/caf%c3%a9", ""), at("/caf%C3%A9", ""), true},
		"raw bytes":                  {at("/caf\xc3\xa9 x", ""), at("/caf%C3%A9%20x", ""), true},
		"encoded slash":              {at("/a%2Fb", ""), at("/a/b", ""), false},
		"encoded slash, its case":    {at("/a%2fb", ""), at("/a%2Fb", ""), true},
		"encoded percent":            {at("/a%2541", ""), at("/a%41", ""), false},
		"reserved, encoded":          {at("/a%3Bb", ""), at("/a;b", ""), false},
		"broken escape":              {at("/%%4141", ""), at("/%A41", ""), false},
		"cut escape":                 {at("/%2", ""), at("/%252", ""), false},
		"slash at the end":           {at("/a/", ""), at("/a", ""), false},
		"border of path and query":   {at("/a", "b"), at("/ab", ""), false},
		"question mark in the path":  {at("/a%3Fb", ""), at("/a", "b"), false},
		"long paths of many escapes": {at(strings.Repeat("/%c3%a9", 100), ""), at(strings.Repeat("/\u00e9", 100), ""), true},
		"other method":               {Content{Method: "POST", Path: "/"}, Content{Method: "PUT", Path: "/"}, false},
		"border of method and path":  {Content{Method: "POS", Path: "T/"}, Content{Method: "POST", Path: "/"}, false},
	})
}

func TestStatement11_RawBodies(t *testing.T) {
	checkPairs(t, FingerprintChoice{}, map[string]pair{
		"the same":                      {post("text/plain", "abc"), post("text/plain", "abc"), true},
		"other":                         {post("text/plain", "abc"), post("text/plain", "abd"), false},
		"binary":                        {post("image/png", "\xff\xfe\x00\x01"), post("image/png", "\xff\xfe\x00\x02"), false},
		"a byte more":                   {post("", "abc"), post("", "abc\x00"), false},
		"empty and blank":               {post("", ""), post("", " "), false},
		"the type plays no part":        {post("text/plain", "abc"), post("text/css", "abc"), true},
		"a body that ends like a frame": {post("", "abc\x00\x00\x00\x00\x00\x00\x00\x03"), post("", "abc"), false},
		"raw text of a canonical form":  {post("", "#\x011"), post(typeJSON, "1"), false},
		"border of query and body": {
			Content{Method: "POST", Path: "/", Query: "a=1", Body: []byte("x")},
			Content{Method: "POST", Path: "/", Body: []byte("a=1x")}, false},
	})
}

// TestNoTwoContentsShareAFingerprint compares everything above and its like
// with everything else.
//
// Faults: 43.
func TestNoTwoContentsShareAFingerprint(t *testing.T) {
	bodies := []Content{}
	for _, typ := range []string{"text/plain", typeJSON, typeForm} {
		for _, body := range []string{"1", "01", "[]", "[[]]", "{}", `{"":{}}`, `{"":""}`, `""`, `"\u0000"`, `[""]`, "a", "a&b", "r", "j", "f"} {
			bodies = append(bodies, post(typ, body))
		}
	}
	n := testNamer(t)
	seen := map[Fingerprint]Content{}
	same := 0
	for _, c := range bodies {
		fp := n.fingerprint(FingerprintChoice{}, c)
		if other, ok := seen[fp]; ok {
			same++
			// Only a body that is compared raw may meet itself under another type.
			if !bytes.Equal(other.Body, c.Body) || c.ContentType == typeForm || other.ContentType == typeForm {
				t.Errorf("%+v and %+v share a fingerprint", other, c)
			}
		}
		seen[fp] = c
	}
	if same != 6 { // "01", "a", "a&b", "r", "j", "f" are no JSON
		t.Errorf("%d bodies met themselves, want 6", same)
	}
}

// TestStatement17_StreamedAndWholeAreOne: how a raw body arrived, and in which
// pieces, makes no difference.
func TestStatement17_StreamedAndWholeAreOne(t *testing.T) {
	n := testNamer(t)
	choices := map[string]FingerprintChoice{"canonical": {}, "none": {Mode: FingerprintNone}}
	bodies := map[string]Content{
		"empty":        post("image/png", ""),
		"small":        post("image/png", "abc"),
		"large":        post("image/png", strings.Repeat("abcdefg", 100_000)),
		"long JSON":    post(typeJSON, `["`+strings.Repeat("a", maxCanonical)+`"]`),
		"no JSON body": post(typeJSON, ""),
	}
	for choiceName, choice := range choices {
		for name, c := range bodies {
			t.Run(choiceName+" "+name, func(t *testing.T) {
				if !c.ComparedRaw(int64(len(c.Body))) {
					t.Fatal("should be compared raw")
				}
				whole := n.fingerprint(choice, c)
				head := c
				head.Body = nil
				s := n.streamFingerprint(choice, head)
				if _, err := io.Copy(s, iotest.HalfReader(bytes.NewReader(c.Body))); err != nil {
					t.Fatal(err)
				}
				if got := s.Fingerprint(); got != whole {
					t.Errorf("streamed %v, whole %v", got, whole)
				}
				if got := s.Fingerprint(); got != whole {
					t.Errorf("asked again it is %v", got)
				}
			})
		}
	}
	if post(typeJSON, "").ComparedRaw(2) || post(typeForm, "").ComparedRaw(maxCanonical) {
		t.Error("small JSON and forms need their body whole")
	}
	if n.streamFingerprint(FingerprintChoice{}, post("", "")).Fingerprint() == n.fingerprint(FingerprintChoice{}, post("", "x")) {
		t.Error("control: another body should have another fingerprint")
	}
}

func TestFingerprintOfParts(t *testing.T) {
	n := testNamer(t)
	of := func(parts ...string) Fingerprint {
		list := make([][]byte, len(parts))
		for i, p := range parts {
			list[i] = []byte(p)
		}
		return n.fingerprintOf(FingerprintChoice{}, list...)
	}
	first, again := of("a", "b"), of("a", "b")
	if first != again || first.Version != (FingerprintChoice{}).Version() {
		t.Error("the same parts should have one fingerprint, of the choice's version")
	}
	seen := map[Fingerprint]bool{}
	all := [][]string{{}, {""}, {"", ""}, {"a", "b"}, {"b", "a"}, {"ab"}, {"a", "b", ""}, {"\x01a"}, {"a"}}
	for _, parts := range all {
		seen[of(parts...)] = true
	}
	if len(seen) != len(all) {
		t.Errorf("%d fingerprints of %d lists", len(seen), len(all))
	}
	if n.fingerprintOf(FingerprintChoice{Mode: FingerprintNone}, []byte("a")) != n.fingerprintOf(FingerprintChoice{Mode: FingerprintNone}, []byte("b")) {
		t.Error("mode none compares no content")
	}
}

// TestFingerprintsDoNotChangeTheirInput: bodies are given back whole.
func TestFingerprintsDoNotChangeTheirInput(t *testing.T) {
	n := testNamer(t)
	for typ, body := range map[string]string{typeJSON: `{"b":"\u00e9","a":[1,{"d":1,"c":2}]}`, typeForm: "b=%31&a=+", "": "abc"} {
		c := Content{Method: "POST", Path: "/%41", Query: "b=1&a=2", ContentType: typ, Body: append(make([]byte, 0, 100), body...)}
		n.fingerprint(FingerprintChoice{Ignore: []string{"/a/1/c", "a"}}, c)
		if string(c.Body) != body || !bytes.Equal(c.Body[:100][len(body):], make([]byte, 100-len(body))) {
			t.Errorf("the body became %q", c.Body)
		}
	}
}

// TestFingerprintBytesAreThoseOfTheFirstRelease builds each message by hand, and
// holds its hash to a kept one: a change of the message without a new algorithm
// number would turn every repeat of the last hour into a conflict.
func TestFingerprintBytesAreThoseOfTheFirstRelease(t *testing.T) {
	key, err := hkdf.Key(sha256.New, testSecret('n'), nil, "idem name key v1: fingerprints", 32)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		asked   Content
		message string
		kept    string
	}{
		"JSON": {
			Content{Method: "POST", Path: "/caf%c3%a9", Query: "b=1&a=2", ContentType: typeJSON, Body: []byte(`{"b":[1.0,null,"\u00e9"],"a":{}}`)},
			"h\xe3" + "\x04POST" + "c\x0a/caf%C3%A9" + "c\x02\x01a\x012\x01b\x011" +
				"j" + `{"` + "\x01a{}" + `"` + "\x01b[#\x031.0n\"\x02\u00e9]}" + "\x00\x00\x00\x00\x00\x00\x00\x16",
			"e319f5e4726c5a8c8cd0ccd01b9bedfa",
		},
		"form": {
			Content{Method: "POST", Path: "/orders", ContentType: typeForm, Body: []byte("b=1&a=+")},
			"h\xe3" + "\x04POST" + "c\x07/orders" + "c\x00" + "f\x02\x01a\x01 \x01b\x011" + "\x00\x00\x00\x00\x00\x00\x00\x09",
			"e324b822d92804a133777a1f191ba2de",
		},
		"raw": {
			Content{Method: "PUT", Path: "/orders/%", Query: "%", ContentType: "text/plain", Body: []byte("abc")},
			"h\xe3" + "\x03PUT" + "r\x09/orders/%" + "r\x01%" + "rabc" + "\x00\x00\x00\x00\x00\x00\x00\x03",
			"e309a5624d11f66e749886bb56c962a0",
		},
	}
	for name, tt := range tests {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(tt.message))
		want := "e3" + hex.EncodeToString(h.Sum(nil)[:15])
		got := testNamer(t).fingerprint(FingerprintChoice{}, tt.asked).String()
		if got != want {
			t.Errorf("%s: %s, by hand it is %s", name, got, want)
		}
		if got != tt.kept {
			t.Errorf("%s: %s, it was %s in the first release: raise fingerprintAlgorithm", name, got, tt.kept)
		}
	}
}
