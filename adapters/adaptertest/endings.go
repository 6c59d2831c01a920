package adaptertest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Endings: what a run leaves behind, by how it ended.
var endingStatements = []statement{
	// Faults: 19, 28.
	{name: "Statement26_EveryStatusAgainstThePolicy", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for _, place := range []string{"/do/", "/keep/", "/pay/", "/loose/"} {
			for status := 200; status <= 599; status++ {
				if place != "/do/" && status%7 != 0 && !slices.Contains(mayChange, status) {
					continue // the whole table once, the other policies at every seam
				}
				statement26Case(s, n, place, status)
			}
		}
	}},

	// Faults: 16, 20.
	{name: "Statement27_AfterMarkEffectsNothingIsReleased", alone: true, play: func(s *scene) {
		n := s.server(NodeOptions{Quick: true})
		for _, c := range []struct {
			name, place string
			ends        func(*request) *request
		}{
			{"error", "/do/", func(r *request) *request { return r.do("Status", "500") }},
			{"said", "/do/", func(r *request) *request { return r.do("Status", "422") }},
			{"failed", "/do/", func(r *request) *request { return r.do("Error", "broken") }},
			{"panic", "/do/", func(r *request) *request { return r.do("Panic", "broken") }},
			{"cancel", "/hung/", func(r *request) *request { return r.do("Hang", "1") }},
		} {
			s.soFar()
			path := c.place + "marked-" + c.name
			send := func() answer { return c.ends(s.post(n, path).key(path).json(`{}`).do("Effects", "1")).send() }
			if first := send(); first.status < 400 {
				s.errorf("%s: the handler's failure was answered %d", c.name, first.status)
			}
			for range 2 {
				s.want(send(), "uncertain")
			}
			s.wantRuns(path, 1)
		}
		// The control: the same endings without a mark are released.
		for range 2 {
			s.wantRan(s.post(n, "/do/unmarked").key("u").json(`{}`).do("Status", "500").send(), "released", 500)
		}
		s.wantRuns("/do/unmarked", 2)

		statement27Kill(s)
		statement27Lost(s, n)
	}},

	// Faults: 13.
	{name: "Statement29_APanicIsSettledAndRaisedAgain", play: func(s *scene) {
		n := s.server(NodeOptions{})
		send := func(path string) answer {
			return s.post(n, path).key("k").json(`{}`).do("Panic", "out of cheese").do("Body", "half an answer").send()
		}
		const want = "panic, the same value: out of cheese"
		first := send("/do/panic")
		if first.status != 500 || !strings.Contains(string(first.body), want) {
			s.errorf("outside the guard there came %d %q, want %q", first.status, first.body, want)
		}
		// Under API it is released: the same key runs again, and is kept.
		last := s.post(n, "/do/panic").key("k").json(`{}`).send()
		s.wantRan(last, "executed", 201)
		s.wantReplay(last, s.post(n, "/do/panic").key("k").json(`{}`).send())
		s.wantRuns("/do/panic", 2)
		// Under Payment it is in doubt, and nothing half-written is ever shown.
		if first = send("/pay/panic"); first.status != 500 || !strings.Contains(string(first.body), want) {
			s.errorf("outside the guard there came %d %q, want %q", first.status, first.body, want)
		}
		again := send("/pay/panic")
		s.want(again, "uncertain")
		if strings.Contains(string(again.body), "half an answer") {
			s.errorf("a repeat was shown what a panic left: %s", again.body)
		}
		s.wantRuns("/pay/panic", 1)
		// Under keep it is a refusal that stands: the same failure each time.
		send("/keep/panic")
		if again = send("/keep/panic"); again.status < 500 && again.verdict() != "used" || strings.Contains(string(again.body), "half an answer") {
			s.errorf("a kept panic is repeated as %d %s %q", again.status, again.verdict(), again.body)
		}
		s.wantRuns("/keep/panic", 1)
	}},

	{name: "Statement35_SafeMethodsRunUnguarded", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions} {
			path := "/do/" + strings.ToLower(method)
			for runs := 1; runs <= 2; runs++ {
				s.wantRan(s.request(n, method, path).key("k").send(), "unguarded", 201)
				s.wantRuns(path, runs)
			}
			bare := s.request(n, method, path+"-bare").send()
			s.wantRan(bare, "", 201)
			for name := range bare.header {
				if strings.HasPrefix(name, "Idempoten") {
					s.errorf("%s without a key: the answer has %s", method, name)
				}
			}
		}
		// A key that is no key harms nothing where nothing is guarded.
		s.wantRan(s.request(n, http.MethodGet, "/do/get").key(`"`).send(), "unguarded", 201)
	}},
}

