package adaptertest

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
)

// Fingerprint: whether a repeat is the same request.
var fingerprintStatements = []statement{
	// Faults: 23, 44.
	{name: "Statement11_AnotherBodyIsAConflict", play: func(s *scene) {
		n := s.server(NodeOptions{})
		const path = "/do/body"
		first := s.post(n, path).key("k").json(`{"amount":1}`).send()
		s.wantRan(first, "executed", 201)
		s.want(s.post(n, path).key("k").json(`{"amount":2}`).send(), "conflict")
		s.want(s.post(n, path).key("k").json(`{"amount":1}`).carry("text/plain", `{"amount":1} `).send(), "conflict")
		s.want(s.post(n, path).key("k").send(), "conflict")
		s.wantReplay(first, s.post(n, path).key("k").json(`{"amount":1}`).send())
		s.wantRuns(path, 1)

		// While the first still runs it is a conflict just the same.
		const running, gate = "/do/running", "g"
		held := s.post(n, running).key("r").json(`{"amount":1}`).do("Gate", gate).start()
		s.arrived(n, gate, 1, held)
		s.want(s.post(n, running).key("r").json(`{"amount":2}`).send(), "conflict")
		s.want(s.post(n, running).key("r").json(`{"amount":1}`).send(), "in-flight")
		s.open(n, gate)
		s.wantRan(s.await(held), "executed", 201)
		s.wantRuns(running, 1)
	}},

	// Faults: 40.
	{name: "Statement12_TheQueryCountsItsOrderDoesNot", play: func(s *scene) {
		n := s.server(NodeOptions{})
		first := s.post(n, "/do/query?to=alice&sum=1").key("k").json(`{}`).send()
		s.wantRan(first, "executed", 201)
		for _, query := range []string{"?to=mallory&sum=1", "?to=alice", "", "?to=alice&sum=1&sum=2", "?to=alice&sum=1&x"} {
			s.want(s.post(n, "/do/query"+query).key("k").json(`{}`).send(), "conflict")
		}
		s.wantReplay(first, s.post(n, "/do/query?sum=1&to=alice").key("k").json(`{}`).send())
		s.wantReplay(first, s.post(n, "/do/query?sum=1&to=%61lice").key("k").json(`{}`).send())

		order := s.post(n, "/do/query?v=1&v=2").key("order").json(`{}`).send()
		s.wantRan(order, "executed", 201)
		s.want(s.post(n, "/do/query?v=2&v=1").key("order").json(`{}`).send(), "conflict")
		s.wantRuns("/do/query", 2)
	}},

	// Faults: 41.
	{name: "Statement13_AFormIsItsPartsWhateverItsBoundary", play: func(s *scene) {
		n := s.server(NodeOptions{})
		const path = "/do/parts"
		send := func(file string, pairs ...string) answer {
			return s.post(n, path).key("k").multipart(file, pairs...).do("Read", "multipart").send()
		}
		first := send("tea", "name", "Ann", "size", "1", "size", "2")
		s.wantRan(first, "executed", 201)
		for range 3 { // each with a boundary of its own
			s.wantReplay(first, send("tea", "name", "Ann", "size", "1", "size", "2"))
		}
		for what, other := range map[string]answer{
			"another file": send("gin", "name", "Ann", "size", "1", "size", "2"), "no file": send("", "name", "Ann", "size", "1", "size", "2"),
			"another value": send("tea", "name", "Eve", "size", "1", "size", "2"), "values in another order": send("tea", "name", "Ann", "size", "2", "size", "1"),
			"a value more": send("tea", "name", "Ann", "size", "1", "size", "2", "size", "3"), "a field as a file": send("tea", "photo", "tea"),
		} {
			if other.verdict() != "conflict" {
				s.errorf("%s is %q, want conflict", what, other.verdict())
			}
		}
		s.wantRuns(path, 1)
		// Of a file its type counts, too: it says what the same bytes are.
		typed := func(kind string) answer {
			form := "--b\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"photo.jpg\"\r\nContent-Type: " + kind + "\r\n\r\ntea\r\n--b--\r\n"
			return s.post(n, "/do/typed").key("typed").carry("multipart/form-data; boundary=b", form).send()
		}
		first = typed("image/jpeg")
		s.wantRan(first, "executed", 201)
		s.wantReplay(first, typed("image/jpeg"))
		s.want(typed("text/html"), "conflict")
	}},

	// Faults: 38, 39.
	{name: "Statement14_JSONByMeaningNumbersAsWritten", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for i, c := range []struct{ first, again, then string }{
			{`{"a":1,"b":[1,2]}`, "{ \"b\" : [1,\n2], \"a\":1 }", "replayed"},
			{`{"a":{"x":1,"y":2}}`, `{"a":{"y":2,"x":1}}`, "replayed"},
			{`{"s":"\u00e9"}`, `{"s":"é"}`, "replayed"},
			{`{"s":"a\/b"}`, `{"s":"a/b"}`, "replayed"},
			{`{"n":1}`, `{"n":1.0}`, "conflict"},
			{`{"n":100}`, `{"n":1e2}`, "conflict"},
			{`{"n":9007199254740993}`, `{"n":9007199254740992}`, "conflict"},
			{`[1,2]`, `[2,1]`, "conflict"},
			{`{"a":1}`, `{"a":"1"}`, "conflict"},
			{`{"a":null}`, `{}`, "conflict"},
			{`{"a":1,"a":2}`, `{"a":1,"a":2}`, "replayed"},
			{`{"a":1,"a":2}`, `{"a":1, "a":2}`, "conflict"}, // duplicate members compare raw
			{`{"a":1,"a":2}`, `{"a":2}`, "conflict"},
			{`{"a":`, `{"a":`, "replayed"},
			{`{"a":`, `{"a": `, "conflict"}, // and so does what is no JSON
			{`{"a":1}`, `{"a":1} x`, "conflict"},
		} {
			path, key := fmt.Sprintf("/do/json%d", i), fmt.Sprintf("k%d", i)
			s.wantRan(s.post(n, path).key(key).json(c.first).send(), "executed", 201)
			a := s.post(n, path).key(key).json(c.again).send()
			if a.verdict() != c.then {
				s.errorf("%s after %s is %q, want %s", c.again, c.first, a.verdict(), c.then)
			}
			s.wantRuns(path, 1)
		}
	}},

	// Faults: 42.
	{name: "Statement17_OneFingerprintWholeBodyForTheHandler", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for _, size := range []int{0, 1, 100, 64 << 10, 64<<10 + 1, 300_000} {
			body := strings.Repeat("x", size)
			path, key := fmt.Sprintf("/do/sized%d", size), fmt.Sprintf("k%d", size)
			first := s.post(n, path).key(key).carry("text/plain", body).send()
			s.wantRan(first, "executed", 201)
			if told := s.about(first); told.BodyBytes != size || told.BodySHA256 != hexSHA256([]byte(body)) {
				s.errorf("the handler read %d bytes of %d", told.BodyBytes, size)
			}
			s.wantReplay(first, s.post(n, path).key(key).carry("text/plain", body).inChunks().send())
			s.wantRuns(path, 1)

			first = s.post(n, path).key(key+"c").carry("text/plain", body).inChunks().send()
			if told := s.about(first); told.BodyBytes != size || told.BodySHA256 != hexSHA256([]byte(body)) {
				s.errorf("the handler read %d bytes of %d sent in chunks", told.BodyBytes, size)
			}
			s.wantReplay(first, s.post(n, path).key(key+"c").carry("text/plain", body).send())
		}
		statement17Forms(s, n)
	}},
}

