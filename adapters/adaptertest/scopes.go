package adaptertest

import (
	"net/http"
	"slices"
	"strings"
)

// Scope: whose key it is.
var scopeStatements = []statement{
	// Faults: 46, 51.
	{name: "Statement09_OneKeyTwoScopes", play: func(s *scene) {
		n := s.server(NodeOptions{})
		const path = "/do/shared"
		alice := s.post(n, path).key("k").as("alice").json(`{"card":"alice's"}`).do("Body", "for alice").send()
		bob := s.post(n, path).key("k").as("bob").json(`{"card":"bob's"}`).do("Body", "for bob").send()
		s.wantRan(alice, "executed", 201)
		s.wantRan(bob, "executed", 201)
		s.wantRuns(path, 2)
		if strings.Contains(string(bob.body), "alice") {
			s.errorf("bob was told %q", bob.body)
		}
		s.wantReplay(alice, s.post(n, path).key("k").as("alice").json(`{"card":"alice's"}`).send())
		s.wantReplay(bob, s.post(n, path).key("k").as("bob").json(`{"card":"bob's"}`).send())

		// A guess at somebody's key looks like a key that nobody has used.
		ask := func(key string) answer {
			return s.post(n, "/idempotency/status").as("mallory").key(key).json(`{"operation":"test:do:run"}`).send()
		}
		known, unknown := ask("k"), ask("nobody's")
		if known.status != unknown.status || string(known.body) != string(unknown.body) || !slices.Equal(headers(known.header), headers(unknown.header)) {
			s.errorf("the status endpoint tells a guessed key (%d %s) from an unknown one (%d %s)", known.status, known.body, unknown.status, unknown.body)
		}
		if !strings.Contains(string(known.body), "absent") {
			s.errorf("the status of a key of another is %s, want absent", known.body)
		}
		guess := s.post(n, "/do/guess").key("k").as("mallory").send()
		other := s.post(n, "/do/guess").key("nobody's").as("mallory").send()
		if guess.status != other.status || guess.verdict() != other.verdict() || !slices.Equal(headers(guess.header), headers(other.header)) {
			s.errorf("a guessed key is answered %d %s, an unknown one %d %s", guess.status, guess.verdict(), other.status, other.verdict())
		}
	}},

	// Faults: 49.
	{name: "Statement10_NeverAnotherRoutesAnswer", play: func(s *scene) {
		n := s.server(NodeOptions{})
		first := s.post(n, "/do/a").key("k").json(`{}`).do("Body", "the answer of a").send()
		s.wantRan(first, "executed", 201)
		for _, c := range []struct {
			when *request
			then string
		}{
			{s.post(n, "/do/b").key("k").json(`{}`), "conflict"},
			{s.request(n, http.MethodPatch, "/do/a").key("k").json(`{}`), "conflict"},
			{s.post(n, "/key/a").key("k").json(`{}`), "executed"}, // another operation has records of its own
			{s.post(n, "/do/a/").key("k").json(`{}`), "conflict"},
			{s.post(n, "/do/%61b").key("k").json(`{}`), "conflict"},
		} {
			a := c.when.send()
			s.want(a, c.then)
			if strings.Contains(string(a.body), "the answer of a") {
				s.errorf("%s %s was given the answer of POST /do/a", c.when.method, c.when.target)
			}
		}
		s.wantReplay(first, s.post(n, "/do/a").key("k").json(`{}`).send())
		s.wantRuns("/do/a", 1)
	}},

	// Faults: 48.
	{name: "Statement18_ARefreshedLoginReplays", play: func(s *scene) {
		n := s.server(NodeOptions{})
		const path = "/do/login"
		first := s.post(n, path).key("k").as("alice.monday").json(`{}`).send()
		s.wantRan(first, "executed", 201)
		s.wantReplay(first, s.post(n, path).key("k").as("alice.tuesday").json(`{}`).send())
		s.wantRuns(path, 1)
	}},
}
