package idem

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

// wholeOrder answers every question, as PROTOCOL section 8 writes it.
const wholeOrder = `{"operation":"shop:order:create","preset":"api","mode":"enforce","share":1,` +
	`"key":["token","header:Idempotency-Key"],"keyRequired":true,"methods":["POST","PATCH"],` +
	`"context":"path:id","traits":[],"fingerprint":{"mode":"canonical","only":[],"ignore":["/csrf"]},` +
	`"onDuplicate":"wait","wait":"5s","on4xx":"release","onOther4xx":"keep","on5xx":"release","onCrash":"hold","onOutage":"closed","onDisconnect":"finish","atomic":false,` +
	`"lease":"30s","maxRun":"10m","retention":"24h","tokenLife":"15m","maxBody":"1MiB","maxKeptBody":"1MiB","localReplay":"0s"}`

func TestAWholePolicyIsReadAndWrittenByTheSameNames(t *testing.T) {
	list, err := LoadPolicies([]byte("[" + wholeOrder + "]"))
	if err != nil {
		t.Fatal(err)
	}
	want := Policy{
		Operation: "shop:order:create", Preset: API, Mode: ModeEnforce, Share: 1, Key: []string{"token", "header:Idempotency-Key"}, KeyRequired: Yes,
		Methods: []string{"POST", "PATCH"}, Context: "path:id", Traits: []string{},
		Fingerprint: FingerprintChoice{Mode: FingerprintCanonical, Only: []string{}, Ignore: []string{"/csrf"}},
		OnDuplicate: Wait, Wait: 5 * time.Second, On4xx: Release, OnOther4xx: Keep, On5xx: Release,
		OnCrash: Hold, OnOutage: Closed, OnDisconnect: Finish, Atomic: No,
		Lease: 30 * time.Second, MaxRun: 10 * time.Minute, Retention: 24 * time.Hour, TokenLife: 15 * time.Minute,
		MaxBody: 1 << 20, MaxKeptBody: 1 << 20,
	}
	if !reflect.DeepEqual(list[0], want) {
		t.Errorf("read %+v\nwant %+v", list[0], want)
	}
	if text, err := json.Marshal(list[0]); err != nil || string(text) != wholeOrder {
		t.Errorf("written %s, %v\nwant    %s", text, err, wholeOrder)
	}
}

// Every field of a Policy has its member, so that none is lost on the way.
func TestEveryFieldOfAPolicyHasItsMember(t *testing.T) {
	names := map[string]bool{"adaptiveLease": true} // a word of lease
	for _, m := range policyMembers {
		names[m.name] = true
	}
	var p Policy
	for i := range reflect.TypeOf(p).NumField() {
		field := reflect.TypeOf(p).Field(i).Name
		name := strings.ToLower(field[:1]) + field[1:]
		if !names[name] {
			t.Errorf("Policy.%s has no member %s", field, name)
		}
	}
	for _, m := range policyMembers {
		if at := m.at(&p); reflect.ValueOf(at).Kind() == reflect.Pointer {
			field := reflect.ValueOf(&p).Elem().FieldByName(strings.ToUpper(m.name[:1]) + m.name[1:])
			if !field.IsValid() || field.Addr().Pointer() != reflect.ValueOf(at).Pointer() {
				t.Errorf("member %s does not stand in the field of its name", m.name)
			}
		}
	}
}

func TestWhatIsLeftOutIsLeftToThePreset(t *testing.T) {
	var p Policy
	const text = `{"operation":"a:b:c","preset":"form","mode":"enforce","share":1,"context":"","traits":[],` +
		`"fingerprint":{"mode":"canonical","only":[],"ignore":[]},"retention":"36h","localReplay":"0s"}`
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	if written, _ := json.Marshal(p); string(written) != text {
		t.Errorf("written %s\nwant    %s", written, text)
	}
	g := guardOn(t, newShelf(), func(c *Config) { c.Policies = []Policy{p} })
	dump, err := json.Marshal(g.Policies())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range policyMembers {
		if !strings.Contains(string(dump), `"`+m.name+`":`) {
			t.Errorf("the dump of a guard leaves out %s: %s", m.name, dump)
		}
	}
	for _, want := range []string{`"retention":"36h"`, `"onDuplicate":"wait"`, `"key":["token"]`, `"keyRequired":true`, `"maxRun":"10m"`} {
		if !strings.Contains(string(dump), want) {
			t.Errorf("the dump of a guard says nothing of %s: %s", want, dump)
		}
	}
	again, err := LoadPolicies(dump)
	if err != nil {
		t.Fatalf("the dump cannot be loaded: %v", err)
	}
	if twice, _ := json.Marshal(again); string(twice) != string(dump) {
		t.Errorf("loaded and dumped again: %s\nwant %s", twice, dump)
	}
}

