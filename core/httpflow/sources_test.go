package httpflow_test

import (
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	idem "github.com/go-idem/idem/core"
)

// keyed is a bed whose operation takes these key sources and needs one.
func keyed(t *testing.T, sources ...string) *bed {
	t.Helper()
	return newBed(t, created, func(s *setting) {
		s.policy.Key, s.policy.KeyRequired = sources, idem.Yes
		s.guard.Funcs = map[string]idem.KeyFunc{"reference": reference}
	})
}

var errNobodyKnows = errors.New("the directory does not answer")

// reference is a key function that does everything one may do.
func reference(r idem.KeyRequest) (string, error) {
	lines := r.Header("X-Reference")
	switch {
	case len(lines) == 0:
		return "", nil
	case lines[0] == "bad":
		return "", fmt.Errorf("%w: the reference secret-reference is no good", idem.ErrMalformed)
	case lines[0] == "down":
		return "", errNobodyKnows
	}
	return lines[0], nil
}

const (
	asForm  = "Content-Type: application/x-www-form-urlencoded"
	asParts = "Content-Type: multipart/form-data; boundary=XyZ"
)

// parts is a multipart form of fields and values in turn.
func parts(boundary string, pairs ...string) (form string) {
	for i := 0; i < len(pairs); i += 2 {
		form += "--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + pairs[i] + "\"\r\n\r\n" + pairs[i+1] + "\r\n"
	}
	return form + "--" + boundary + "--\r\n"
}

// The same intent twice is one run, another one a second.
func TestEverySourceNamesTheIntent(t *testing.T) {
	for _, c := range []struct {
		source       string
		first, other []string // a body, then changes
	}{
		{"json:/order/id", []string{`{"order":{"id":"a"}}`}, []string{`{"order":{"id":"b"}}`}},
		{"json:/a~1b/0", []string{`{"a/b":[7]}`}, []string{`{"a/b":["7"]}`}},
		{"json:/n", []string{`{"n":1}`}, []string{`{"n":1.0}`}},
		{"json:/n", []string{`{"n":9007199254740993}`}, []string{`{"n":9007199254740992}`}},
		{"form:order", []string{"order=a&x=1", asForm}, []string{"order=b&x=1", asForm}},
		{"form:order", []string{parts("XyZ", "order", "a"), asParts}, []string{parts("XyZ", "order", "b"), asParts}},
		{"path:rest", []string{"", "/do/a"}, []string{"", "/do/b"}},
		{"func:reference", []string{"{}", "X-Reference: a"}, []string{"{}", "X-Reference: b"}},
		{"json:/id+path:rest", []string{`{"id":"a"}`, "/do/bc"}, []string{`{"id":"ab"}`, "/do/c"}},
		{"header:X-A+header:X-B", []string{"{}", "X-A: a", "X-B: bc"}, []string{"{}", "X-A: ab", "X-B: c"}},
		{"header:X-A+path:rest+json:/id", []string{`{"id":1}`, "X-A: a", "/do/x"}, []string{`{"id":1}`, "X-A: a", "/do/y"}},
	} {
		t.Run(c.source, func(t *testing.T) {
			b := keyed(t, c.source)
			b.want(b.send(c.first[0], c.first[1:]...), 201, "executed", 1)
			b.want(b.send(c.first[0], c.first[1:]...), 201, "replayed", 1)
			b.want(b.send(c.other[0], c.other[1:]...), 201, "executed", 2)
			b.want(b.send(c.other[0], c.other[1:]...), 201, "replayed", 2)
			b.want(b.send(c.first[0], append(c.first[1:], "Authorization: Bearer bob")...), 201, "executed", 3)
		})
	}
}

