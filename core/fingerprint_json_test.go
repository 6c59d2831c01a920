package idem

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// canonical is the canonical encoding of a JSON body.
func canonical(body []byte) ([]byte, bool) {
	return new(jsonTree).appendJSON(nil, body, planCanonical)
}

func TestCanonicalJSON(t *testing.T) {
	tests := map[string]string{
		`null`:                  `n`,
		`true`:                  `t`,
		`false`:                 `f`,
		`-1.50E+3`:              "#\x08-1.50E+3",
		`"é"`:                   "\"\x02é",
		`[]`:                    `[]`,
		`[1,[2]]`:               "[#\x011[#\x012]]",
		`{"b":1,"a":{"c":""}}`:  "{\"\x01a{\"\x01c\"\x00}\"\x01b#\x011}",
		`{"idempotentToken":1}`: `{}`,
	}
	for body, want := range tests {
		got, ok := canonical([]byte(body))
		if !ok || string(got) != want {
			t.Errorf("%s became %q, ok %v; want %q", body, got, ok, want)
		}
	}
}

// TestCanonicalJSONTellsNamesFromBraces: the length of a name may be any byte,
// that of a closing brace included.
func TestCanonicalJSONTellsNamesFromBraces(t *testing.T) {
	for length := range 300 {
		body := fmt.Sprintf(`{"o":{"%s":1},"p":2}`, strings.Repeat("x", length))
		enc, ok := canonical([]byte(body))
		tree, _ := reference([]byte(body))
		if !ok {
			t.Fatalf("a name of %d bytes is refused", length)
		}
		if back, rest := decodeCanonical(enc); plain(back) != plain(tree) || len(rest) > 0 {
			t.Fatalf("a name of %d bytes reads back as %s", length, plain(back))
		}
	}
}

