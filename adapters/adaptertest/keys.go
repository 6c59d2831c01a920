package adaptertest

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// Keys: how they are written, and what is no key.
var keyStatements = []statement{
	{name: "Statement01_QuotedAndBareAreOneRecord", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for i, other := range []string{`"order-1"`, `"order-1";a=1`, `  order-1  `, `"order-1"; b`} {
			path := fmt.Sprintf("/do/spelling%d", i)
			first := s.post(n, path).key("order-1").as("a" + fmt.Sprint(i)).send()
			s.wantRan(first, "executed", 201)
			s.wantReplay(first, s.post(n, path).key(other).as("a"+fmt.Sprint(i)).send())
			s.wantRuns(path, 1)
		}
		// White space around a field's value is none of it, whatever the server leaves.
		first := s.byHand(n, "/do/spaced", "Idempotency-Key: order-1")
		s.wantRan(first, "executed", 201)
		s.wantReplay(first, s.byHand(n, "/do/spaced", "Idempotency-Key: \t order-1\t "))
		s.wantRuns("/do/spaced", 1)
	}},

	// Faults: 50.
	{name: "Statement02_EmptyIsMalformedNeverAbsent", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for i, line := range []string{"Idempotency-Key:", "Idempotency-Key:    ", `Idempotency-Key: ""`, `Idempotency-Key: "" ;a=1`} {
			for _, place := range []string{"/do/", "/key/", "/pay/"} {
				path := fmt.Sprintf("%sempty%d", place, i)
				s.want(s.byHand(n, path, line), "malformed")
				s.wantRuns(path, 0)
			}
		}
		for i, c := range []*request{
			s.post(n, "/form/0").token("").form("a=1"), s.post(n, "/pay/1").token("").form("a=1"),
			s.post(n, "/form/2").form("a=1&idempotent-token="), s.post(n, "/form/3").json(`{"a":1,"idempotentToken":""}`),
			s.post(n, "/form/4").json(`{"a":1,"idempotent\u0054oken":""}`), s.post(n, "/form/5").json(`{"a":1,"idempotentToken":`),
		} {
			if a := c.send(); a.verdict() != "malformed" {
				s.errorf("empty token %d: %q, want malformed", i, a.verdict())
			}
			s.wantRuns(c.target, 0)
		}
	}},

	// Faults: 50.
	{name: "Statement03_RequiredAndMissing_OptionalAndAbsent", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for _, path := range []string{"/key/none", "/form/none", "/pay/none"} {
			s.want(s.post(n, path).json(`{}`).send(), "missing")
			s.wantRuns(path, 0)
		}
		for runs := 1; runs <= 2; runs++ {
			a := s.post(n, "/do/none").json(`{}`).send()
			s.wantRan(a, "", 201)
			s.wantRuns("/do/none", runs)
		}
	}},

	{name: "Statement04_TwoLinesListsAndOpenQuotesAreMalformed", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for i, lines := range [][]string{
			{"Idempotency-Key: a", "Idempotency-Key: a"},
			{"Idempotency-Key: a", "Idempotency-Key: b"},
			{"Idempotency-Key: a", "idempotency-key: "},
			{"Idempotency-Key: a, b"},
			{`Idempotency-Key: "a", "b"`},
			{`Idempotency-Key: "a`},
			{`Idempotency-Key: a"`},
			{`Idempotency-Key: "a" b`},
			{`Idempotency-Key: "a\x"`},
		} {
			path := fmt.Sprintf("/do/bad%d", i)
			s.want(s.byHand(n, path, lines...), "malformed")
			s.wantRuns(path, 0)
		}
	}},

	{name: "Statement05_255BytesPass256DoNot", play: func(s *scene) {
		n := s.server(NodeOptions{})
		long := strings.Repeat("k", 255)
		for i, field := range []string{long, `"` + long + `"`} {
			path := fmt.Sprintf("/do/long%d", i)
			s.wantRan(s.post(n, path).key(field).as(fmt.Sprint("u", i)).send(), "executed", 201)
			s.wantRuns(path, 1)
		}
		for i, field := range []string{long + "k", `"` + long + `k"`} {
			path := fmt.Sprintf("/do/longer%d", i)
			a := s.post(n, path).key(field).send()
			s.want(a, "malformed")
			if !strings.Contains(string(a.body), "255") {
				s.errorf("the message does not name the limit: %s", a.body)
			}
			s.wantRuns(path, 0)
		}
	}},

	{name: "Statement06_OtherBytesAre400AndRunNothing", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for name, c := range map[string]struct {
			bytes     string
			handsOver bool // every server we know hands such a request to its handler
		}{
			"utf8": {"k\u00e9y", true}, "x80": {"k\x80y", true}, "xff": {"\xff", true}, "tab": {"k\ty", true},
			"nul": {"k\x00y", false}, "del": {"k\x7fy", false}, "esc": {"k\x1by", false},
		} {
			path := "/do/byte-" + name
			a := s.byHand(n, path, "Idempotency-Key: "+c.bytes)
			if a.status != http.StatusBadRequest {
				s.errorf("%s: status %d, want 400", name, a.status)
			}
			if got := a.verdict(); got != "malformed" && (got != "" || c.handsOver) {
				s.errorf("%s: verdict %q, want malformed", name, got)
			}
			s.wantRuns(path, 0)
		}
	}},

	{name: "Statement07_KeysReachNoNameScriptOrLogLine", play: func(s *scene) {
		n := s.server(NodeOptions{})
		keys := []string{
			`order:*{1}?[a]`, `{slot}x{slot}`, `'; DROP TABLE orders; --`, `$(reboot)`, `%0d%0aSET a 1`,
			`a\r\nFLUSHALL\r\n`, `redis.call('flushall')`, `"quo\"ted, with comma"`, `"*1\\r\\n$8\\r\\nFLUSHALL"`, `..`, `%s%n%d`,
		}
		for i, key := range keys {
			path := fmt.Sprintf("/do/odd%d", i)
			first := s.post(n, path).key(key).send()
			s.wantRan(first, "executed", 201)
			s.wantReplay(first, s.post(n, path).key(key).send())
			s.wantRuns(path, 1)
			if core := strings.Trim(key, `"`); len(core) > 3 && strings.Contains(n.Log(), core) {
				s.errorf("key number %d stands in the log", i)
			}
		}
		// A name is made of our own words and a hash; nothing else has a way in.
		shape := regexp.MustCompile(`^` + regexp.QuoteMeta(s.shared.Prefix) + `test:[a-z]+:run:([a-z2-7]{26}|card)$`)
		for _, name := range s.seen(n).Names {
			if !shape.MatchString(name) {
				s.errorf("the store was given the name %q", name)
			}
		}
	}},

	{name: "Statement59_RefusalsSayWhatWasLookedFor", play: func(s *scene) {
		n := s.server(NodeOptions{})
		header, token := []string{"Idempotency-Key"}, []string{"Idempotency-Token", "idempotent-token", "idempotentToken"}
		for _, c := range []struct {
			when    *request
			verdict string
			names   []string
		}{
			{s.post(n, "/key/said").json(`{}`), "missing", header},
			{s.post(n, "/form/said").form("a=1"), "missing", token},
			{s.post(n, "/pay/said").json(`{}`), "missing", append(token, header...)},
			{s.post(n, "/key/said").key(`"`), "malformed", header},
			{s.post(n, "/form/said").token("too-short"), "malformed", token[:1]},
		} {
			a := c.when.send()
			s.want(a, c.verdict)
			for _, name := range c.names {
				if !strings.Contains(string(a.body), name) {
					s.errorf("%s does not say that it looked for %s: %s", c.when.target, name, a.body)
				}
			}
		}
	}},
}