// Faults: 50.
func TestWhatIsNoKeyIsNeverOne(t *testing.T) {
	for _, c := range []struct {
		given, source string
		request       []string
		verdict       string
		says          string // in the detail
	}{
		{"no member", "json:/id", []string{`{"ID":1}`}, "missing", "JSON member /id"},
		{"a step too far", "json:/id/x", []string{`{"id":1}`}, "missing", "JSON member /id/x"},
		{"null", "json:/id", []string{`{"id":null}`}, "malformed", "neither a string nor a number"},
		{"true", "json:/id", []string{`{"id":true}`}, "malformed", "neither a string nor a number"},
		{"an object", "json:/id", []string{`{"id":{}}`}, "malformed", "neither a string nor a number"},
		{"an array", "json:/id", []string{`{"id":[1]}`}, "malformed", "neither a string nor a number"},
		{"an empty string", "json:/id", []string{`{"id":""}`}, "malformed", "empty"},
		{"a blank string", "json:/id", []string{`{"id":" \t\u00a0"}`}, "malformed", "empty"},
		{"twice", "json:/id", []string{`{"id":1,"id":1}`}, "malformed", "more than once"},
		{"twice on the way", "json:/a/id", []string{`{"a":{"id":1},"\u0061":{"id":1}}`}, "malformed", "more than once"},
		{"half a character", "json:/id", []string{`{"id":"\ud83d"}`}, "malformed", "no Unicode"},
		{"no text", "json:/id", []string{"{\"id\":\"\xff\"}"}, "malformed", "no Unicode"},
		{"no JSON", "json:/id", []string{`{"id":1`}, "malformed", "no JSON"},
		{"too long", "json:/id", []string{`{"id":"` + strings.Repeat("x", 1025) + `"}`}, "malformed", "1024"},
		{"no body", "json:/id", []string{""}, "missing", "JSON member /id"},
		{"another kind of body", "json:/id", []string{`id=1`, asForm}, "missing", "JSON member /id"},
		{"a body of no kind", "json:/id", []string{`{"id":1}`, "Content-Type: "}, "missing", "JSON member /id"},
		{"no field", "form:id", []string{"x=1", asForm}, "missing", "form field id"},
		{"an empty field", "form:id", []string{"id=&x=1", asForm}, "malformed", "empty"},
		{"a field that cannot be read", "form:id", []string{"id=%zz", asForm}, "malformed", "empty"},
		{"two fields", "form:id", []string{"id=1&id=1", asForm}, "malformed", "2 times"},
		{"two parts", "form:id", []string{parts("XyZ", "id", "1", "id", "1"), asParts}, "malformed", "2 times"},
		{"a long part", "form:id", []string{parts("XyZ", "id", strings.Repeat("x", 1025)), asParts}, "malformed", "1024"},
		{"a form that breaks off", "form:id", []string{strings.TrimSuffix(parts("XyZ", "id", "1"), "\r\n--XyZ--\r\n"), asParts}, "malformed", "breaks off"},
		{"a query in the place of a form", "form:id", []string{"x=1", asForm, "/do/it?id=1"}, "missing", "form field id"},
		{"no path value", "path:order", []string{"{}"}, "missing", "path value order"},
		{"a blank path value", "path:rest", []string{"{}", "/do/%20"}, "malformed", "empty"},
		{"nothing for the function", "func:reference", []string{"{}"}, "missing", "function reference"},
		{"a function that refuses", "func:reference", []string{"{}", "X-Reference: bad"}, "malformed", "cannot be made"},
		{"one part of two", "json:/id+path:order", []string{`{"id":1}`}, "missing", "JSON member /id together with path value order"},
		{"the other part of two", "json:/id+path:rest", []string{`{}`}, "missing", "JSON member /id together with path value rest"},
		{"a bad part of two", "json:/id+path:rest", []string{`{"id":""}`}, "malformed", "empty"},
		{"a bad header of two", "header:X-A+header:X-B", []string{"{}", "X-A: a,b", "X-B: b"}, "malformed", "list"},
		{"a header of two", "header:X-A+header:X-B", []string{"{}", "X-A: a"}, "missing", "header X-A together with header X-B"},
	} {
		t.Run(c.given, func(t *testing.T) {
			b := keyed(t, c.source)
			a := b.send(c.request[0], c.request[1:]...)
			b.want(a, 400, c.verdict, 0)
			if detail, _ := a.json(t)["detail"].(string); !strings.Contains(detail, c.says) || !strings.Contains(detail, "Looked for a key (") {
				t.Errorf("detail %q does not say %q and what was looked for", detail, c.says)
			} else if strings.Contains(detail, "secret-reference") {
				t.Errorf("detail %q repeats what was sent", detail)
			}
		})
	}
}

