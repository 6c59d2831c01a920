package httpflow_test

import (
	"net/http"
	"strings"
	"testing"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
)

func TestStatement01_QuotedAndBareAreOneKey(t *testing.T) {
	b := newBed(t, created)
	b.want(b.send("{}", `Idempotency-Key: order 1`), 201, "executed", 1)
	for _, spelling := range []string{`"order 1"`, ` order 1 `, `"order 1";page=2`} {
		b.want(b.send("{}", "Idempotency-Key: "+spelling), 201, "replayed", 1)
	}
}

func TestStatement02to06_KeysThatCannotBeRead(t *testing.T) {
	cases := []struct {
		given string
		lines []string
		says  string // in the detail
	}{
		{"an empty key", []string{`Idempotency-Key: `}, "empty"},
		{"a blank key", []string{`Idempotency-Key:   `}, "empty"},
		{"an empty quoted key", []string{`Idempotency-Key: ""`}, "empty"},
		{"two equal lines", []string{"Idempotency-Key: a", "Idempotency-Key: a"}, "2 times"},
		{"two different lines", []string{"Idempotency-Key: a", "Idempotency-Key: b"}, "2 times"},
		{"a list", []string{`Idempotency-Key: "a", "b"`}, "list"},
		{"an unclosed quote", []string{`Idempotency-Key: "a`}, "quot"},
		{"256 bytes", []string{"Idempotency-Key: " + strings.Repeat("k", 256)}, "255"},
		{"a byte over 0x7e", []string{"Idempotency-Key: caf\u00e9"}, "0x7E"},
		{"a tab", []string{"Idempotency-Key: a\tb"}, "0x7E"},
		{"a token of the wrong length", []string{"Idempotency-Token: abc"}, "Idempotency-Token"},
		{"a token of a wrong alphabet", []string{"Idempotency-Token: " + strings.Repeat("+", 32)}, "Idempotency-Token"},
	}
	b := newBed(t, created)
	for _, c := range cases {
		t.Run(c.given, func(t *testing.T) {
			b.t = t
			req, _ := http.NewRequest(http.MethodPost, b.server.URL+"/do/it", strings.NewReader("{}"))
			req.Header.Set("Authorization", "Bearer alice")
			for _, line := range c.lines {
				name, value, _ := strings.Cut(line, ": ")
				req.Header[name] = append(req.Header[name], value)
			}
			a := b.do(req)
			b.want(a, 400, "malformed", 0)
			if detail := a.json(t)["detail"].(string); !strings.Contains(strings.ToLower(detail), strings.ToLower(c.says)) || !strings.Contains(detail, "Looked for") {
				t.Errorf("detail %q does not say %q and what was looked for", detail, c.says)
			}
		})
	}
}

func TestStatement05_TheLongestKeyPasses(t *testing.T) {
	b := newBed(t, created)
	b.want(b.send("{}", "Idempotency-Key: "+strings.Repeat("k", 255)), 201, "executed", 1)
}

func TestStatement03_MissingAndOptional(t *testing.T) {
	t.Run("optional and absent: nothing is added", func(t *testing.T) {
		b := newBed(t, created)
		a := b.send("{}")
		b.want(a, 201, "", 1)
		b.want(b.send("{}"), 201, "", 2)
		if n := b.seen.begun.Load(); n != 0 {
			t.Errorf("%d requests were judged, want none", n)
		}
	})
	t.Run("required and absent", func(t *testing.T) {
		b := newBed(t, created, policy(func(p *idem.Policy) { p.KeyRequired = idem.Yes }))
		a := b.send("{}")
		b.want(a, 400, "missing", 0)
		detail := a.json(t)["detail"].(string)
		for _, place := range []string{"Idempotency-Token", "X-Idempotent-Token", "idempotent-token", "idempotentToken", "Idempotency-Key"} {
			if !strings.Contains(detail, place) { // statement 59
				t.Errorf("detail %q does not name %s", detail, place)
			}
		}
	})
}

func TestStatement08_TwoHeaderNames(t *testing.T) {
	b := newBed(t, created, policy(func(p *idem.Policy) { p.Key = []string{"header:X-Request-Key", "header:idempotency-key"} }))
	b.want(b.send("{}", "X-Request-Key: a", "Idempotency-Key: b"), 400, "malformed", 0)
	b.want(b.send("{}", "X-Request-Key: a", `Idempotency-Key: "a"`), 201, "executed", 1)
	b.want(b.send("{}", "X-Request-Key: a"), 201, "replayed", 1)
}

func TestStrictKeysAreQuoted(t *testing.T) {
	b := newBed(t, created, func(s *setting) { s.flow.StrictKeys = true })
	b.want(b.send("{}", "Idempotency-Key: a"), 400, "malformed", 0)
	b.want(b.send("{}", `Idempotency-Key: "a"`), 201, "executed", 1)
}

