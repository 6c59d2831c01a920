package idem

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

func TestParseKey(t *testing.T) {
	long := strings.Repeat("k", 255)
	tests := map[string]struct {
		field string
		want  string // "" where err is set
		err   error
	}{
		// Statement 1: the two spellings of one key.
		"bare":                         {`abc`, `abc`, nil},
		"quoted":                       {`"abc"`, `abc`, nil},
		"bare, trimmed":                {`  abc `, `abc`, nil},
		"quoted, trimmed outside":      {`  "abc" `, `abc`, nil},
		"spaces within stay":           {`a b  c`, `a b  c`, nil},
		"spaces inside quotes stay":    {`" abc "`, ` abc `, nil},
		"a UUID":                       {`8e03978e-40d5-43dd-bc93-6894a57f9324`, `8e03978e-40d5-43dd-bc93-6894a57f9324`, nil},
		"a browser's number":           {`"11700000000000000001"`, `11700000000000000001`, nil},
		"escapes":                      {`"a\"b\\c"`, `a"b\c`, nil},
		"comma in quotes":              {`"a,b"`, `a,b`, nil},
		"semicolon is ordinary":        {`a;b=c`, `a;b=c`, nil},
		"backslash is ordinary":        {`a\b\\c`, `a\b\\c`, nil},
		"one colon":                    {`:`, `:`, nil},
		"colons within":                {`a:b`, `a:b`, nil},
		"colon before":                 {`:a`, `:a`, nil},
		"first and last byte of range": {`!~`, `!~`, nil},

		// Parameters are read and ignored.
		"a parameter":                {`"abc";v=1`, `abc`, nil},
		"a parameter without value":  {`"abc";v`, `abc`, nil},
		"spaces after the semicolon": {`"abc";  v=1;w=?0 `, `abc`, nil},
		"a comma in a parameter":     {`"abc";v="1,2;\"3"`, `abc`, nil},
		"every type":                 {`"k";a=-1;b=1.5;c=tok/en:x;d=:aGk=:;e=?1;f=@-12;g=%"f%c3%bc";*h=*t`, `k`, nil},
		"a semicolon alone":          {`"abc";`, "", errKeyParameters},
		"space before the semicolon": {`"abc" ;v=1`, "", errKeyTrailing},
		"a parameter in upper case":  {`"abc";V=1`, "", errKeyParameters},
		"a parameter's empty value":  {`"abc";v=`, "", errKeyParameters},
		"a number without digits":    {`"abc";v=-`, "", errKeyParameters},
		"a boolean that is none":     {`"abc";v=?2`, "", errKeyParameters},
		"bytes that do not end":      {`"abc";v=:aGk`, "", errKeyParameters},
		"display string without end": {`"abc";v=%"a`, "", errKeyParameters},
		"a value that is none":       {`"abc";v=(1)`, "", errKeyParameters},
		"a parameter's open string":  {`"abc";v="1`, "", errKeyUnclosed},
		"a list behind parameters":   {`"abc";v=1, "def"`, "", errKeyList},
		"text behind a parameter":    {`"abc";v=1 x`, "", errKeyTrailing},
		"text behind the quotes":     {`"abc"x`, "", errKeyTrailing},
		"DEL in a display string":    {"\"abc\";v=%\"a\x7f\"", "", errKeyParameters},

		// Statement 2: empty is not absent.
		"empty":             {``, "", errKeyEmpty},
		"blank":             {`   `, "", errKeyEmpty},
		"empty quotes":      {`""`, "", errKeyEmpty},
		"blank in quotes":   {`"  "`, "", errKeyEmpty},
		"empty, parameters": {`"";v=1`, "", errKeyEmpty},

		// Statement 4.
		"list":                    {`abc, def`, "", errKeyList},
		"quoted list":             {`"abc", "def"`, "", errKeyList},
		"trailing comma":          {`abc,`, "", errKeyList},
		"unclosed quote":          {`"abc`, "", errKeyUnclosed},
		"a quote alone":           {`"`, "", errKeyUnclosed},
		"escaped closing quote":   {`"abc\"`, "", errKeyUnclosed},
		"backslash at the end":    {`"abc\`, "", errKeyUnclosed},
		"unknown escape":          {`"a\nb"`, "", errKeyEscape},
		"quote within a bare key": {`ab"c`, "", errKeyQuote},
		"byte sequence":           {`:YWJj:`, "", errKeyBinary},
		"empty byte sequence":     {`::`, "", errKeyBinary},
		"colons in quotes":        {`":YWJj:"`, "", errKeyBinary},

		// Statement 5: the limit is counted after unquoting.
		"255 bytes":                   {long, long, nil},
		"256 bytes":                   {long + "k", "", errKeyLong},
		"255 bytes and spaces":        {" " + long + "  ", long, nil},
		"255 bytes quoted":            {`"` + long + `"`, long, nil},
		"256 bytes quoted":            {`"` + long + `k"`, "", errKeyLong},
		"255 bytes, each one escaped": {`"` + strings.Repeat(`\\`, 255) + `"`, strings.Repeat(`\`, 255), nil},
		"256 bytes, each one escaped": {`"` + strings.Repeat(`\\`, 256) + `"`, "", errKeyLong},

		// What is no key is not read to its end, or a field of a megabyte would cost
		// its length once for each parameter in it.
		"4 KiB of parameters": {`"abc"` + strings.Repeat(";a", 2046), "", errKeyField},
		"a byte less":         {`"abc"` + strings.Repeat(";a", 2045) + "b", `abc`, nil},

		// Statement 6.
		"beyond ASCII":           {"caf\u00e9", "", errKeyBytes},
		"beyond ASCII in quotes": {"\"caf\u00e9\"", "", errKeyBytes},
		"0x80":                   {"a\x80", "", errKeyBytes},
		"tab":                    {"a\tb", "", errKeyBytes},
		"tab around":             {"\tabc", "", errKeyBytes},
		"tab in quotes":          {"\"a\tb\"", "", errKeyBytes},
		"NUL":                    {"a\x00b", "", errKeyBytes},
		"DEL":                    {"a\x7fb", "", errKeyBytes},
		"DEL in quotes":          {"\"a\x7fb\"", "", errKeyBytes},
		"line break":             {"a\r\nb", "", errKeyBytes},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseKey(tt.field, false)
			if got != tt.want || err != tt.err {
				t.Fatalf("got %q, error %v; want %q, error %v", got, err, tt.want, tt.err)
			}
			if err != nil && !errors.Is(err, ErrMalformed) {
				t.Errorf("%v is not ErrMalformed", err)
			}
			strict, err := ParseKey(tt.field, true)
			if strings.HasPrefix(strings.TrimLeft(tt.field, " "), `"`) {
				if strict != tt.want || err != tt.err {
					t.Errorf("strict: got %q, error %v", strict, err)
				}
			} else if strict != "" || !errors.Is(err, ErrMalformed) {
				t.Errorf("strict mode read a bare key: %q, error %v", strict, err)
			}
		})
	}
}