// statement17Forms: the handler reads its form and its files after us.
func statement17Forms(s *scene, n Node) {
	form := escaped("name", "Ann & Bob", "note", "a=b", "name", "again")
	for i, a := range []answer{
		s.post(n, "/do/form").key("f").form(form).do("Read", "form").send(),
		s.request(n, http.MethodPatch, "/do/form").key("g").form(form).do("Read", "form").send(),
	} {
		s.wantRan(a, "executed", 201)
		if fields := s.about(a).Fields; strings.Join(fields["name"], "|") != "Ann & Bob|again" || strings.Join(fields["note"], "|") != "a=b" {
			s.errorf("form %d: the handler read the fields %q", i, fields)
		}
	}

	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	content := pseudoRandom(100_000, 17)
	_ = w.WriteField("name", "Ann") // a bytes.Buffer takes everything
	part, _ := w.CreateFormFile("photo", "photo.jpg")
	_, _ = part.Write(content)
	_ = w.Close()
	send := func() answer {
		return s.post(n, "/do/files").key("m").carry(w.FormDataContentType(), body.String()).do("Read", "multipart").send()
	}
	first := send()
	s.wantRan(first, "executed", 201)
	told := s.about(first)
	if strings.Join(told.Fields["name"], "|") != "Ann" || told.Files["photo"] != hexSHA256(content) {
		s.errorf("the handler read the fields %q and the files %q", told.Fields, told.Files)
	}
	s.wantReplay(first, send())
	s.wantRuns("/do/files", 1)
}