// Everybody who sends nothing would share one record.
func TestS7_AnEmptyPartIsNoKey(t *testing.T) {
	for _, body := range []string{`{"id":""}`, `{"id":"  "}`} {
		for _, source := range []string{"json:/id", "json:/id+path:rest"} {
			b := keyed(t, source)
			b.want(b.send(body), 400, "malformed", 0)
		}
	}
}

// A function that does not know now is no fault of the client's.
func TestAFunctionThatFailsRefusesAsUnavailable(t *testing.T) {
	b := keyed(t, "func:reference", "header:Idempotency-Key")
	b.want(b.send("{}", "X-Reference: down", "Idempotency-Key: a"), 503, "unavailable", 0)
	joined := keyed(t, "func:reference+json:/id")
	joined.want(joined.send(`{"id":1}`, "X-Reference: down"), 503, "unavailable", 0)
}

// The first source that is there names the intent, whatever stands behind it.
func TestSourcesAreAskedInTheirOrder(t *testing.T) {
	t.Run("a member before a header", func(t *testing.T) {
		b := keyed(t, "json:/id", "header:Idempotency-Key")
		b.want(b.send(`{"id":1}`, "Idempotency-Key: a"), 201, "executed", 1)
		b.want(b.send(`{"id":1}`, "Idempotency-Key: b"), 201, "replayed", 1)
		b.want(b.send(`{"x":1}`, "Idempotency-Key: a"), 201, "executed", 2)
		b.want(b.send(`{"x":1}`, "Idempotency-Key: a"), 201, "replayed", 2)
	})
	t.Run("a header before a member", func(t *testing.T) {
		b := keyed(t, "header:Idempotency-Key", "json:/id")
		b.want(b.send(`{"id":1}`, "Idempotency-Key: a"), 201, "executed", 1)
		b.want(b.send(`{"id":1}`, "Idempotency-Key: b"), 201, "executed", 2)
		b.want(b.send(`{"id":1}`), 201, "executed", 3)
		b.want(b.send(`{"id":1}`), 201, "replayed", 3)
	})
	t.Run("a token before a header that was named first", func(t *testing.T) {
		b := keyed(t, "header:Idempotency-Key", "token", "json:/id")
		token := b.token("")
		b.want(b.send(`{"id":1}`, "Idempotency-Key: a", "Idempotency-Token: "+token), 201, "executed", 1)
		b.want(b.send(`{"id":1}`, "Idempotency-Key: b", "Idempotency-Token: "+token), 201, "replayed", 1)
		b.want(b.send(`{"id":1,"idempotentToken":"`+token+`"}`), 201, "replayed", 1)
	})
	t.Run("a missing part goes on to the next source", func(t *testing.T) {
		b := keyed(t, "json:/id+path:order", "json:/id")
		b.want(b.send(`{"id":1}`), 201, "executed", 1)
		b.want(b.send(`{"id":1}`), 201, "replayed", 1)
	})
	t.Run("a derived key is no client's key", func(t *testing.T) {
		b := keyed(t, "json:/id", "header:Idempotency-Key")
		b.want(b.send(`{"id":"a"}`), 201, "executed", 1)
		b.want(b.send(`{}`, "Idempotency-Key: a"), 201, "executed", 2)
	})
}

// An optional key that is not there adds nothing, wherever it was looked for.
func TestOptionalSourcesThatAreAbsent(t *testing.T) {
	for _, source := range []string{"json:/id", "form:id", "path:order", "func:reference", "json:/id+path:order"} {
		b := newBed(t, created, func(s *setting) {
			s.policy.Key = []string{source}
			s.guard.Funcs = map[string]idem.KeyFunc{"reference": reference}
		})
		b.want(b.send(`{"a":1}`), 201, "", 1)
		b.want(b.send(`{"a":1}`, "Authorization: "), 201, "", 2) // nobody's key is asked for
		b.want(b.send(`{"id":1}`, "GET"), 201, "", 3)            // no key was sent, so nothing is said
	}
}

