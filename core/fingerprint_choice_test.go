package idem

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestFingerprintChoiceIsValidated(t *testing.T) {
	tests := map[string]struct {
		choice FingerprintChoice
		want   string // in the error, "" for none
	}{
		"zero":                 {FingerprintChoice{}, ""},
		"canonical":            {FingerprintChoice{Mode: "canonical"}, ""},
		"none":                 {FingerprintChoice{Mode: "none"}, ""},
		"ignore":               {FingerprintChoice{Ignore: []string{"/csrf", "/a/0/b~1c~0d", "csrf"}}, ""},
		"only":                 {FingerprintChoice{Only: []string{"/order/id"}}, ""},
		"the empty name":       {FingerprintChoice{Only: []string{"/"}}, ""},
		"unknown mode":         {FingerprintChoice{Mode: "strict"}, `"strict" is none of canonical, none`},
		"both":                 {FingerprintChoice{Only: []string{"/a"}, Ignore: []string{"/b"}}, "not both"},
		"fields under none":    {FingerprintChoice{Mode: "none", Ignore: []string{"/b"}}, "must be empty"},
		"empty entry":          {FingerprintChoice{Only: []string{""}}, "empty entry"},
		"tilde alone":          {FingerprintChoice{Only: []string{"/a~b"}}, "~0 for '~'"},
		"tilde at the end":     {FingerprintChoice{Ignore: []string{"/a~"}}, "~0 for '~'"},
		"a field with a tilde": {FingerprintChoice{Ignore: []string{"a~"}}, ""},
		"not UTF-8":            {FingerprintChoice{Ignore: []string{"/\xff"}}, "not UTF-8"},
		"too long":             {FingerprintChoice{Ignore: []string{"/" + strings.Repeat("a", 256)}}, "at most 256"},
		"too many":             {FingerprintChoice{Ignore: make([]string, 65)}, "at most 64"},
		"everything at once":   {FingerprintChoice{Mode: "x", Only: []string{"/~"}, Ignore: []string{""}}, "\n"},
	}
	for name, tt := range tests {
		err := tt.choice.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
	}
}

func TestFingerprintChoiceInClear(t *testing.T) {
	tests := map[string]FingerprintChoice{
		`canonical/1`:                     {},
		`none/1`:                          {Mode: FingerprintNone},
		`canonical/1 only ["/a","/b"]`:    {Only: []string{"/b", "/a", "/b"}},
		`canonical/1 ignore ["/a\",\"b"]`: {Ignore: []string{`/a","b`}},
		`canonical/1 ignore ["/a","b"]`:   {Ignore: []string{"b", "/a"}},
	}
	versions := map[byte]string{}
	for want, choice := range tests {
		if got := choice.String(); got != want {
			t.Errorf("choice reads %s, want %s", got, want)
		}
		v := choice.Version()
		if v == 0 || versions[v] != "" {
			t.Errorf("version %d of %s: also of %q", v, want, versions[v])
		}
		versions[v] = want
		if got := choice.prepared().Version(); got != v {
			t.Errorf("prepared, version %d became %d", v, got)
		}
	}
	if (FingerprintChoice{Mode: FingerprintCanonical}).Version() != (FingerprintChoice{}).Version() {
		t.Error("canonical is what an empty mode means")
	}
}

func TestFingerprintChoiceInJSON(t *testing.T) {
	out, err := json.Marshal(FingerprintChoice{Mode: "canonical", Ignore: []string{"/csrf"}}.prepared())
	if err != nil {
		t.Fatal(err)
	}
	var back FingerprintChoice
	if err := json.Unmarshal(out, &back); err != nil || back.String() != `canonical/1 ignore ["/csrf"]` {
		t.Errorf("%s was read as %s, error %v", out, back, err)
	}
}

