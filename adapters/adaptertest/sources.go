package adaptertest

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"strings"

	idem "github.com/go-idem/idem/core"
)

// keyFuncs are the functions that policies of the bed may name.
func keyFuncs() map[string]idem.KeyFunc {
	return map[string]idem.KeyFunc{"reference": reference}
}

// reference makes a key of what stands behind "ref-" in a header.
func reference(r idem.KeyRequest) (string, error) {
	lines := r.Header("X-Reference")
	if len(lines) == 0 {
		return "", nil
	}
	name, ok := strings.CutPrefix(lines[0], "ref-")
	if !ok {
		return "", fmt.Errorf("%w: a reference begins with ref-", idem.ErrMalformed)
	}
	return name, nil
}

// Key sources: what names an intent where no client has to send a key.
var sourceStatements = []statement{
	{name: "Statement59a_EverySourceNamesItsIntent", play: func(s *scene) {
		n := s.server(NodeOptions{})
		kind, parts := "/bykind/", "/byparts/"
		for i, c := range []struct {
			path         string
			first, other func(r *request) *request
			elsewhere    string // the path of the other intent, if not the same
		}{
			{kind, jsonOf(`{"order":{"id":"a"}}`), jsonOf(`{"order":{"id":"b"}}`), ""},
			{kind, jsonOf(`{"order":{"id":7}}`), jsonOf(`{"order":{"id":"7"}}`), ""},
			{kind, jsonOf(`{"order":{"id":9007199254740993}}`), jsonOf(`{"order":{"id":9007199254740992}}`), ""},
			{kind, formOf("order=a&n=1"), formOf("order=b&n=1"), ""},
			{kind, partsOf("order", "a b"), partsOf("order", "a c"), ""},
			{kind, referenceOf("ref-a"), referenceOf("ref-b"), ""},
			{"/bypath/order 1", jsonOf(`{}`), jsonOf(`{}`), "/bypath/order 2"},
			{parts + "bc", jsonOf(`{"orderId":"a"}`), jsonOf(`{"orderId":"ab"}`), parts + "c"},
		} {
			user := fmt.Sprint("u", i)
			path, other := escapedPath(c.path), escapedPath(c.path)
			if c.path == kind {
				path = fmt.Sprintf("%s%d", c.path, i)
				other = path
			}
			if c.elsewhere != "" {
				other = escapedPath(c.elsewhere)
			}
			first := c.first(s.post(n, path)).as(user).send()
			s.wantRan(first, "executed", 201)
			s.wantReplay(first, c.first(s.post(n, path)).as(user).send())
			second := c.other(s.post(n, other)).as(user).send()
			s.wantRan(second, "executed", 201)
			s.wantReplay(second, c.other(s.post(n, other)).as(user).send())
			s.wantRan(c.first(s.post(n, path)).as(user+"x").send(), "executed", 201) // another's key
		}
		// Two spellings of a path are one key, and nothing of it is case-blind.
		first := s.post(n, "/bypath/x%20y").json(`{}`).send()
		s.wantRan(first, "executed", 201)
		s.wantReplay(first, s.post(n, "/bypath/%78%20%79").json(`{}`).send())
		s.wantRan(s.post(n, "/bypath/X%20Y").json(`{}`).send(), "executed", 201)
		// It is undone once: twice, two paths would be one key.
		twice := s.post(n, "/bypath/a%2562").json(`{}`).send()
		s.wantRan(twice, "executed", 201)
		s.wantReplay(twice, s.post(n, "/bypath/%61%2562").json(`{}`).send())
		s.wantRan(s.post(n, "/bypath/a%62").json(`{}`).send(), "executed", 201)
		// The same key with another request is a conflict, as with any key.
		s.want(s.post(n, "/bypath/x%20y").json(`{"n":2}`).send(), "conflict")
	}},

	{name: "Statement59b_NoSourceTakesNothingForAKey", play: func(s *scene) {
		n := s.server(NodeOptions{})
		places := []string{"JSON member /order/id", "form field order", "function reference"}
		both := []string{"JSON member /orderId together with path value *"}
		for i, c := range []struct {
			path    string
			send    func(r *request) *request
			verdict string
			says    []string
		}{
			{"/bykind/", jsonOf(`{}`), "missing", places},
			{"/bykind/", jsonOf(`{"order":7}`), "missing", places},
			{"/bykind/", textOf("order=a"), "missing", places},
			{"/bykind/", formOf("n=1"), "missing", places},
			{"/bykind/", jsonOf(`{"order":{"id":""}}`), "malformed", places},
			{"/bykind/", jsonOf(`{"order":{"id":"  "}}`), "malformed", places},
			{"/bykind/", jsonOf(`{"order":{"id":null}}`), "malformed", places},
			{"/bykind/", jsonOf(`{"order":{"id":[1]}}`), "malformed", places},
			{"/bykind/", jsonOf(`{"order":{"id":1,"id":1}}`), "malformed", places},
			{"/bykind/", jsonOf(`{"order":{"id":"\ud800"}}`), "malformed", places},
			{"/bykind/", jsonOf(`{"order":`), "malformed", places},
			{"/bykind/", formOf("order="), "malformed", places},
			{"/bykind/", formOf("order=a&order=a"), "malformed", places},
			{"/bykind/", partsOf("order", ""), "malformed", places},
			{"/bykind/", partsOf("order", "a", "order", "b"), "malformed", places},
			{"/bykind/", referenceOf("a"), "malformed", places},
			{"/byparts/", jsonOf(`{"other":1}`), "missing", both},
			{"/byparts/", jsonOf(`{"orderId":""}`), "malformed", both},
			{"/bypath/%20", jsonOf(`{}`), "malformed", []string{"path value *"}},
		} {
			path := c.path
			if strings.HasSuffix(path, "/") {
				path = fmt.Sprintf("%s%d", path, i)
			}
			a := c.send(s.post(n, path)).send()
			s.want(a, c.verdict)
			for _, place := range c.says {
				if !strings.Contains(string(a.body), place) {
					s.errorf("case %d does not say that it looked for %s: %s", i, place, a.body)
				}
			}
			s.wantRuns(path, 0)
		}
	}},
}

func jsonOf(text string) func(*request) *request {
	return func(r *request) *request { return r.json(text) }
}

func formOf(text string) func(*request) *request {
	return func(r *request) *request { return r.form(text) }
}

func textOf(text string) func(*request) *request {
	return func(r *request) *request { return r.carry("text/plain", text) }
}

func referenceOf(line string) func(*request) *request {
	return func(r *request) *request { return r.with("X-Reference", line).carry("text/plain", "x") }
}

// partsOf is a multipart form of fields and values in turn, its boundary another
// one each time.
func partsOf(pairs ...string) func(*request) *request {
	return func(r *request) *request { return r.multipart("", pairs...) }
}

// multipart carries a form of fields and values in turn, with a file if there is
// a content for one. The boundary is another one each time.
func (r *request) multipart(file string, pairs ...string) *request {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for i := 0; i+1 < len(pairs); i += 2 {
		_ = w.WriteField(pairs[i], pairs[i+1]) // a bytes.Buffer takes everything
	}
	if file != "" {
		part, _ := w.CreateFormFile("photo", "photo.jpg")
		_, _ = part.Write([]byte(file))
	}
	_ = w.Close()
	return r.carry(w.FormDataContentType(), body.String())
}

// escapedPath is a path as it stands on a request line.
func escapedPath(path string) string { return strings.ReplaceAll(path, " ", "%20") }