func TestAPolicyThatCannotBeUsedIsRefusedByMember(t *testing.T) {
	cases := []struct{ given, says string }{
		{`"leese":"30s"`, `"leese" is no member`},
		{`"Lease":"30s"`, `"Lease" is no member: write "lease"`},
		{`"lease":"30s","lease":"40s"`, `"lease" stands twice`},
		{`"lease":30`, `lease: 30 is no string`},
		{`"lease":"half a minute"`, `lease: "half a minute" is no duration`},
		{`"lease":"0s"`, `lease: "0s" leaves the question open`},
		{`"lease":null`, `lease: null is no string`},
		{`"lease":"0s adaptive"`, `lease: "0s adaptive" is no lease: write "30s", "adaptive", or "30s adaptive"`},
		{`"lease":"30sadaptive"`, `is no lease`},
		{`"lease":"30s  adaptive"`, `is no lease`},
		{`"lease":"adaptive 30s"`, `"adaptive 30s" is no duration`},
		{`"lease":"soon adaptive"`, `is no lease`},
		{`"lease":"20ms adaptive"`, `lease 20ms must be a multiple of 100ms`},
		{`"lease":"5s adaptive","retention":"11m","tokenLife":"1s","maxRun":"10m30s"`, `retention 11m0s is shorter than maxRun 10m30s + lease 1m0s`},
		{`"retention":"1h","tokenLife":"2h"`, `retention 1h0m0s is shorter than token life`},
		{`"tokenLife":"61.5s"`, `tokenLife`},
		{`"maxBody":"1MB"`, `maxBody: "1MB" is no size`},
		{`"maxBody":"1.5MiB"`, `maxBody: "1.5MiB" is no size`},
		{`"maxBody":"-1MiB"`, `maxBody: "-1MiB" is no size`},
		{`"maxBody":1048576`, `maxBody: 1048576 is no string`},
		{`"maxBody":"9000000000GiB"`, `is no size`},
		{`"maxKeptBody":"0B"`, `maxKeptBody: "0B" leaves the question open`},
		{`"keyRequired":"yes"`, `keyRequired: "yes" is neither true nor false`},
		{`"key":"token"`, `key: "token" is no array of strings`},
		{`"key":[]`, `key: [] leaves the question open`},
		{`"key":["token",7]`, `key: entry 2: 7 is no string`},
		{`"key":["cookie"]`, `key source "cookie"`},
		{`"key":["path:a"` + strings.Repeat(`,"path:a"`, 16) + `]`, `key: 17 sources, at most 16`},
		{`"methods":["get"]`, `method "get"`},
		{`"methods":["GET"]`, `method GET is safe`},
		{`"context":"cart"`, `context "cart" is none of path:NAME`},
		{`"traits":["shoe-size"]`, `trait "shoe-size" is none of`},
		{`"preset":"bank"`, `preset "bank" is none of`},
		{`"onCrash":"retry"`, `onCrash "retry" is none of`},
		{`"onDuplicate":""`, `onDuplicate: "" leaves the question open`},
		{`"mode":"watch"`, `mode "watch" is none of enforce, observe, off`},
		{`"mode":""`, `mode: "" leaves the question open`},
		{`"share":0`, `share: 0 of the keys is none of them: for that write "mode": "off"`},
		{`"share":null`, `share: null is no number`},
		{`"share":"half"`, `share: "half" is no number`},
		{`"share":1.5`, `share 1.5 is not above 0 and at most 1`},
		{`"share":-0.5`, `share -0.5 is not above 0`},
		{`"localReplay":"1s"`, `localReplay: "1s" is not honoured`},
		{`"fingerprint":"canonical"`, `fingerprint: "canonical" is no JSON object`},
		{`"fingerprint":{"mood":"none"}`, `fingerprint: "mood" is no member`},
		{`"fingerprint":{"mode":"some"}`, `fingerprint mode "some"`},
		{`"fingerprint":{"only":["/a"],"ignore":["/b"]}`, `not both`},
		{`"fingerprint":{"only":"/a"}`, `fingerprint: only: "/a" is no array`},
		{`"operation":"x"`, `"operation" stands twice`},
	}
	for _, c := range cases {
		text := `[{"operation":"a:b:c",` + c.given + `}]`
		if _, err := LoadPolicies([]byte(text)); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), `policy "a:b:c"`) {
			t.Errorf("%s: %v\nwant an error that names the policy and says %s", c.given, err, c.says)
		}
	}
	for _, c := range []struct{ text, says string }{
		{``, "line 1"}, {"[\n{\n\"operation\" 1}]", "line 3"}, {`null`, "null"}, {`{}`, "array"}, {`[7]`, "policy 1 of the array: 7 is no JSON object"},
		{`[{}]`, "operation"}, {`[null]`, "null is no JSON object"}, {`[{"operation":"a:b"}]`, "operation"},
		{`[{"operation":"a:b:c"},{"operation":"a:b:c"}]`, "there are two"},
		{`[{"preset":"form","lase":"1s"}]`, `policy 1 of the array: "lase" is no member`},
	} {
		if _, err := LoadPolicies([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want an error that says %s", c.text, err, c.says)
		}
	}
}

