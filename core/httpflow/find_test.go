package httpflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	idem "github.com/go-idem/idem/core"
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
		if !json.Valid(doc) || !utf8.Valid(doc) {
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

// FuzzPointer compares following a pointer with encoding/json, in documents in
// which no member stands twice.
func FuzzPointer(f *testing.F) {
	for _, seed := range [][2]string{{`{"a":{"b":[1,"x"]}}`, "/a/b/1"}, {`{"a/b":{"m~n":7}}`, "/a~1b/m~0n"}, {`{"":1}`, "/"}, {`[[]]`, "/0/0"}, {`{"~1":2}`, "/~01"}} {
		f.Add([]byte(seed[0]), seed[1])
	}
	f.Fuzz(func(t *testing.T, doc []byte, pointer string) {
		if !json.Valid(doc) || !strings.HasPrefix(pointer, "/") || !utf8.Valid(doc) {
			return
		}
		value, twice := jsonFind(doc, steps(pointer))
		if twice || strings.Contains(string(doc), `\ud`) || strings.Contains(string(doc), `\uD`) || strings.ContainsRune(string(doc), utf8.RuneError) {
			return // encoding/json takes the last of two, and halves of characters for one
		}
		var want any
		decoder := json.NewDecoder(bytes.NewReader(doc))
		decoder.UseNumber()
		if err := decoder.Decode(&want); err != nil {
			t.Fatal(err)
		}
		there := true
		for _, step := range steps(pointer) {
			switch node := want.(type) {
			case map[string]any:
				want, there = node[step]
			case []any:
				i, err := strconv.Atoi(step)
				if there = err == nil && i >= 0 && i < len(node) && strconv.Itoa(i) == step; there {
					want = node[i]
				}
			default:
				there = false
			}
			if !there {
				break
			}
		}
		if (value != nil) != there {
			t.Fatalf("%s at %q: found %q, encoding/json finds it: %v", doc, pointer, value, there)
		}
		text, isText := jsonText(value)
		switch want := want.(type) {
		case string:
			if there && (!isText || text != want) {
				t.Fatalf("%s at %q: %q, want %q", doc, pointer, text, want)
			}
		case json.Number:
			if there && (!isText || text != want.String()) {
				t.Fatalf("%s at %q: %q, want %s", doc, pointer, text, want)
			}
		default:
			if there && isText {
				t.Fatalf("%s at %q: %q is a string or a number", doc, pointer, text)
			}
		}
	})
}

// FuzzMultipart: a field that is found is found whatever the boundary, and what
// breaks off is never whole.
func FuzzMultipart(f *testing.F) {
	f.Add([]byte("--b\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\n7\r\n--b--\r\n"), "b", "id")
	f.Add([]byte("--b\r\nContent-Disposition: form-data; name=\"id\"; filename=\"x\"\r\n\r\n7\r\n--b--\r\n"), "b", "id")
	f.Add([]byte("--b\r\nContent-Disposition: form-data; name=id\r\n\r\n7"), "b", "id")
	f.Add([]byte("--b\n\n--b\n\n--b--"), "b", "")
	f.Fuzz(func(t *testing.T, form []byte, boundary, field string) {
		b := Body{mem: form, size: int64(len(form))}
		values, whole, err := multipartValues(&b, boundary, field, 64)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			if len(v) > 64 || !strings.Contains(string(form), v) {
				t.Fatalf("the value %q does not stand in the form", v)
			}
		}
		if listed := multipartListing(&b, boundary, idem.FingerprintChoice{}); whole != (listed != nil) {
			t.Fatalf("read to its end: %v as a key, %v as a fingerprint", whole, listed != nil)
		}
		if !whole {
			return
		}
		// The same parts behind another boundary are the same form.
		other := strings.Repeat("o", 60)
		if strings.Contains(string(form), other) {
			return
		}
		var again bytes.Buffer
		w := multipart.NewWriter(&again)
		if err := w.SetBoundary(other); err != nil {
			t.Fatal(err)
		}
		for r := multipart.NewReader(bytes.NewReader(form), boundary); ; {
			part, err := r.NextRawPart()
			if err != nil {
				break
			}
			to, err := w.CreatePart(part.Header)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(to, part); err != nil {
				return
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		b2 := Body{mem: again.Bytes(), size: int64(again.Len())}
		if got, want := multipartListing(&b2, other, idem.FingerprintChoice{}), multipartListing(&b, boundary, idem.FingerprintChoice{}); !bytes.Equal(got, want) {
			t.Fatalf("%q behind another boundary is %q: another form", form, again.Bytes())
		}
		if got, _, _ := multipartValues(&b2, other, field, 64); fmt.Sprint(got) != fmt.Sprint(values) {
			t.Fatalf("%q of %q behind another boundary is %q", values, form, got)
		}
	})
}
