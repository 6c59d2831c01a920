package adaptertest

import (
	"strings"
	"time"
)

// Crashes: owners that die, hang, or lose their lease while they work.
var crashStatements = []statement{
	// Faults: 14.
	{name: "Statement23_AKilledOwnerIsRetakenOrHeld", alone: true, play: func(s *scene) {
		o := NodeOptions{Quick: true}
		doomed, other := s.process(o), s.process(o)
		send := func(path string) answer { return s.post(other, path).key("k").json(`{}`).send() }
		for _, path := range []string{"/retake/killed", "/crash/killed"} {
			s.post(doomed, path).key("k").json(`{}`).do("Gate", "never").start()
		}
		s.arrived(doomed, "never", 2)
		doomed.Kill()
		// Nobody can know yet: the lease is running.
		s.want(send("/retake/killed"), "in-flight")
		s.want(send("/crash/killed"), "in-flight")

		var first answer
		s.until("the lease of a killed owner to run out", func() bool {
			first = send("/retake/killed")
			return first.verdict() != "in-flight"
		})
		s.wantRan(first, "executed", 201)
		s.wantReplay(first, send("/retake/killed"))
		s.wantRuns("/retake/killed", 2)

		s.until("the lease of a killed owner to run out", func() bool {
			first = send("/crash/killed")
			return first.verdict() != "in-flight"
		})
		s.want(first, "uncertain")
		s.want(send("/crash/killed"), "uncertain")
		s.wantRuns("/crash/killed", 1)
	}},

	// Faults: 1.
	{name: "Statement24_AHandlerOfTenLeasesKeepsItsClaim", alone: true, play: func(s *scene) {
		o := NodeOptions{Quick: true}
		n, other := s.server(o), s.server(o)
		lease := s.lease(o)
		const path = "/retake/long"
		gate := s.gate()
		held := s.post(n, path).key("k").json(`{}`).do("Gate", gate).start()
		s.arrived(n, gate, 1, held)
		// A repeat each half lease, for ten of them: not one may get through.
		tick := time.NewTicker(lease / 2)
		defer tick.Stop()
		for range 20 {
			<-tick.C
			if a := s.post(other, path).key("k").json(`{}`).send(); a.verdict() != "in-flight" {
				s.errorf("a repeat while the first still runs: %d %s", a.status, a.verdict())
				break
			}
		}
		s.open(n, gate)
		first := s.await(held)
		s.wantRan(first, "executed", 201)
		if stood := first.header.Get("Testbed-Context"); stood != "alive" {
			s.errorf("the handler's context had ended: %s", stood)
		}
		s.wantReplay(first, s.post(other, path).key("k").json(`{}`).send())
		s.wantRuns(path, 1)
	}},

	// Faults: 3, 5.
	{name: "Statement25_ALostLeaseEndsTheContext", alone: true, play: func(s *scene) {
		o := NodeOptions{Quick: true}
		loser, heir := s.server(o), s.server(o)
		const path = "/retake/lost"
		gate := s.gate()
		s.fault(loser, "renew", "refuse", -1, "")
		held := s.post(loser, path).key("k").json(`{}`).do("Gate", gate).do("Body", "late").start()
		s.arrived(loser, gate, 1, held)
		var second answer
		s.until("another owner to take over", func() bool {
			second = s.post(heir, path).key("k").json(`{}`).do("Body", "in time").send()
			return second.verdict() != "in-flight"
		})
		s.wantRan(second, "executed", 201)
		s.open(loser, gate)
		first := s.await(held)
		s.wantRan(first, "unprotected", 201)
		if string(first.body) != "late" {
			s.errorf("the loser's client was answered %q, want its own handler's answer", first.body)
		}
		if stood := first.header.Get("Testbed-Context"); !strings.Contains(stood, "claim was lost") {
			s.errorf("the loser's context: %q, want the claim lost", stood)
		}
		if stale := s.seen(loser).Steps["settle stale"]; stale != 1 {
			s.errorf("%d settles were counted as stale, want 1 (%v)", stale, s.seen(loser).Steps)
		}
		for _, n := range []Node{loser, heir} {
			s.wantReplay(second, s.post(n, path).key("k").json(`{}`).send())
		}
		s.wantRuns(path, 2)
		s.soFar()

		// Nobody came in between, but a claim once lost does not come back: the
		// context ends at the local deadline, by itself.
		a := s.post(loser, "/crash/alone").key("k").json(`{}`).do("Hang", "1").send()
		if a.status != 500 || !strings.Contains(string(a.body), "claim was lost") {
			s.errorf("a handler whose lease cannot be renewed ended with %d %q", a.status, a.body)
		}
		s.wantRuns("/crash/alone", 1)
	}},

	// Faults: 13.
	{name: "Statement56_AHungHandlerLeavesItsKeyCrashed", alone: true, play: func(s *scene) {
		o := NodeOptions{Quick: true}
		n := s.server(o)
		gate := s.gate()
		for _, path := range []string{"/hung/h", "/hungretake/h"} {
			s.post(n, path).key("k").json(`{}`).do("Gate", gate).start() // deaf to its context
		}
		s.arrived(n, gate, 2)
		send := func(path string) answer { return s.post(n, path).key("k").json(`{}`).send() }
		s.want(send("/hung/h"), "in-flight")
		var a answer
		s.until("MaxRun and a lease to be over", func() bool {
			a = send("/hung/h")
			return a.verdict() != "in-flight"
		})
		s.want(a, "uncertain")
		s.wantRuns("/hung/h", 1)
		s.until("MaxRun and a lease to be over", func() bool {
			a = send("/hungretake/h")
			return a.verdict() != "in-flight"
		})
		s.wantRan(a, "executed", 201)
		s.wantRuns("/hungretake/h", 2)
		s.open(n, gate)
	}},
}