func TestStatement05_TheMessageNamesTheLimit(t *testing.T) {
	key := strings.Repeat("secret", 50)
	_, err := ParseKey(key, false)
	if err == nil || !strings.Contains(err.Error(), "255 bytes") || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error should name the limit and not the key: %v", err)
	}
}

// TestParseKeyAllocations: a key that has to be copied is copied once, and a
// field of a megabyte is refused without a copy.
func TestParseKeyAllocations(t *testing.T) {
	tests := map[string]struct {
		field string
		most  float64
	}{
		"bare":             {"8e03978e-40d5-43dd-bc93-6894a57f9324", 0},
		"quoted":           {`"8e03978e-40d5-43dd-bc93-6894a57f9324"`, 0},
		"with parameters":  {`"abc";v="1,2"`, 0},
		"refused":          {"a,b", 0},
		"a megabyte, bare": {strings.Repeat("k", 1<<20), 0},
		"escaped":          {`"a\"b"`, 2},
		"many parameters":  {`"abc"` + strings.Repeat(`;a=%""`, 600), 0},
	}
	for name, tt := range tests {
		if got := testing.AllocsPerRun(100, func() { _, _ = ParseKey(tt.field, false) }); got > tt.most {
			t.Errorf("%s: %v allocations, at most %v", name, got, tt.most)
		}
	}
}

// quoteKey is the quoted spelling of a key.
func quoteKey(key string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
}

// FuzzParseKey holds ParseKey to the limits of PROTOCOL section 7, written down
// a second time as patterns, and to the two spellings of a key being one.
func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{"", " ", "abc", `"abc"`, `"a\"b"`, `"a";v="1,2"`, `"a";b=:aGk=:;c=%"x"`, "a,b", ":a:", `"`, `"\`, "a;b", "é", "a\tb"} {
		f.Add(seed)
	}
	bare := regexp.MustCompile(`^ *([!#-+\--~](?:[ !#-+\--~]{0,253}[!#-+\--~])?) *$`)
	sequence := regexp.MustCompile(`^:.*:$`)
	quoted := regexp.MustCompile(`^ *"((?:[ !#-\[\]-~]|\\["\\])*)" *$`)
	parameters := regexp.MustCompile(`" *;`)
	f.Fuzz(func(t *testing.T, field string) {
		key, err := ParseKey(field, false)
		want, readable := "", false
		if m := bare.FindStringSubmatch(field); m != nil && !sequence.MatchString(m[1]) {
			want, readable = m[1], true
		} else if m := quoted.FindStringSubmatch(field); m != nil {
			want = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(m[1])
			readable = strings.TrimSpace(want) != "" && len(want) <= 255 && !sequence.MatchString(want)
		}
		switch {
		case err == nil && readable && key != want:
			t.Fatalf("%q was read as %q, is %q", field, key, want)
		case err != nil && readable:
			t.Fatalf("%q was refused: %v", field, err)
		case err == nil && !readable && !parameters.MatchString(field):
			t.Fatalf("%q was read as %q", field, key)
		}
		if err != nil {
			if !errors.Is(err, ErrMalformed) || key != "" {
				t.Fatalf("key %q with error %v", key, err)
			}
			return
		}
		for _, strict := range []bool{false, true} {
			if again, err := ParseKey(quoteKey(key), strict); again != key || err != nil {
				t.Fatalf("key %q, quoted, became %q, error %v", key, again, err)
			}
		}
		if again, err := ParseKey(key, false); bare.MatchString(key) && strings.Trim(key, " ") == key && (again != key || err != nil) {
			t.Fatalf("key %q, bare, became %q, error %v", key, again, err)
		}
	})
}

func BenchmarkParseKey(b *testing.B) {
	for name, field := range map[string]string{"bare": "8e03978e-40d5-43dd-bc93-6894a57f9324", "quoted": `"8e03978e-40d5-43dd-bc93-6894a57f9324"`} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseKey(field, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
