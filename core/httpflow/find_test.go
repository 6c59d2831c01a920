package httpflow

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestJSONPointers(t *testing.T) {
	const doc = ` {"cart": "c1", "n": -12.50, "list": [ 10, {"id":"x"}, "a,b]}" ], "a/b": {"m~n": "deep"}, "": "empty",
		"esc\u0061pe": "caf\u00e9 \"quoted\"", "yes": true, "no": null, "two": 1, "two": 2, "str": "[1,{\"x\":2}]", "obj":{"k":[[]],"v":"z"} } `
	cases := []struct{ pointer, want string }{
		{"/cart", "c1"}, {"/n", "-12.50"}, {"/list/0", "10"}, {"/list/1/id", "x"}, {"/list/2", "a,b]}"}, {"/a~1b/m~0n", "deep"},
		{"/", "empty"}, {"/escape", `café "quoted"`}, {"/str", `[1,{"x":2}]`}, {"/obj/v", "z"},
		{"/yes", ""}, {"/no", ""}, {"/two", ""}, {"/list", ""}, {"/obj", ""}, {"/absent", ""}, {"/cart/x", ""}, {"/list/9", ""}, {"/list/-", ""},
	}
	for _, c := range cases {
		if got := jsonAt([]byte(doc), c.pointer); got != c.want {
			t.Errorf("%s: %q, want %q", c.pointer, got, c.want)
		}
	}
}

// FuzzMembers compares the walk with encoding/json: the same members with the
// same values, in any document that is valid.
func FuzzMembers(f *testing.F) {
	for _, doc := range []string{`{}`, `[]`, `{"a":[1,{"b":"}"}],"c":"\\\"","d":-1.5e3}`, ` [ "x" , null , [ ] ] `, `"text"`, `7`, `{"a":{"a":{}},"b":[[[]]]}`} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if !json.Valid(doc) {
			return
		}
		got := map[string]string{}
		c := cursor{doc: doc}
		c.members(func(name string, value []byte) {
			if !json.Valid(value) {
				t.Fatalf("%s: value of %q is %q", doc, name, value)
			}
			got[name] = compact(value)
		})
		want := map[string]string{}
		var object map[string]json.RawMessage
		var list []json.RawMessage
		if trimmed := strings.TrimLeft(string(doc), " \t\r\n"); trimmed[0] == '{' {
			if json.Unmarshal(doc, &object) != nil {
				return
			}
			for name, value := range object {
				want[name] = compact(value)
			}
		} else if trimmed[0] == '[' {
			_ = json.Unmarshal(doc, &list)
			for i, value := range list {
				want[fmt.Sprint(i)] = compact(value)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s: %v, want %v", doc, got, want)
		}
	})
}

func compact(value []byte) string { return strings.Trim(string(value), " \t\r\n") }

func TestKindOfBody(t *testing.T) {
	for contentType, want := range map[string]bodyKind{
		"application/json": bodyJSON, "Application/JSON; charset=utf-8": bodyJSON, "application/problem+json": bodyJSON, "+json": bodyOpaque,
		"application/x-www-form-urlencoded": bodyForm, `multipart/form-data; boundary="a b"`: bodyMultipart, "multipart/form-data": bodyOpaque,
		"text/plain": bodyOpaque, "": bodyOpaque, "multipart/form-data; boundary=": bodyOpaque,
	} {
		if got, _ := kindOf(contentType); got != want {
			t.Errorf("%q: %d, want %d", contentType, got, want)
		}
	}
}

func TestPrefixOfAnAddress(t *testing.T) {
	for address, want := range map[string]string{
		"198.51.100.7": "198.51.100.0/24", "198.51.100.7:443": "198.51.100.0/24", "::ffff:198.51.100.7": "198.51.100.0/24",
		"2001:db8:1:2::3": "2001:db8:1::/48", "[2001:db8:1:2::3%eth0]:80": "2001:db8:1::/48", "@": "@", "": "",
	} {
		if got := prefixOf(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}

func TestQuality(t *testing.T) {
	for _, c := range []struct {
		accept, what string
		want         float64
	}{
		{"text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", "text/html", 1},
		{"application/json", "text/html", -1},
		{"gzip;q=0, *;q=0.5", "gzip", 0}, {"gzip;q=0, *;q=0.5", "br", 0.5}, {"*;q=0.5, GZIP ; q=0.25", "gzip", 0.25},
		{"br;q=two", "br", 1}, {"", "br", -1}, {"br;level=9;Q=0.1", "br", 0.1},
	} {
		if got := quality(c.accept, c.what, "*"); got != c.want {
			t.Errorf("%q of %s: %v, want %v", c.accept, c.what, got, c.want)
		}
	}
}
