package adaptertest

import (
	"fmt"
	"time"
)

// Clients: what they are, and what lies between them and us.
var clientStatements = []statement{
	// Faults: 15, 62.
	{name: "Statement30_AClientThatLeavesChangesNothing", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for _, preset := range []string{"do", "form", "pay"} {
			path, gate := "/"+preset+"/leaver", s.gate()
			name := "Idempotency-Key: k"
			if preset == "form" {
				name = "Idempotency-Token: " + s.issue(n, "anonymous", "test:form:run", "leaver")
			}
			w := s.dial(n)
			w.write("POST "+path+" HTTP/1.1", "Host: localhost", name, "Content-Type: application/json",
				"Content-Length: 2", "Do-Gate: "+gate, "Do-Delay: 100ms", "", "{}") // time for the server to notice that it is alone
			s.arrived(n, gate, 1)
			w.close()
			s.open(n, gate)

			again := func() answer {
				return s.byHandAgain(n, path, name)
			}
			var a answer
			s.until("the run of the client that left to be recorded", func() bool {
				a = again()
				return a.verdict() != "in-flight"
			})
			s.want(a, "replayed")
			if a.status != 201 {
				s.errorf("%s: the replay has status %d, want 201", preset, a.status)
			}
			if stood := a.header.Get("Testbed-Context"); stood != "alive" {
				s.errorf("%s: the handler's context had ended with its client: %s", preset, stood)
			}
			s.wantRuns(path, 1)
		}
	}},

	{name: "Statement58a_ATimeoutOutsideTheGuard", play: func(s *scene) {
		n := s.server(NodeOptions{})
		const path = "/timed/slow"
		gate := s.gate()
		send := func() answer { return s.post(n, path).key("k").json(`{}`).do("Gate", gate).send() }
		if a := send(); a.status != 503 {
			s.errorf("the timeout middleware answered %d, want 503", a.status)
		}
		s.arrived(n, gate, 1)
		var a answer
		s.until("a repeat to be refused before the timeout", func() bool {
			a = send()
			return a.status != 503
		})
		s.want(a, "in-flight")
		s.open(n, gate)
		s.until("the run behind the timeout to be replayed", func() bool {
			a = send()
			return a.verdict() == "replayed"
		})
		if a.status != 201 {
			s.errorf("the replay has status %d, want the handler's 201", a.status)
		}
		s.wantRuns(path, 1)
	}},

	{name: "Statement52_EarlyDataWithoutAKeyIsAPlain425", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for _, path := range []string{"/do/early", "/key/early", "/form/early", "/pay/early"} {
			a := s.post(n, path).with("Early-Data", "1").form("a=1").send()
			if a.status != 425 || a.verdict() != "" {
				s.errorf("%s: %d %q, want a plain 425", path, a.status, a.verdict())
			}
			s.wantRuns(path, 0)
		}
		// The field has one valid value, and whatever else it says counts as that one.
		for _, lines := range [][]string{{"Early-Data: 1", "Early-Data: 1"}, {"Early-Data: 0"}, {"Early-Data:"}} {
			if a := s.byHand(n, "/do/odd", lines...); a.status != 425 || a.verdict() != "" {
				s.errorf("%q: %d %q, want a plain 425", lines, a.status, a.verdict())
			}
		}
		s.wantRuns("/do/odd", 0)
		s.wantRan(s.post(n, "/do/keyed").with("Early-Data", "1").key("k").json(`{}`).send(), "executed", 201)
		s.wantRan(s.request(n, "GET", "/do/safe").with("Early-Data", "1").send(), "", 201)
	}},
}

// byHandAgain repeats the request that byHand statements send.
func (s *scene) byHandAgain(n Node, path, name string) answer {
	w := s.dial(n)
	defer w.close()
	w.write("POST "+path+" HTTP/1.1", "Host: localhost", name, "Content-Type: application/json", "Content-Length: 2", "", "{}")
	return w.answer("POST")
}

// Outages: a store that is slow when it matters.
var outageStatements = []statement{
	// Faults: 54.
	{name: "Statement57_ASlowStoreDoesNotHoldTheAnswerBack", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for i, mode := range []string{"slow", "timeout"} {
			path := fmt.Sprintf("/do/settle%d", i)
			// Slow beyond all measure: an answer that waited for it would not come
			// before the client gives up.
			s.fault(n, "settle", mode, -1, "1h")
			begin := time.Now()
			first := s.post(n, path).key(path).json(`{}`).send()
			s.wantRan(first, "executed", 201)
			if took := time.Since(begin); took > patience/2 {
				s.errorf("%s: the answer was held back for %v", mode, took)
			}
			if settled := s.seen(n).Steps["settle ok"]; settled != i {
				s.errorf("%s: the settle was not held up (%d written), so nothing was shown", mode, settled)
			}
			// This process answers from the outcome it holds.
			s.wantReplay(first, s.post(n, path).key(path).json(`{}`).send())
			s.fault(n, "settle", "", 0, "")
			s.until("the settle to be written after all", func() bool { return s.seen(n).Steps["settle ok"] == i+1 })
			s.wantReplay(first, s.post(n, path).key(path).json(`{}`).send())
			s.wantRuns(path, 1)
		}
	}},
}