// Browsers add an Idempotency-Key of their own to requests.
func TestATokenWinsOverAKeyBesideIt(t *testing.T) {
	forms := []struct{ place, body, contentType string }{
		{"header", "{}", "application/json"},
		{"form field", "idempotent-token=TOKEN&a=1", "application/x-www-form-urlencoded"},
		{"JSON member", `{"a":1,"idempotentToken":"TOKEN"}`, "application/json"},
		{"multipart field", multipartWith("TOKEN", "XyZ"), `multipart/form-data; boundary=XyZ`},
	}
	for _, f := range forms {
		t.Run(f.place, func(t *testing.T) {
			b := newBed(t, created)
			token := b.token("")
			send := func(key string) answer {
				changes := []string{"Idempotency-Key: " + key, "Content-Type: " + f.contentType}
				if f.place == "header" {
					changes = append(changes, "Idempotency-Token: "+token)
				}
				return b.send(strings.ReplaceAll(f.body, "TOKEN", token), changes...)
			}
			b.want(send(`"5577006791947779410"`), 201, "executed", 1)
			b.want(send(`"8674665223082153551"`), 201, "replayed", 1)
		})
	}
}

func multipartWith(token, boundary string) string {
	return "--" + boundary + "\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n" +
		"--" + boundary + "\r\nContent-Disposition: form-data; name=\"idempotent-token\"\r\n\r\n" + token + "\r\n--" + boundary + "--\r\n"
}

func TestTokensThatCannotBeRead(t *testing.T) {
	cases := []struct{ given, body, contentType string }{
		{"empty in a form", "idempotent-token=&a=1", "application/x-www-form-urlencoded"},
		{"twice in a form", "idempotent-token=TOKEN&idempotent-token=TOKEN", "application/x-www-form-urlencoded"},
		{"null in JSON", `{"idempotentToken":null}`, "application/json"},
		{"a number in JSON", `{"idempotentToken":12}`, "application/json"},
		{"twice in JSON", `{"idempotentToken":"TOKEN","idempotentToken":"TOKEN"}`, "application/json"},
	}
	for _, c := range cases {
		t.Run(c.given, func(t *testing.T) {
			b := newBed(t, created)
			b.want(b.send(strings.ReplaceAll(c.body, "TOKEN", b.token("")), "Content-Type: "+c.contentType), 400, "malformed", 0)
		})
	}
}

// A member of that name deeper down is the application's own.
func TestOnlyATopLevelMemberIsAToken(t *testing.T) {
	b := newBed(t, created)
	b.want(b.send(`{"nested":{"idempotentToken":"x"},"list":["idempotentToken"]}`), 201, "", 1)
}

func TestTwoTokenHeaders(t *testing.T) {
	b := newBed(t, created)
	one, other := b.token(""), b.token("")
	b.want(b.send("{}", "Idempotency-Token: "+one, "X-Idempotent-Token: "+other), 400, "malformed", 0)
	b.want(b.send("{}", "Idempotency-Token: "+one, "X-Idempotent-Token: "+one), 201, "executed", 1)
	b.want(b.send("{}", "X-Idempotent-Token: "+one), 201, "replayed", 1)
}

func TestStatement35_SafeMethodsAndOthersAreNotGuarded(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "PUT", "DELETE"} {
		t.Run(method, func(t *testing.T) {
			b := newBed(t, created)
			b.want(b.send("", method, "Idempotency-Key: a"), 201, "unguarded", 1)
			b.want(b.send("", method, "Idempotency-Key: a"), 201, "unguarded", 2)
			b.want(b.send("", method), 201, "", 3)
			// Statement 36: override headers are not trusted.
			b.want(b.send("", method, "X-HTTP-Method-Override: POST", "Idempotency-Key: a"), 201, "unguarded", 4)
		})
	}
}

func TestRouteOfAnUnknownOperationPanics(t *testing.T) {
	b := newBed(t, created)
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "shop:order:creat") {
			t.Errorf("panic %q does not name the operation", text)
		}
	}()
	b.flow.Route("shop:order:creat")
}

// Whoever overlooked the error of New has no flow.
func TestARouteOfNoFlowSaysSo(t *testing.T) {
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "httpflow.New") {
			t.Errorf("panic %q does not say where to look", text)
		}
	}()
	var none *httpflow.Flow
	none.Route(operation)
}

func TestNewReportsEverything(t *testing.T) {
	_, err := httpflow.New(httpflow.Config{Docs: "problems/", Origins: []string{"https://shop.example/cart"}})
	for _, want := range []string{"Guard is nil", "Scope is nil", "problems/", "https://shop.example/cart"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %s", err, want)
		}
	}
}
