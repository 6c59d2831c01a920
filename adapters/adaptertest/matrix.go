package adaptertest

import (
	"net/http"
)

// The fault matrix: every way in which a store misbehaves at every step of a
// request, under a policy that is closed and one that is open. One table for all
// frameworks and stores: what a client is told does not depend on either.
var matrixStatements = []statement{
	// Faults: 54.
	{name: "Statement31_EveryFaultAtEveryStep", play: func(s *scene) {
		n := s.server(NodeOptions{})
		modes := []string{"refuse", "timeout", "slow", "lost-reply"}
		for _, mode := range modes {
			s.faultAtClaim(n, mode)
			s.faultAtSettle(n, mode)
			s.faultAtLoad(n, mode)
		}
		s.faultAtRenew(n, modes)
	}},
}

// during has every call made for a step misbehave while do runs.
func (s *scene) during(n Node, step, mode string, do func()) {
	s.fault(n, step, mode, -1, "20ms")
	do()
	s.fault(n, step, "", 0, "")
}

// A claim without a known outcome runs nothing where the policy is closed, and
// runs unprotected where it is open; a slow one is a claim.
func (s *scene) faultAtClaim(n Node, mode string) {
	closed, open := "/hold/claim-"+mode, "/open/claim-"+mode
	send := func(path string) answer { return s.post(n, path).key(path).json(`{}`).send() }
	var first answer
	s.during(n, "claim", mode, func() {
		if mode == "slow" {
			s.wantRan(send(closed), "executed", http.StatusCreated)
			first = send(open)
			s.wantRan(first, "executed", http.StatusCreated)
			return
		}
		s.wantProblem(send(closed), "unavailable", http.StatusServiceUnavailable)
		s.wantRuns(closed, 0)
		first = send(open)
		s.wantRan(first, "unprotected", http.StatusCreated) // its settle, which works, leaves a record
	})
	s.until("the claim of unknown outcome to be given back", func() bool {
		v := send(closed).verdict()
		return v == "executed" || v == "replayed"
	})
	s.want(send(closed), "replayed")
	s.wantReplay(first, send(open))
	s.wantRuns(closed, 1)
	s.wantRuns(open, 1)
}

// Renewals that fail are blips, under either policy, as long as one comes
// through before the deadline. One handler lives through all of them, for a
// renewal is due only every third of a lease.
func (s *scene) faultAtRenew(n Node, modes []string) {
	var waiting []<-chan answer
	paths, gate := []string{"/renew/hold", "/renewopen/open"}, s.gate()
	for _, path := range paths {
		waiting = append(waiting, s.post(n, path).key(path).json(`{}`).do("Gate", gate).start())
	}
	s.arrived(n, gate, len(paths), waiting...)
	for _, mode := range modes {
		met := s.seen(n).Injected["renew"]
		s.fault(n, "renew", mode, 1, "20ms")
		s.until("a renewal that meets "+mode, func() bool { return s.seen(n).Injected["renew"] > met })
	}
	before := s.seen(n).Calls["renew"]
	s.until("renewals after those that failed", func() bool { return s.seen(n).Calls["renew"] >= before+len(paths) })
	s.open(n, gate)
	for i, path := range paths {
		first := s.await(waiting[i])
		s.wantRan(first, "executed", http.StatusCreated)
		if context := first.header.Get("Testbed-Context"); context != "alive" {
			s.errorf("%s: the handler's context had ended: %s", path, context)
		}
		s.wantReplay(first, s.post(n, path).key(path).json(`{}`).send())
		s.wantRuns(path, 1)
	}
}

// A settle that fails is nothing to the client: it has the real answer, and so
// has every repeat.
func (s *scene) faultAtSettle(n Node, mode string) {
	for _, policy := range []string{"hold", "open"} {
		path := "/" + policy + "/settle-" + mode
		send := func() answer { return s.post(n, path).key(path).json(`{}`).send() }
		var first answer
		s.during(n, "settle", mode, func() {
			first = send()
			s.wantRan(first, "executed", http.StatusCreated)
			s.wantReplay(first, send())
		})
		s.until("the outcome to be written", func() bool { return s.seen(n).Stats.Pending == 0 })
		s.wantReplay(first, send())
		s.wantRuns(path, 1)
	}
}

// A look that fails says nothing about the record.
func (s *scene) faultAtLoad(n Node, mode string) {
	path := "/hold/load-" + mode
	first := s.post(n, path).key(path).json(`{}`).send()
	s.wantRan(first, "executed", http.StatusCreated)
	status := func() answer {
		return s.post(n, "/idempotency/status").as("anonymous").key(path).json(`{"operation":"test:hold:run"}`).send()
	}
	s.during(n, "load", mode, func() {
		a, want := status(), http.StatusServiceUnavailable
		if mode == "slow" {
			want = http.StatusOK
		}
		if a.status != want || want == http.StatusServiceUnavailable && a.header.Get("Retry-After") == "" {
			s.errorf("%s at load: status %d, Retry-After %q, want %d", mode, a.status, a.header.Get("Retry-After"), want)
		}
		s.wantReplay(first, s.post(n, path).key(path).json(`{}`).send()) // what the claim was told is there needs no look
	})
	if a := status(); a.status != http.StatusOK {
		s.errorf("after %s at load: status %d", mode, a.status)
	}
	s.wantRuns(path, 1)
}
