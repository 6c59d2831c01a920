package adaptertest

import (
	"net/http"
	"slices"
	"strings"
	"time"

	idem "github.com/go-idem/idem/core"
)

// Rollout: what a guard does that is being rolled out, or taken back.
var rolloutStatements = []statement{
	{name: "Statement58_ObserveRefusesNothingAndReportsEverything", play: func(s *scene) {
		n := s.server(NodeOptions{})
		s.setMode(n, "test:roll:run", idem.ModeObserve)
		post := func() *request { return s.post(n, "/roll/one").as("ann") }
		beside := func(would string, r *request) {
			runs, seen := s.runs("/roll/one"), s.seen(n)
			a := r.send()
			s.wantRan(a, "unprotected", http.StatusCreated)
			s.wantRuns("/roll/one", runs+1)
			now := s.seen(n)
			if now.Steps["observe"] != seen.Steps["observe"]+1 || now.Steps["observe "+would] != seen.Steps["observe "+would]+1 {
				s.errorf("it was observed %d times, %d of them as %s, want one such", now.Steps["observe"]-seen.Steps["observe"], now.Steps["observe "+would]-seen.Steps["observe "+would], would)
			}
			if told := s.about(a); told.BodyBytes != len(r.body) || told.BodySHA256 != hexSHA256(r.body) {
				s.errorf("the handler read %d bytes of a body of %d, or others", told.BodyBytes, len(r.body))
			}
		}
		s.wantRan(post().key("k").json(`{"n":1}`).send(), "executed", http.StatusCreated)
		beside("replayed", post().key("k").json(`{"n":1}`))
		beside("conflict", post().key("k").json(`{"n":2}`))
		beside("missing", post().json(`{"n":1}`))
		beside("malformed", post().key("k").key("l").json(`{"n":1}`))
		beside("foreign", post().token(s.issue(n, "eve", "test:roll:run", "")).json(`{"n":1}`))
		beside("forgotten", post().token(s.oldToken(n, "ann", "test:roll:run", "", "20m")).json(`{"n":1}`))

		gate := s.gate()
		first := post().key("running").json(`{"n":1}`).do("Gate", gate).start()
		s.arrived(n, gate, 1, first)
		beside("in-flight", post().key("running").json(`{"n":1}`))
		s.open(n, gate)
		s.wantRan(s.await(first), "executed", http.StatusCreated)

		// A body over the limit reaches the handler whole, from memory or past it.
		long := strings.Repeat("idem.", 300_000)
		beside("malformed", post().key("long").carry("text/plain", long))
		beside("malformed", post().key("long").carry("text/plain", long).inChunks())
		beside("malformed", post().json(long).inChunks()) // where a token could stand in it

		s.fault(n, "claim", "refuse", -1, "")
		beside("unavailable", post().key("down").json(`{"n":1}`))
		s.fault(n, "claim", "", 0, "")
		if buried := s.seen(n).Calls["bury"]; buried != 0 {
			s.errorf("%d calls to bury, want none", buried)
		}
	}},

	{name: "Statement58_OffMakesNoStoreCall", play: func(s *scene) {
		n := s.server(NodeOptions{})
		token := s.issue(n, "ann", "test:roll:run", "")
		s.setMode(n, "test:roll:run", idem.ModeOff)
		before := s.calls(n)
		const body = `{"n":1}`
		post := func() *request { return s.post(n, "/roll/off").as("ann").json(body) }
		for verdict, requests := range map[string][]*request{
			"unguarded": {post().key("k"), post().key("k"), post().key("k").key("l"), post().token(token), post().key("long").carry("text/plain", strings.Repeat("idem.", 300_000))},
			"":          {post(), s.post(n, "/roll/off").form("a=1")},
		} {
			for _, r := range requests {
				a := r.send()
				s.wantRan(a, verdict, http.StatusCreated)
				if told := s.about(a); told.BodySHA256 != hexSHA256(r.body) {
					s.errorf("the handler read %d bytes of a body of %d, or others", told.BodyBytes, len(r.body))
				}
			}
		}
		s.wantRuns("/roll/off", 7)
		if after := s.calls(n); after != before {
			s.errorf("%d store calls were made", after-before)
		}
		s.setMode(n, "test:roll:run", idem.ModeEnforce)
		s.wantRan(post().key("k").send(), "executed", http.StatusCreated)
		s.want(post().key("k").send(), "replayed")
	}},

	{name: "Statement58_AChangeOfModeMovesSince", play: func(s *scene) {
		const expired = 20 * time.Minute
		n := s.older(expired + 2*time.Second)
		n = s.later(n, 2*time.Second)
		moved, stayed := s.issue(n, "ann", "test:roll:run", ""), s.issue(n, "ann", "test:hold:run", "")
		s.setMode(n, "test:roll:run", idem.ModeOff)
		for range 2 { // it runs, and leaves nothing behind
			s.wantRan(s.post(n, "/roll/since").as("ann").token(moved).json(`{}`).send(), "unguarded", http.StatusCreated)
		}
		s.setMode(n, "test:roll:run", idem.ModeEnforce)
		n = s.later(n, expired)
		// dead would let a client take a new token, and run it a third time.
		s.want(s.post(n, "/roll/since").as("ann").token(moved).json(`{}`).send(), "forgotten")
		s.wantRuns("/roll/since", 2)
		s.want(s.post(n, "/hold/since").as("ann").token(stayed).json(`{}`).send(), "dead")
	}},
}

// setMode changes the mode of a running policy.
func (s *scene) setMode(n Node, operation string, mode idem.Mode) {
	for _, p := range slices.Concat(Policies(), SuitePolicies(s.describe(NodeOptions{}))) {
		if p.Operation == operation {
			p.Mode = mode
			s.order(n, "/control/policy", p, nil)
			return
		}
	}
	s.fatalf("there is no policy for %s", operation)
}
