package adaptertest

import (
	"net/http"
	"time"
)

// Choices: what a policy asks for beyond the presets.
var choiceStatements = []statement{
	{name: "Statement08_KeyHeadersHaveTheNamesOfThePolicy", play: func(s *scene) {
		n := s.server(NodeOptions{})
		send := func(pairs ...string) answer {
			r := s.post(n, "/names/one").json(`{"n":1}`)
			for i := 0; i < len(pairs); i += 2 {
				r = r.with(pairs[i], pairs[i+1])
			}
			return r.send()
		}
		first := send("X-Order-Key", "k")
		s.wantRan(first, "executed", http.StatusCreated)
		s.wantReplay(first, send("X-Request-Key", "k"))
		s.wantReplay(first, send("X-Request-Key", "k", "X-Order-Key", `"k"`))
		s.wantProblem(send("X-Request-Key", "k", "X-Order-Key", "l"), "malformed", http.StatusBadRequest)
		s.wantProblem(send("Idempotency-Key", "k"), "missing", http.StatusBadRequest)
		s.wantRuns("/names/one", 1)
	}},

	{name: "Statement15_IgnoredFieldsMayChangeChosenOnesMayNot", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for _, row := range []struct{ place, first, same, other string }{
			{"/ignore/one", `{"amount":1,"csrf":"a"}`, `{"csrf":"b","amount":1}`, `{"amount":2,"csrf":"a"}`},
			{"/only/one", `{"amount":1,"to":"ann","at":"noon"}`, `{"to":"ann","at":"one","amount":1}`, `{"amount":1,"to":"eve","at":"noon"}`},
		} {
			first := s.post(n, row.place).key("k").json(row.first).send()
			s.wantRan(first, "executed", http.StatusCreated)
			s.wantReplay(first, s.post(n, row.place).key("k").json(row.same).send())
			s.want(s.post(n, row.place).key("k").json(row.other).send(), "conflict")
			s.wantRuns(row.place, 1)
		}
		// In forms just the same, whichever way they are written.
		for _, row := range []struct {
			place              string
			first, same, other []string
		}{
			{"/ignore/", []string{"amount", "1", "csrf", "a"}, []string{"csrf", "b", "amount", "1"}, []string{"amount", "2", "csrf", "a"}},
			{"/only/", []string{"amount", "1", "to", "ann", "at", "noon"}, []string{"to", "ann", "at", "one", "amount", "1"}, []string{"amount", "1", "to", "eve", "at", "noon"}},
		} {
			for kind, written := range map[string]func(pairs []string) func(*request) *request{
				"urlencoded": func(pairs []string) func(*request) *request { return formOf(escaped(pairs...)) },
				"multipart":  func(pairs []string) func(*request) *request { return partsOf(pairs...) },
			} {
				path := row.place + kind
				send := func(pairs []string) answer {
					return written(pairs)(s.post(n, path).key(path)).do("Read", "none").send()
				}
				first := send(row.first)
				s.wantRan(first, "executed", http.StatusCreated)
				s.wantReplay(first, send(row.same))
				s.want(send(row.other), "conflict")
				s.wantRuns(path, 1)
			}
		}
	}},

	{name: "Statement36_MethodsByChoiceNeverByOverride", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for _, method := range []string{http.MethodPut, http.MethodDelete} {
			path := "/put/" + method
			send := func() answer { return s.request(n, method, path).key(path).json(`{"n":1}`).send() }
			first := send()
			s.wantRan(first, "executed", http.StatusCreated)
			s.wantReplay(first, send())
			s.wantRuns(path, 1)
		}
		// POST is not one of this policy's methods, whatever a header calls it.
		for range 2 {
			s.wantRan(s.post(n, "/put/post").key("k").with("X-HTTP-Method-Override", "PUT").json(`{}`).send(), "unguarded", http.StatusCreated)
		}
		for range 2 {
			s.wantRan(s.request(n, http.MethodPut, "/do/put").key("k").with("X-HTTP-Method-Override", "POST").json(`{}`).send(), "unguarded", http.StatusCreated)
		}
		s.wantRuns("/put/post", 2)
		s.wantRuns("/do/put", 2)
	}},

	// Faults: 21, 54.
	{name: "Statement31_AStoreThatIsDownAtClaimRenewOrSettle", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for _, mode := range []string{"refuse", "lost-reply"} {
			s.fault(n, "claim", mode, -1, "")
			closed, open := "/hold/"+mode, "/open/"+mode
			refused := s.post(n, closed).key(closed).json(`{}`).send()
			s.wantProblem(refused, "unavailable", http.StatusServiceUnavailable)
			if refused.header.Get("Retry-After") == "" {
				s.errorf("%s: unavailable without Retry-After", mode)
			}
			s.wantRuns(closed, 0)

			s.fault(n, "settle", "refuse", -1, "") // nothing can be written at all
			first := s.post(n, open).key(open).json(`{}`).send()
			s.wantRan(first, "unprotected", http.StatusCreated)
			s.wantReplay(first, s.post(n, open).key(open).json(`{}`).send()) // from the outcome this process holds
			s.wantRuns(open, 1)

			s.fault(n, "claim", "", 0, "")
			s.fault(n, "settle", "", 0, "")
			s.until("the outcome to be written", func() bool { return s.seen(n).Stats.Pending == 0 })
			s.wantReplay(first, s.post(s.server(NodeOptions{}), open).key(open).json(`{}`).send())
			s.until("the claim of unknown outcome to be given back", func() bool {
				return s.post(n, closed).key(closed).json(`{}`).send().verdict() == "executed"
			})
			s.wantRuns(open, 1)
		}
		// At the settle the client has the real answer all the same.
		s.fault(n, "settle", "refuse", 2, "")
		first := s.post(n, "/hold/settle").key("settle").json(`{}`).send()
		s.wantRan(first, "executed", http.StatusCreated)
		s.wantReplay(first, s.post(n, "/hold/settle").key("settle").json(`{}`).send())
		s.wantRuns("/hold/settle", 1)
	}},

	{name: "Statement48_TheTokenEndpointIsForItsOwnPages", play: func(s *scene) {
		n := s.server(NodeOptions{})
		ask := func(pairs ...string) answer {
			r := s.post(n, "/idempotency/tokens").json(`{"operation":"test:form:run","context":"cart"}`)
			for i := 0; i < len(pairs); i += 2 {
				r = r.with(pairs[i], pairs[i+1])
			}
			return r.send()
		}
		for _, row := range []struct {
			says  string
			pairs []string
			want  int
		}{
			{"a page of this site", []string{"Sec-Fetch-Site", "same-origin"}, http.StatusOK},
			{"a page of this site, by its origin", []string{"Origin", n.URL()}, http.StatusOK},
			{"a program that is signed in", []string{"Authorization", "Bearer ann"}, http.StatusOK},
			{"another site", []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
			{"another site, by its origin", []string{"Origin", "https://evil.example"}, http.StatusForbidden},
			{"nobody knows who", nil, http.StatusForbidden},
			{"a browser that looks ahead", []string{"Sec-Fetch-Site", "same-origin", "Sec-Purpose", "prefetch"}, http.StatusForbidden},
		} {
			a := ask(row.pairs...)
			if a.status != row.want {
				s.errorf("%s: status %d (%.200s), want %d", row.says, a.status, a.body, row.want)
			}
			if got := a.header.Get("Cache-Control"); got != "no-store" {
				s.errorf("%s: Cache-Control %q, want no-store", row.says, got)
			}
		}
		// A token is for the caller's own scope, whatever the page would like.
		token := s.issue(n, "ann", "test:form:run", "own")
		s.wantProblem(s.post(n, "/form/own").as("eve").token(token).form("a=1").send(), "foreign", http.StatusForbidden)
		s.wantRan(s.post(n, "/form/own").as("ann").token(token).form("a=1").send(), "executed", http.StatusCreated)
	}},

	{name: "Statement58b_TheJanitorTakesThePlaceOfALateClaim", play: func(s *scene) {
		n := s.server(NodeOptions{})
		s.fault(n, "claim", "late", 3, "2500ms") // each of the three tries lands long after its time-out
		const path = "/hold/late"
		landed := time.Now().Add(3 * time.Second)
		s.wantProblem(s.post(n, path).key("k").json(`{}`).send(), "unavailable", http.StatusServiceUnavailable)
		s.until("the place to be taken", func() bool { return s.seen(n).Steps["mend"] >= 1 })
		s.fault(n, "claim", "", 0, "")
		first := s.post(n, path).key("k").json(`{}`).send()
		s.wantRan(first, "executed", http.StatusCreated)
		s.until("the late claims to have landed", func() bool { return time.Now().After(landed) })
		s.wantReplay(first, s.post(n, path).key("k").json(`{}`).send())
		s.wantRuns(path, 1)
	}},
}
