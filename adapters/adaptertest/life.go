package adaptertest

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	idem "github.com/go-idem/idem/core"
)

// Life: what a repeat gets, while the first runs and after it.
var lifeStatements = []statement{
	{name: "Statement19_ARepeatIsReplayed", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for i, ask := range []func(*request) *request{
			func(r *request) *request { return r },
			func(r *request) *request { return r.do("Status", "200").do("Body", "plain") },
			func(r *request) *request { return r.do("Status", "404") },
			func(r *request) *request {
				return r.do("Status", "202").do("Header", "X-Order: 7").do("Body-Bytes", "5000")
			},
		} {
			path := fmt.Sprintf("/do/repeat%d", i)
			send := func() answer { return ask(s.post(n, path).key(path).json(`{"n":1}`)).send() }
			first := send()
			s.want(first, "executed")
			for range 3 {
				again := send()
				s.wantReplay(first, again)
				if a, b := first.header.Get("X-Order"), again.header.Get("X-Order"); a != b {
					s.errorf("X-Order is %q in the replay, %q in the first answer", b, a)
				}
			}
			s.wantRuns(path, 1)
		}
	}},

	{name: "Statement20_200RepeatsOverThreeProcesses", play: func(s *scene) {
		nodes := []Node{s.process(NodeOptions{}), s.process(NodeOptions{}), s.process(NodeOptions{})}
		for _, path := range []string{"/key/storm", "/wait/storm"} {
			var all sync.WaitGroup
			answers := make([]answer, 200)
			for i := range answers {
				all.Go(func() {
					answers[i] = s.post(nodes[i%3], path).key("k").json(`{"n":1}`).do("Delay", "60ms").try()
				})
			}
			all.Wait()
			statement20Count(s, path, answers)
			s.want(s.post(nodes[0], path).key("k").json(`{"n":1}`).send(), "replayed")
			s.wantRuns(path, 1)
		}
	}},

	{name: "Statement21_AWaiterGetsTheSameAnswerByItsOwnDeadline", play: func(s *scene) {
		n, gate := s.server(NodeOptions{}), s.gate()
		send := func(prefer string) *request {
			r := s.post(n, "/wait/one").key("k").json(`{"n":1}`)
			if prefer != "" {
				r = r.with("Prefer", prefer)
			}
			return r
		}
		first := send("").do("Gate", gate).start()
		s.arrived(n, gate, 1, first)
		// Who would not wait is told at once, and who would for a second after it.
		for _, prefer := range []string{"wait=0", "wait=1"} {
			refused := send(prefer).send()
			s.wantProblem(refused, "in-flight", http.StatusConflict)
			if refused.header.Get("Retry-After") == "" {
				s.errorf("Prefer: %s is refused without Retry-After", prefer)
			}
		}
		var waiting []<-chan answer
		for range 20 {
			waiting = append(waiting, send("").start())
		}
		s.open(n, gate)
		kept := s.await(first)
		s.wantRan(kept, "executed", http.StatusCreated)
		for _, w := range waiting {
			s.wantReplay(kept, s.await(w))
		}
		s.wantRuns("/wait/one", 1)
	}},

	{name: "Statement21a_AHotRecordCostsAProcessOneCallAnInterval", play: func(s *scene) {
		here, there, gate := s.process(NodeOptions{}), s.process(NodeOptions{}), s.gate()
		send := func(n Node) *request { return s.post(n, "/wait/hot").key("k").json(`{"n":1}`) }
		first := send(here).do("Gate", gate).start()
		s.arrived(here, gate, 1, first)
		calls := func() int { seen := s.seen(there).Calls; return seen["claim"] + seen["load"] }
		began, before := time.Now(), calls()
		var waiting []<-chan answer
		for range 100 {
			waiting = append(waiting, send(there).start())
		}
		// Who comes when the run is over looks for itself.
		s.until("all of them to wait", func() bool { return s.seen(there).Steps["wait begun"] == len(waiting) })
		s.until("looks at the poll's pace", func() bool { return calls()-before >= 4 })
		s.open(here, gate)
		kept := s.await(first)
		s.wantRan(kept, "executed", http.StatusCreated)
		for _, w := range waiting {
			s.wantReplay(kept, s.await(w))
		}
		// One look for the claim, one behind the subscription, one when woken, and one
		// each half second; and one for those who came when it was over.
		if made, most := calls()-before, 4+int(time.Since(began)/(500*time.Millisecond)); made > most {
			s.errorf("100 who waited for a run of another process made %d calls in %v, want %d at most", made, time.Since(began), most)
		}
		s.wantRuns("/wait/hot", 1)
	}},

	{name: "Statement22_ForceIsForWhoMay", play: func(s *scene) {
		here, there, gate := s.process(NodeOptions{}), s.process(NodeOptions{}), s.gate()
		send := func(n Node, user, path string) *request { return s.post(n, path).as(user).key("k").json(`{"n":1}`) }
		force := func(r *request) *request { return r.with("Idempotency-Force", "1") }

		held := send(here, mayForce, "/force/one").do("Gate", gate).start()
		s.arrived(here, gate, 1, held)
		s.want(send(there, mayForce, "/force/one").send(), "in-flight")
		forced := force(send(there, mayForce, "/force/one")).send()
		s.wantRan(forced, "executed", http.StatusCreated)
		s.open(here, gate)
		s.wantRan(s.await(held), "unprotected", http.StatusCreated) // its settle was refused, its client was not
		s.wantReplay(forced, send(here, mayForce, "/force/one").send())
		s.wantRuns("/force/one", 2)

		for path, user := range map[string]string{"/force/mine": "ann", "/hold/mine": mayForce} {
			s.wantRan(send(here, user, path).send(), "executed", http.StatusCreated)
			s.want(force(send(here, user, path)).send(), "replayed")
			s.wantRuns(path, 1)
		}
	}},

	// Faults: 61.
	{name: "Statement28_AfterAValidationErrorTheSameTokenWorks", play: func(s *scene) {
		n := s.server(NodeOptions{})
		token := s.issue(n, "ann", "test:form:run", "cart-1")
		submit := func(body string, status int) answer {
			return s.post(n, "/form/cart-1").as("ann").token(token).form(body).do("Status", fmt.Sprint(status)).send()
		}
		s.wantRan(submit("mail=ann", 422), "released", 422)
		s.wantRan(submit("mail=ann@", 400), "released", 400)
		last := submit("mail=ann@example.org", 201)
		s.wantRan(last, "executed", 201)
		s.wantReplay(last, submit("mail=ann@example.org", 201))
		s.want(submit("mail=eve@example.org", 201), "conflict")
		s.wantRuns("/form/cart-1", 3)

		// The record keeps the token usable, whatever the token's own life.
		const life = 15 * time.Minute
		then := s.older(life + time.Minute)
		old := s.issue(then, "ann", "test:form:run", "late")
		again := func(n Node, body string, status int) answer {
			return s.post(n, "/form/late").as("ann").token(old).form(body).do("Status", fmt.Sprint(status)).send()
		}
		s.wantRan(again(then, "mail=ann", 422), "released", 422)
		now := s.later(then, life+time.Minute)
		s.wantRan(again(now, "mail=ann@", 422), "released", 422)
		s.wantRan(again(now, "mail=ann@example.org", 201), "executed", 201)
		s.wantRuns("/form/late", 3)
	}},

	{name: "Statement32_AfterRetentionAKeyIsNewATokenForgotten", play: func(s *scene) {
		const retention = 24 * time.Hour // of the preset
		n := s.older(retention + time.Minute)
		token := s.issue(n, "ann", "test:hold:run", "")
		send := func(n Node, r func(*request) *request, path string) answer {
			return r(s.post(n, path).as("ann").json(`{}`)).send()
		}
		byKey := func(r *request) *request { return r.key("k") }
		byToken := func(r *request) *request { return r.token(token) }
		s.wantRan(send(n, byKey, "/do/kept"), "executed", 201)
		s.wantRan(send(n, byToken, "/hold/kept"), "executed", 201)
		s.want(send(n, byKey, "/do/kept"), "replayed")
		s.want(send(n, byToken, "/hold/kept"), "replayed")

		n = s.later(n, retention+time.Minute)
		s.wantRan(send(n, byKey, "/do/kept"), "executed", 201)
		s.want(send(n, byToken, "/hold/kept"), "forgotten")
		s.wantRuns("/do/kept", 2)
		s.wantRuns("/hold/kept", 1)

		// Retention outlives tokens, or the guard is not built.
		const life, deadline, slack = 15 * time.Minute, time.Minute, 10 * time.Minute
		for short, builds := range map[time.Duration]bool{life + deadline + slack: true, life + deadline + slack - time.Second: false} {
			g, err := idem.New(idem.Config{Store: &drawer{}, Unscoped: true, Policies: []idem.Policy{
				{Operation: "test:short:run", Preset: idem.API, TokenLife: life, Retention: short, MaxRun: time.Minute},
			}})
			if (err == nil) != builds {
				s.errorf("a guard with retention %v is built: %v (%v), want %v", short, err == nil, err, builds)
			}
			if err == nil {
				s.closed(g)
			}
		}
	}},

	// Faults: 11.
	{name: "Statement33_ClocksAnHourApartChangeNothing", play: func(s *scene) {
		here := s.process(NodeOptions{})
		for i, offset := range []time.Duration{time.Hour, -time.Hour} {
			there := s.process(NodeOptions{ClockOffset: offset})
			path, gate := fmt.Sprintf("/hold/clocks%d", i), s.gate()

			// A claim here is running for the other host, and the other way round.
			for k, pair := range [][2]Node{{here, there}, {there, here}} {
				key := fmt.Sprintf("k%d%d", i, k)
				held := s.post(pair[0], path).key(key).json(`{}`).do("Gate", gate+key).start()
				s.arrived(pair[0], gate+key, 1, held)
				s.want(s.post(pair[1], path).key(key).json(`{}`).send(), "in-flight")
				s.open(pair[0], gate+key)
				first := s.await(held)
				s.wantRan(first, "executed", 201)
				s.wantReplay(first, s.post(pair[1], path).key(key).json(`{}`).send())
			}
			s.wantRuns(path, 2)

			// So is a token: neither expired nor of the future.
			for k, pair := range [][2]Node{{here, there}, {there, here}} {
				token, form := s.issue(pair[0], "ann", "test:form:run", fmt.Sprintf("clock%d%d", i, k)), fmt.Sprintf("/form/clock%d%d", i, k)
				s.wantRan(s.post(pair[1], form).as("ann").token(token).form("a=1").send(), "executed", 201)
				s.want(s.post(pair[0], form).as("ann").token(token).form("a=1").send(), "replayed")
				s.wantRuns(form, 1)
			}
		}
	}},
}

// statement20Count says what became of parallel repeats: one ran, the others
// got its answer or were told to wait.
func statement20Count(s *scene, path string, answers []answer) {
	verdicts := map[string]int{}
	for _, a := range answers {
		if a.err != nil {
			s.fatalf("a repeat got no answer: %v", a.err)
		}
		verdicts[a.verdict()]++
		if ran := a.verdict() == "executed" || a.verdict() == "replayed"; ran && a.status != http.StatusCreated {
			s.errorf("%s with status %d", a.verdict(), a.status)
		}
	}
	if verdicts["executed"] != 1 || verdicts["executed"]+verdicts["replayed"]+verdicts["in-flight"] != len(answers) {
		s.errorf("%s: verdicts %v, want executed once and otherwise replayed or in-flight", path, verdicts)
	}
	s.wantRuns(path, 1)
}