// Early data that names its intent, wherever, is safe to run: whoever plays it
// back gets the kept answer.
func TestT5_EarlyDataWithADerivedKeyIsAnswered(t *testing.T) {
	for _, source := range []string{"json:/id", "path:rest", "json:/id+path:rest"} {
		b := keyed(t, source)
		b.want(b.send(`{"id":1}`, "Early-Data: 1"), 201, "executed", 1)
		b.want(b.send(`{"id":1}`, "Early-Data: 1"), 201, "replayed", 1)
	}
	b := keyed(t, "json:/id")
	b.want(b.send(`{}`, "Early-Data: 1"), 425, "", 0)
}

func TestStatement49a_HeadSourcesDoNotReadTheBody(t *testing.T) {
	for _, c := range []struct {
		source, change string
		status         int
		verdict        string
		reads          bool
	}{
		{"path:order", "X: y", 400, "missing", false},
		{"func:reference", "X-Reference: bad", 400, "malformed", false},
		{"header:X-A+path:rest", "X-A: ", 400, "missing", false},
		{"form:id", "X: y", 400, "missing", false}, // the body is JSON
		{"json:/id", "X: y", 400, "missing", true},
	} {
		b, body := keyed(t, c.source), &counted{Reader: strings.NewReader("{}")}
		r := httptest.NewRequest("POST", "/do/it", body)
		r.Header.Set("Authorization", "Bearer alice")
		r.Header.Set("Content-Type", "application/json")
		if name, value, _ := strings.Cut(c.change, ": "); value != "" {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		guarded(b.flow, operation, created).ServeHTTP(w, r)
		if w.Code != c.status || w.Header().Get("Idempotency-Status") != c.verdict || (body.reads > 0) != c.reads {
			t.Errorf("%s: answered %d %q after %d reads of the body, want %d %q and reads %v",
				c.source, w.Code, w.Header().Get("Idempotency-Status"), body.reads, c.status, c.verdict, c.reads)
		}
	}
}

// counted counts how often it is read.
type counted struct {
	io.Reader
	reads int
}

func (c *counted) Read(p []byte) (int, error) {
	c.reads++
	return c.Reader.Read(p)
}

// The endpoints ask by what a client chose or was given.
func TestEndpointsAskByTokensAndKeys(t *testing.T) {
	b := keyed(t, "json:/id", "path:rest", "header:Idempotency-Key")
	b.want(b.send(`{}`, "/do/a", "Idempotency-Key: k"), 201, "executed", 1) // by its path
	a := b.send(`{"operation":"`+operation+`"}`, "/idempotency/status", "Idempotency-Key: k")
	if a.StatusCode != 200 || a.json(t)["state"] != "absent" {
		t.Errorf("asked by a key that named nothing: %d %s", a.StatusCode, a.body)
	}
	a = b.send(`{"operation":"`+operation+`"}`, "/idempotency/status")
	if detail, _ := a.json(t)["detail"].(string); a.StatusCode != 400 || strings.Contains(detail, "path value") || !strings.Contains(detail, "Idempotency-Key") {
		t.Errorf("asked by nothing: %d %s", a.StatusCode, a.body)
	}
	only := keyed(t, "json:/id")
	a = only.send(`{"operation":"`+operation+`","id":1}`, "/idempotency/status", "Idempotency-Key: k")
	if a.StatusCode != 400 || !strings.Contains(string(a.body), "of its own requests") {
		t.Errorf("asked where no client has a key: %d %s", a.StatusCode, a.body)
	}
}

func TestSourcesAreToldToObservers(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"json:/id", "json"}, {"path:rest", "path"}, {"func:reference", "func"}, {"json:/id+path:rest", "json"}, {"path:rest+json:/id", "path"}, {"header:X-Reference", "header"},
	} {
		b := keyed(t, c.source)
		b.want(b.send(`{"id":1}`, "X-Reference: a"), 201, "executed", 1)
		if got := b.seen.source.Load(); got != c.want {
			t.Errorf("%s: told %v, want %s", c.source, got, c.want)
		}
	}
}