func TestStatement15_IgnoredFieldsMayChange(t *testing.T) {
	choice := FingerprintChoice{Ignore: []string{"/csrf", "/o/at", "/list/1", "/rows/0/id", "/a~1b~0", "/m~01n", "/", "sent"}}
	checkPairs(t, choice, map[string]pair{
		"changed":                    jsonPair(`{"csrf":"a","n":1}`, `{"n":1,"csrf":{"b":[2]}}`, true),
		"gone":                       jsonPair(`{"csrf":"a","n":1}`, `{"n":1}`, true),
		"what is left counts":        jsonPair(`{"csrf":"a","n":1}`, `{"csrf":"a","n":2}`, false),
		"deep":                       jsonPair(`{"o":{"at":1,"b":2}}`, `{"o":{"b":2,"at":9}}`, true),
		"deep, beside it":            jsonPair(`{"o":{"at":1,"b":2}}`, `{"o":{"at":1,"b":3}}`, false),
		"deep, but elsewhere":        jsonPair(`{"at":1}`, `{"at":2}`, false),
		"above it":                   jsonPair(`{"o":{"at":1}}`, `{}`, false),
		"of another kind above":      jsonPair(`{"o":1}`, `{"o":2}`, false),
		"an element":                 jsonPair(`{"list":[1,2,3]}`, `{"list":[1,"x",3]}`, true),
		"an element, beside it":      jsonPair(`{"list":[1,2,3]}`, `{"list":[2,2,3]}`, false),
		"an element does not vanish": jsonPair(`{"list":[1,2]}`, `{"list":[1]}`, false),
		"a member of an element":     jsonPair(`{"rows":[{"id":1,"n":1},{"id":1}]}`, `{"rows":[{"id":2,"n":1},{"id":1}]}`, true),
		"of another element":         jsonPair(`{"rows":[{"id":1},{"id":1}]}`, `{"rows":[{"id":1},{"id":2}]}`, false),
		"a step of that number":      jsonPair(`{"list":{"1":"a"}}`, `{"list":{"1":"b"}}`, true),
		"escaped pointer":            jsonPair(`{"a/b~":1}`, `{"a/b~":2}`, true),
		"escaped pointer, a tilde":   jsonPair(`{"m~1n":1}`, `{"m~1n":2}`, true),
		"escaped pointer, no slash":  jsonPair(`{"m/n":1}`, `{"m/n":2}`, false),
		"the empty name":             jsonPair(`{"":1}`, `{"":2}`, true),
		"duplicates are still seen":  jsonPair(`{"csrf":1,"csrf":1}`, `{"csrf":1,"csrf":2}`, false),
		"a name for forms only":      jsonPair(`{"sent":1}`, `{"sent":2}`, false),
		"a form's field":             formPair("n=1&csrf=a&sent=1", "sent=2&csrf=b&n=1", true),
		"a form's field gone":        formPair("n=1&csrf=a&sent=1", "n=1", true),
		"a form's other field":       formPair("n=1&csrf=a", "n=2&csrf=a", false),
		"raw has no fields":          {post("text/plain", `csrf=a`), post("text/plain", `csrf=b`), false},
		"query has none":             {Content{Query: "csrf=a"}, Content{Query: "csrf=b"}, false},
	})
}