func TestEverythingThatIsWrongIsSaidAtOnce(t *testing.T) {
	_, err := LoadPolicies([]byte(`[
		{"operation":"a:b:c","lease":7,"leese":"1s","onCrash":"pray","maxBody":"1MB","retention":"1h"},
		{"operation":"d:e:f","methods":["GET"]}
	]`))
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	for _, says := range []string{"lease: 7", "leese", "onCrash", "maxBody", `policy "d:e:f": method GET`} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("nothing is said of %s in: %v", says, err)
		}
	}
	// The lease could not be read, so nothing is compared with it.
	if strings.Contains(err.Error(), "shorter") {
		t.Errorf("a default nobody asked for is blamed: %v", err)
	}
}

func TestAPolicyThatCannotBeReadChangesNothing(t *testing.T) {
	p := Policy{Operation: "a:b:c", Lease: time.Minute}
	if err := json.Unmarshal([]byte(`{"operation":"d:e:f","lease":"1s","wait":1}`), &p); err == nil || p.Operation != "a:b:c" || p.Lease != time.Minute {
		t.Errorf("%v, and then %+v", err, p)
	}
	if err := p.UnmarshalJSON([]byte(`{"operation":"d:e:f"`)); err == nil {
		t.Error("half an object was read")
	}
}

func TestSizesAndDurationsAreWrittenShort(t *testing.T) {
	for n, want := range map[int64]string{1: "1B", 1000: "1000B", 1024: "1KiB", 1536: "1536B", 1 << 20: "1MiB", 3 << 30: "3GiB", 1 << 40: "1024GiB"} {
		if got := sizeText(n); got != want {
			t.Errorf("%d is written %s, want %s", n, got, want)
		}
		if back, err := parseSize(want); err != nil || back != n {
			t.Errorf("%s is read %d, %v", want, back, err)
		}
	}
	for d, want := range map[time.Duration]string{
		24 * time.Hour: "24h", 90 * time.Minute: "1h30m", 10 * time.Minute: "10m", 90 * time.Second: "1m30s", time.Hour + time.Second: "1h0m1s",
		30 * time.Second: "30s", 100 * time.Millisecond: "100ms", 0: "0s", 10 * time.Second: "10s",
	} {
		if got := durationText(d); got != want {
			t.Errorf("%v is written %s, want %s", d, got, want)
		}
		if back, err := time.ParseDuration(want); err != nil || back != d {
			t.Errorf("%s is read %v, %v", want, back, err)
		}
	}
}

