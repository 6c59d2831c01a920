package idem

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

const exampleToken = "IAAAAAAAAAAAAAAAAAAAAAAAAAAAAA-_"

func TestParseToken(t *testing.T) {
	tests := map[string]struct {
		text string
		want error
	}{
		"32 characters":                        {exampleToken, nil},
		"unknown version, still a token":       {strings.Repeat("_", 32), nil},
		"empty":                                {"", ErrMalformed},
		"cut by one":                           {exampleToken[:31], ErrMalformed},
		"one more":                             {exampleToken + "A", ErrMalformed},
		"padding within":                       {exampleToken[:31] + "=", ErrMalformed},
		"padding after":                        {exampleToken + "=", ErrMalformed},
		"plus of the other base64":             {exampleToken[:31] + "+", ErrMalformed},
		"slash of the other base64":            {exampleToken[:31] + "/", ErrMalformed},
		"line break at the end":                {exampleToken[:31] + "\n", ErrMalformed},
		"line break within":                    {exampleToken[:10] + "\r\n" + exampleToken[12:], ErrMalformed},
		"space":                                {" " + exampleToken[1:], ErrMalformed},
		"NUL":                                  {"\x00" + exampleToken[1:], ErrMalformed},
		"beyond ASCII":                         {"é" + exampleToken[2:], ErrMalformed},
		"36 characters, 4 of them line breaks": {exampleToken + "\n\n\n\n", ErrMalformed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tok, err := ParseToken(tt.text)
			if !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if err != nil {
				if !tok.IsZero() {
					t.Error("a token came with the error")
				}
				if tt.text != "" && strings.Contains(err.Error(), tt.text) {
					t.Errorf("the error repeats what was read: %v", err)
				}
				return
			}
			if got := tok.Reveal(); got != tt.text {
				t.Errorf("reveals %q, was %q: a token has one spelling", got, tt.text)
			}
		})
	}
}

func TestZeroTokenIsNone(t *testing.T) {
	var none Token
	if !none.IsZero() || none.Reveal() != "" || none.String() != "token(none)" {
		t.Errorf("the zero token is %v, reveals %q", none, none.Reveal())
	}
	zeros, err := ParseToken(strings.Repeat("A", 32))
	if err != nil || zeros.IsZero() || zeros == none {
		t.Error("a token of 24 zero bytes was sent: it is not the same as none")
	}
}

// TestStatement46_TokensRedactThemselves prints and marshals a token in every
// way at hand and looks for its bytes in every spelling.
func TestStatement46_TokensRedactThemselves(t *testing.T) {
	tok, err := testSigner(t).issue(time.Unix(1_800_000_000, 0), 0x4e, "shop:order:create", "alice", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	holder := struct {
		Token Token
		Ptr   *Token
	}{tok, &tok}
	var shown bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b", "%c", "%U", "%t"} {
		fmt.Fprintf(&shown, verb+"\n", tok)
		fmt.Fprintf(&shown, verb+"\n", holder)
		fmt.Fprintf(&shown, verb+"\n", []Token{tok})
	}
	for _, v := range []any{tok, holder, map[Token]Token{tok: tok}} {
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		shown.Write(out)
	}
	for _, h := range []slog.Handler{slog.NewTextHandler(&shown, nil), slog.NewJSONHandler(&shown, nil)} {
		slog.New(h).Info("issued", "token", tok, "holder", holder)
	}
	assertHidden(t, shown.String(), tok.raw[tokenAtNonce:])
	assertHidden(t, shown.String(), tok.raw[tokenAtOurs:tokenAtPage])
	if !strings.Contains(shown.String(), "token(k3 issued 2027-01-15T08:00:00Z for 15m0s …)") {
		t.Errorf("key and times should be told:\n%s", shown.String())
	}
}

// assertHidden fails if secret stands in shown in a spelling that can be read
// back.
func assertHidden(t *testing.T, shown string, secret []byte) {
	t.Helper()
	decimal := strings.Trim(fmt.Sprint([]byte(secret)), "[]")
	for name, spelling := range map[string]string{
		"raw": string(secret), "hex": hex.EncodeToString(secret),
		"base64":    base64.StdEncoding.EncodeToString(secret)[:len(secret)],
		"base64url": base64.RawURLEncoding.EncodeToString(secret), "decimal": decimal,
		"decimal, listed": strings.ReplaceAll(decimal, " ", ", "),
	} {
		if strings.Contains(strings.ToLower(shown), strings.ToLower(spelling)) {
			t.Errorf("the secret is shown in %s", name)
		}
	}
}

func TestEveryByteIsALife(t *testing.T) {
	for code := range 256 {
		life := lifeOf(byte(code))
		if life < time.Second || life > 64*24*time.Hour {
			t.Fatalf("code %d says %v", code, life)
		}
		again, err := lifeCode(life)
		if err != nil || lifeOf(again) != life {
			t.Fatalf("life %v of code %d became code %d, %v; error %v", life, code, again, lifeOf(again), err)
		}
	}
}

func TestLifeCode(t *testing.T) {
	tests := []struct {
		life time.Duration
		want string // in the error; "" for a life that can be said
	}{
		{time.Second, ""},
		{64 * time.Second, ""},
		{2 * time.Minute, ""},
		{15 * time.Minute, ""},
		{24 * time.Hour, ""},
		{64 * 24 * time.Hour, ""},
		{0, "the nearest is 1s"},
		{-time.Minute, "the nearest is 1s"},
		{time.Second / 2, "the nearest is 1s"},
		{65 * time.Second, "the nearest are 1m4s and 2m0s"},
		{90 * time.Minute, "the nearest are 1h4m0s and 2h0m0s"},
		{15*time.Minute + time.Nanosecond, "the nearest are 15m0s and 16m0s"},
		{65 * time.Hour, "the nearest are 64h0m0s and 72h0m0s"},
		{65 * 24 * time.Hour, "the nearest is 1536h0m0s"},
	}
	for _, tt := range tests {
		code, err := lifeCode(tt.life)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%v: %v", tt.life, err)
		case tt.want == "" && lifeOf(code) != tt.life:
			t.Errorf("%v became %v", tt.life, lifeOf(code))
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%v: error %v should say %q", tt.life, err, tt.want)
		}
	}
}

// FuzzParseToken: what parses has the one spelling that was read, and anything
// else is malformed.
func FuzzParseToken(f *testing.F) {
	for _, seed := range []string{"", exampleToken, exampleToken[:31], exampleToken + "=", exampleToken[:31] + "\n", strings.Repeat("é", 16)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tok, err := ParseToken(text)
		inAlphabet := len(text) == 32 && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == ""
		for i := range len(text) {
			inAlphabet = inAlphabet && (isAlnum(text[i]) || text[i] == '-' || text[i] == '_')
		}
		if (err == nil) != inAlphabet {
			t.Fatalf("error %v for a text whose being a token is %v", err, inAlphabet)
		}
		if err != nil {
			if !errors.Is(err, ErrMalformed) || !tok.IsZero() {
				t.Fatalf("token %v with error %v", tok, err)
			}
			return
		}
		if tok.Reveal() != text {
			t.Fatal("a second spelling was read")
		}
		if tok.life() <= 0 || tok.issuedAt().Unix() < 0 || tok.keyID() > 31 {
			t.Fatalf("a field is out of range: %v", tok)
		}
	})
}