// mayChange are the refusals of the question on4xx: the next try may differ.
var mayChange = []int{400, 401, 403, 408, 409, 413, 415, 422, 425, 428, 429}

// statement26Want is the table of the protocol (section 8), written here once
// more so that the code is held against something else than itself.
func statement26Want(place string, status int) string {
	answers := map[string][3]string{ // on4xx, onOther4xx, on5xx
		"/do/": {"release", "keep", "release"}, "/pay/": {"release", "keep", "doubt"},
		"/keep/": {"keep", "keep", "keep"}, "/loose/": {"release", "release", "doubt"},
	}[place]
	switch {
	case status < 400:
		return "keep"
	case slices.Contains(mayChange, status):
		return answers[0]
	case status < 500:
		return answers[1]
	}
	return answers[2]
}

func statement26Case(s *scene, n Node, place string, status int) {
	path := fmt.Sprintf("%sstatus%d", place, status)
	send := func() answer {
		return s.post(n, path).key(fmt.Sprint("k", status)).json(`{}`).do("Status", fmt.Sprint(status)).send()
	}
	first, again := send(), send()
	first, again = withoutBody(first, status), withoutBody(again, status)
	switch want := statement26Want(place, status); want {
	case "keep":
		s.wantRan(first, "executed", status)
		s.wantReplay(first, again)
		s.wantRuns(path, 1)
	case "release":
		s.wantRan(first, "released", status)
		s.wantRan(again, "released", status)
		s.wantRuns(path, 2)
	case "doubt":
		if first.status != status || first.verdict() != "uncertain" {
			s.errorf("%s: first %d %s, want the handler's own answer and uncertain", path, first.status, first.verdict())
		}
		s.want(again, "uncertain")
		s.wantRuns(path, 1)
	}
}

// withoutBody drops the body of statuses that have none by definition: some
// servers send what the handler wrote, others do not.
func withoutBody(a answer, status int) answer {
	if a.status == status && (status == http.StatusResetContent || status == http.StatusNoContent || status == http.StatusNotModified) {
		a.body = nil
	}
	return a
}

// statement27Kill: marked, then killed, under Retake: held, not run again.
func statement27Kill(s *scene) {
	o := NodeOptions{Quick: true}
	doomed, other := s.process(o), s.process(o)
	const path = "/retake/marked-kill"
	// The effect is counted once MarkEffects has returned.
	s.post(doomed, path).key("k").json(`{}`).do("Effects", "1").do("Hang", "1").start()
	s.until("the mark to be written", func() bool { return s.tally(doomed).Effects == 1 })
	doomed.Kill()
	s.until("the killed owner's lease to run out", func() bool {
		return s.post(other, path).key("k").json(`{}`).send().verdict() != "in-flight"
	})
	s.want(s.post(other, path).key("k").json(`{}`).send(), "uncertain")
	s.wantRuns(path, 1)
}

// statement27Lost: a mark on a claim that was lost is an error, and a handler
// that heeds it has no effect.
func statement27Lost(s *scene, heir Node) {
	loser := s.server(NodeOptions{Quick: true})
	const path = "/retake/marked-lost"
	gate := s.gate()
	s.fault(loser, "renew", "refuse", -1, "")
	held := s.post(loser, path).key("lost").json(`{}`).do("Gate", gate).do("Effects", "1").start()
	s.arrived(loser, gate, 1, held)
	s.until("another owner to take over", func() bool {
		return s.post(heir, path).key("lost").json(`{}`).send().verdict() == "executed"
	})
	s.fault(loser, "renew", "", 0, "")
	s.open(loser, gate)
	a := s.await(held)
	if a.status < 500 {
		s.errorf("the handler that had lost its claim answered %d %s", a.status, a.verdict())
	}
	if effects := s.tally(loser).Effects; effects != 0 {
		s.errorf("the handler that had lost its claim had %d effects", effects)
	}
	s.want(s.post(heir, path).key("lost").json(`{}`).send(), "replayed")
	s.wantRuns(path, 2)
}

// tally reads a server's own counts.
func (s *scene) tally(n Node) Tally {
	var t Tally
	a := s.request(n, http.MethodGet, "/runs").send()
	s.read(a, &t)
	return t
}