func TestStatement15_ChosenFieldsMayNotChange(t *testing.T) {
	choice := FingerprintChoice{Only: []string{"/id", "/o/sum", "/list/0", "/deep", "/deep/er", "name"}}
	checkPairs(t, choice, map[string]pair{
		"another may":                  jsonPair(`{"id":1,"x":1}`, `{"x":2,"id":1}`, true),
		"another may come":             jsonPair(`{"id":1}`, `{"id":1,"x":{"y":[]}}`, true),
		"a chosen one may not":         jsonPair(`{"id":1,"x":1}`, `{"id":2,"x":1}`, false),
		"nor vanish":                   jsonPair(`{"id":1,"o":{"sum":1}}`, `{"id":1}`, false),
		"null is there":                jsonPair(`{"id":null,"deep":1}`, `{"deep":1}`, false),
		"by value":                     jsonPair(`{"id":{"b":1,"a":"\u0061"}}`, `{"id":{"a":"a","b":1}}`, true),
		"deep":                         jsonPair(`{"o":{"sum":1,"at":1}}`, `{"o":{"at":2,"sum":1}}`, true),
		"deep, changed":                jsonPair(`{"o":{"sum":1,"at":1}}`, `{"o":{"sum":2,"at":1}}`, false),
		"values swapped":               jsonPair(`{"id":1,"o":{"sum":2}}`, `{"id":2,"o":{"sum":1}}`, false),
		"one for another":              jsonPair(`{"id":1}`, `{"o":{"sum":1}}`, false),
		"order of appearance":          jsonPair(`{"o":{"sum":1},"id":2}`, `{"id":2,"o":{"sum":1}}`, true),
		"an element":                   jsonPair(`{"list":[1,2]}`, `{"list":[1]}`, true),
		"an element, changed":          jsonPair(`{"list":[1,2]}`, `{"list":[2,2]}`, false),
		"within another":               jsonPair(`{"deep":{"er":1,"x":1}}`, `{"deep":{"er":1,"x":2}}`, false),
		"none there: whole":            jsonPair(`{"x":1}`, `{"x":2}`, false),
		"none there, same":             jsonPair(`{"x":1,"y":2}`, `{"y":2,"x":1}`, true),
		"duplicates are still seen":    jsonPair(`{"id":1,"x":1,"x":1}`, `{"id":1,"x":1,"x":2}`, false),
		"a form's field":               formPair("id=1&name=a&x=1", "x=2&name=a&id=1", true),
		"a form's field, changed":      formPair("id=1&name=a", "id=1&name=b", false),
		"a form without any: whole":    formPair("x=1", "x=2", false),
		"a form's token plays no part": formPair("x=1&idempotent-token=A", "x=1&idempotent-token=B", true),
		"raw counts whole":             {post("text/plain", "id=1&x=1"), post("text/plain", "id=1&x=2"), false},
		"path counts":                  {Content{Path: "/1", ContentType: typeForm, Body: []byte("id=1")}, Content{Path: "/2", ContentType: typeForm, Body: []byte("id=1")}, false},
	})
}

func TestModeNoneComparesMethodAndPathOnly(t *testing.T) {
	checkPairs(t, FingerprintChoice{Mode: FingerprintNone}, map[string]pair{
		"body":      jsonPair(`{"a":1}`, `{"a":2}`, true),
		"query":     {Content{Path: "/", Query: "a=1"}, Content{Path: "/", Query: "a=2"}, true},
		"path":      {Content{Path: "/1"}, Content{Path: "/2"}, false},
		"method":    {Content{Method: "POST"}, Content{Method: "PUT"}, false},
		"some body": {post("", ""), post("text/plain", "abc"), true},
	})
}

// TestChoicesAreNotComparedWithEachOther: the version is part of the sum too.
func TestChoicesAreNotComparedWithEachOther(t *testing.T) {
	n := testNamer(t)
	c := post(typeJSON, `{"a":1}`)
	whole, ignoring := n.fingerprint(FingerprintChoice{}, c), n.fingerprint(FingerprintChoice{Ignore: []string{"/csrf"}}, c)
	if whole.Version == ignoring.Version || whole.Sum == ignoring.Sum {
		t.Errorf("%v and %v", whole, ignoring)
	}
}

// TestPreparedChoicesKeepTheirPlan: a policy is data that its owner may go on
// changing; the running guard is not changed by that.
func TestPreparedChoicesKeepTheirPlan(t *testing.T) {
	n := testNamer(t)
	list := []string{"/csrf"}
	choice := FingerprintChoice{Ignore: list}.prepared()
	before := n.fingerprint(choice, post(typeJSON, `{"csrf":1}`))
	list[0] = "/other"
	if after := n.fingerprint(choice, post(typeJSON, `{"csrf":2}`)); after != before {
		t.Error("the plan changed with the list it was made from")
	}
	if choice.String() != `canonical/1 ignore ["/csrf"]` {
		t.Errorf("the text became %s", choice)
	}
}