// The reference names every member with the choices that are checked, and its
// examples load.
func TestTheReferenceOfPoliciesIsTrue(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range policyMembers {
		if !strings.Contains(string(page), "\n| `"+m.name+"` |") {
			t.Errorf("the reference has no row of %s", m.name)
		}
	}
	p := Policy{}.withDefaults()
	for _, c := range p.choices() {
		row := regexp.MustCompile("(?m)^\\| `" + c.name + "` \\|.*$").FindString(string(page))
		for _, may := range c.may {
			if !strings.Contains(row, "`"+string(may)+"`") {
				t.Errorf("the row of %s does not name %s: %s", c.name, may, row)
			}
		}
	}
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) == 0 {
		t.Fatal("the reference has no example")
	}
	for _, block := range blocks {
		if _, err := LoadPolicies([]byte(block[1])); err != nil {
			t.Errorf("an example of the reference: %v", err)
		}
	}
}

// FuzzLoadPolicies: whatever is loaded is written so that it loads again as the
// same, and nothing panics.
func FuzzLoadPolicies(f *testing.F) {
	for _, seed := range []string{
		"[" + wholeOrder + "]", `[]`, `[{}]`, `null`, `[{"operation":"a:b:c"}]`,
		`[{"operation":"a:b:c","fingerprint":{"only":["/a","b"]},"maxBody":"3KiB","wait":"1h1ms"}]`,
		`[{"operation":"a:b:c","share":1.0,"key":["header:X"]},{"operation":"d:e:f","preset":"payment"}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := LoadPolicies(text)
		if err != nil {
			if list != nil {
				t.Error("an error and policies")
			}
			return
		}
		once, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		again, err := LoadPolicies(once)
		if err != nil {
			t.Fatalf("written as %s: %v", once, err)
		}
		for i := range list {
			if a, b := fmt.Sprintf("%+v", again[i].withDefaults().told()), fmt.Sprintf("%+v", list[i].withDefaults().told()); a != b {
				t.Errorf("read again it is %s, was %s", a, b)
			}
		}
		if twice, _ := json.Marshal(again); string(twice) != string(once) {
			t.Errorf("written twice: %s, %s", once, twice)
		}
	})
}

// told is a policy without what was made of it for use.
func (p Policy) told() Policy {
	p.Fingerprint = FingerprintChoice{Mode: p.Fingerprint.String()}
	return p
}

func TestAnAdaptiveLeaseIsAWordOfTheLease(t *testing.T) {
	for text, want := range map[string]Policy{
		`{"operation":"a:b:c","preset":"","lease":"adaptive"}`:     {Operation: "a:b:c", AdaptiveLease: true},
		`{"operation":"a:b:c","preset":"","lease":"10s adaptive"}`: {Operation: "a:b:c", Lease: 10 * time.Second, AdaptiveLease: true},
		`{"operation":"a:b:c","preset":"","lease":"1m30s"}`:        {Operation: "a:b:c", Lease: 90 * time.Second},
	} {
		var p Policy
		if err := json.Unmarshal([]byte(text), &p); err != nil || p.Lease != want.Lease || p.AdaptiveLease != want.AdaptiveLease {
			t.Errorf("%s: %v, adaptive %v, %v", text, p.Lease, p.AdaptiveLease, err)
		}
		written, _ := json.Marshal(p)
		var again Policy
		if err := json.Unmarshal(written, &again); err != nil || again.Lease != p.Lease || again.AdaptiveLease != p.AdaptiveLease || !strings.Contains(string(written), text[strings.Index(text, `"lease"`):len(text)-1]) {
			t.Errorf("%s is written %s and read %+v, %v", text, written, again, err)
		}
	}
	g := guardOn(t, newShelf(), policy(func(p *Policy) { p.Lease, p.AdaptiveLease = 0, true }))
	dump, _ := json.Marshal(g.Policies())
	if !strings.Contains(string(dump), `"lease":"30s adaptive"`) {
		t.Errorf("the dump of a guard says %s", dump)
	}
	if again, err := LoadPolicies(dump); err != nil || !again[0].AdaptiveLease {
		t.Errorf("loaded again: %v", err)
	}
	if report := g.Report(); !strings.Contains(report, "lease is adaptive: now 30s, 5s to 1m0s once 200 runs are known") {
		t.Errorf("the report says\n%s", report)
	}
}