// FuzzCanonicalJSON holds the canonicalizer to a second reading of the same
// rules, made of encoding/json: both must agree on what is JSON and on which
// bodies are equal; and what a body says must be readable from its encoding
// alone, so that no two bodies share one.
func FuzzCanonicalJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"b":[1.0,-2e3,null,true,false],"c":{"z":"\u00e9\ud83d\ude00","y":""}}`,
		`{"idempotentToken":"x","a":1}`, `{"a":1,"a":2}`, `["\ud800"]`, "\"\xff\"", `[1,]`, `"\\ud800"`,
		strings.Repeat("[", 65) + strings.Repeat("]", 65), ` [ ] `, `{"idempotentToken":1,"a":1,"idempotentToken":2}`, `{"\u0062":1,"a":{"z":1,"y":2,"z":3}}`,
		`{"c":1,"b":{"idempotentToken":1},"a":[{"y":"\n","x":1}]}`, `{"b":{"b":1,"a":2},"a":[{"d":3,"c":4}]}`,
	} {
		f.Add([]byte(seed), []byte(`{"b":[1.0,-2e3],"a":1}`))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		encA, okA := canonical(a)
		encB, okB := canonical(b)
		treeA, readA := reference(a)
		treeB, readB := reference(b)
		if okA != readA || okB != readB {
			t.Fatalf("canonical: %v, %v; reference: %v, %v\n%q\n%q", okA, okB, readA, readB, a, b)
		}
		if okA && okB && bytes.Equal(encA, encB) != (plain(treeA) == plain(treeB)) {
			t.Fatalf("equal is %v\n%q\n%q", bytes.Equal(encA, encB), a, b)
		}
		tree := jsonTree{src: a}
		if encT, okT := tree.appendTree(nil, a, planCanonical); okT != okA || !bytes.Equal(encT, encA) {
			t.Fatalf("by the tree %q, %v; directly %q, %v\n%q", encT, okT, encA, okA, a)
		}
		if !okA {
			return
		}
		back, rest := decodeCanonical(encA)
		if len(rest) > 0 || plain(back) != plain(treeA) {
			t.Fatalf("%q was encoded as %q, which says %s", a, encA, plain(back))
		}
		respelt := []byte(respell(treeA))
		if encR, ok := canonical(respelt); !ok || !bytes.Equal(encA, encR) {
			t.Fatalf("another spelling is another body\n%q\n%q", a, respelt)
		}
	})
}

// reference reads a body with encoding/json, and refuses what has no canonical
// form.
func reference(body []byte) (any, bool) {
	if !json.Valid(body) || !utf8.Valid(body) || halfPair(body) {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	tree, ok := referenceValue(dec, 0)
	if object, is := tree.(map[string]any); is {
		delete(object, TokenMember)
	}
	return tree, ok
}

func referenceValue(dec *json.Decoder, depth int) (any, bool) {
	token, err := dec.Token()
	if err != nil {
		return nil, false
	}
	delim, is := token.(json.Delim)
	if !is {
		return token, true
	}
	if depth == maxJSONDepth {
		return nil, false
	}
	object, array := map[string]any{}, []any{}
	for dec.More() {
		name := ""
		if delim == '{' {
			token, _ := dec.Token()
			name = token.(string)
			if _, twice := object[name]; twice {
				return nil, false
			}
		}
		value, ok := referenceValue(dec, depth+1)
		if !ok {
			return nil, false
		}
		object[name] = value
		array = append(array, value)
	}
	_, _ = dec.Token()
	if delim == '{' {
		return object, true
	}
	return array, true
}

// halfPair finds an escaped surrogate without its other half in valid JSON.
func halfPair(body []byte) bool {
	unit := func(at int) rune {
		if at+6 > len(body) || body[at] != '\\' || body[at+1] != 'u' {
			return -1
		}
		n, _ := strconv.ParseUint(string(body[at+2:at+6]), 16, 16)
		return rune(n)
	}
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		if r := unit(i); utf16.IsSurrogate(r) {
			if utf16.DecodeRune(r, unit(i+6)) == utf8.RuneError {
				return true
			}
			i += 6
		}
		i++
	}
	return false
}

// plain is a tree as text; numbers keep their literals.
func plain(tree any) string {
	text, err := json.Marshal(tree)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// respell writes a tree with its members in reverse, much white space, and
// every character escaped.
func respell(tree any) string {
	var b strings.Builder
	switch v := tree.(type) {
	case map[string]any:
		b.WriteString(" {\n")
		for i, name := range slices.Backward(slices.Sorted(maps.Keys(v))) {
			fmt.Fprintf(&b, "%s\t:\r%s", respell(name), respell(v[name]))
			if i > 0 {
				b.WriteString(" , ")
			}
		}
		b.WriteString(" } ")
	case []any:
		b.WriteString("\t[ ")
		for i, e := range v {
			if i > 0 {
				b.WriteString(" ,\n")
			}
			b.WriteString(respell(e))
		}
		b.WriteString(" ]")
	case string:
		b.WriteByte('"')
		for _, unit := range utf16.Encode([]rune(v)) {
			fmt.Fprintf(&b, `\u%04X`, unit)
		}
		b.WriteByte('"')
	case json.Number:
		b.WriteString(v.String())
	default:
		fmt.Fprint(&b, plain(v))
	}
	return b.String()
}

// decodeCanonical reads an encoding back.
func decodeCanonical(enc []byte) (any, []byte) {
	framed := func(enc []byte) (string, []byte) {
		n, size := binary.Uvarint(enc)
		return string(enc[size : size+int(n)]), enc[size+int(n):]
	}
	kind, rest := enc[0], enc[1:]
	switch kind {
	case 't':
		return true, rest
	case 'f':
		return false, rest
	case '#':
		text, rest := framed(rest)
		return json.Number(text), rest
	case '"':
		text, rest := framed(rest)
		return text, rest
	case '[':
		list := []any{}
		for rest[0] != ']' {
			var v any
			v, rest = decodeCanonical(rest)
			list = append(list, v)
		}
		return list, rest[1:]
	case '{':
		object := map[string]any{}
		for rest[0] != '}' {
			name, after := framed(rest[1:])
			object[name], rest = decodeCanonical(after)
		}
		return object, rest[1:]
	}
	return nil, rest
}

// FuzzForm holds the reading of forms to net/url: both must agree on what is
// well formed and on which forms are equal.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{"", "a=1&b=2", "b=%31&a=+", "a&a=&=", "%zz", "a=%4", "a=1;b=2", "idempotent-token=x&a=1", "%69dempotent-token=x"} {
		f.Add([]byte(seed), []byte("a=1&b=2"))
	}
	form := func(body []byte) (string, bool) {
		enc, ok := appendForm(nil, body, planCanonical)
		return string(enc), ok
	}
	read := func(body []byte) (string, bool) {
		// To net/url a semicolon is an error, to browsers it is a character.
		values, err := url.ParseQuery(strings.ReplaceAll(string(body), ";", "%3B"))
		delete(values, TokenField)
		return values.Encode(), err == nil
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		encA, okA := form(a)
		encB, okB := form(b)
		readA, wellA := read(a)
		readB, wellB := read(b)
		if okA != wellA || okB != wellB {
			t.Fatalf("form: %v, %v; net/url: %v, %v\n%q\n%q", okA, okB, wellA, wellB, a, b)
		}
		if okA && okB && (encA == encB) != (readA == readB) {
			t.Fatalf("equal is %v\n%q\n%q", encA == encB, a, b)
		}
		if again, ok := form([]byte(readA)); okA && (!ok || again != encA) {
			t.Fatalf("%q and its other spelling %q differ", a, readA)
		}
	})
}
