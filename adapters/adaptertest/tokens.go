package adaptertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Tokens: one press of a button, and what became of it.
var tokenStatements = []statement{
	// Faults: 62.
	{name: "Statement49_ADoubleClickIsOneRun", play: func(s *scene) {
		n := s.server(NodeOptions{})
		for i, carry := range []func(token string) *request{
			func(token string) *request { return s.post(n, "/form/click0").token(token).form("a=1") },
			func(token string) *request {
				return s.post(n, "/form/click1").form(escaped("a", "1", "idempotent-token", token))
			},
			func(token string) *request {
				return s.post(n, "/form/click2").json(`{"a":1,"idempotentToken":"` + token + `"}`)
			},
		} {
			path, gate := fmt.Sprintf("/form/click%d", i), s.gate()
			token := s.issue(n, "ann", "test:form:run", fmt.Sprintf("click%d", i))
			begun := s.seen(n).Steps["wait begun"]
			first := carry(token).as("ann").do("Gate", gate).start()
			s.arrived(n, gate, 1, first)
			second := carry(token).as("ann").do("Gate", gate).start()
			s.until("the second click to wait", func() bool { return s.seen(n).Steps["wait begun"] > begun })
			s.open(n, gate)
			a := s.await(first)
			s.wantRan(a, "executed", 201)
			s.wantReplay(a, s.await(second))
			s.wantReplay(a, carry(token).as("ann").send())
			s.wantRuns(path, 1)
		}
		// Where the policy rejects, the second click is told that the first runs.
		token, gate := s.issue(n, "ann", "test:hold:run", ""), s.gate()
		first := s.post(n, "/hold/click").as("ann").token(token).form("a=1").do("Gate", gate).start()
		s.arrived(n, gate, 1, first)
		s.want(s.post(n, "/hold/click").as("ann").token(token).form("a=1").send(), "in-flight")
		s.open(n, gate)
		s.wantRan(s.await(first), "executed", 201)
		s.wantRuns("/hold/click", 1)
	}},

	{name: "Statement49a_TheHeadAloneDecides", play: func(s *scene) {
		n := s.server(NodeOptions{})
		foreign := flipped(s.issue(n, "anonymous", "test:form:run", "big"), 13)
		for _, c := range []struct{ path, line, then string }{
			{"/key/big", "X-Nothing: here", "missing"},
			{"/key/big", `Idempotency-Key: "open`, "malformed"},
			{"/do/big", "Idempotency-Key: a, b", "malformed"},
			{"/form/big", "Idempotency-Token: short", "malformed"},
			{"/form/big", "Idempotency-Token: " + foreign, "foreign"},
		} {
			s.want(s.unfinished(n, c.path, c.line), c.then)
			s.wantRuns(c.path, 0)
		}
	}},

	{name: "Statement50_ExpiredTokensAreDeadReplayedOrForgotten", play: func(s *scene) {
		const life, retention, slack = 15 * time.Minute, 24 * time.Hour, 10 * time.Minute
		// The card is made well before the tokens: whole seconds tell them apart.
		n := s.older(life + time.Minute + 2*time.Second)
		n = s.later(n, 2*time.Second)
		unused, used, raced := s.issue(n, "ann", "test:form:run", "unused"), s.issue(n, "ann", "test:form:run", "used"), s.issue(n, "ann", "test:form:run", "raced")
		send := func(page, token string) answer {
			return s.post(n, "/form/"+page).as("ann").token(token).form("a=1").send()
		}
		first := send("used", used)
		s.wantRan(first, "executed", 201)

		n = s.later(n, life+time.Minute)
		s.wantReplay(first, send("used", used))
		for range 2 {
			s.want(send("unused", unused), "dead")
		}
		s.wantState(n, "unused", unused, "buried")
		s.wantRuns("/form/unused", 0)
		s.wantRuns("/form/used", 1)
		// Buried for one page is buried for all of them.
		s.want(send("raced", raced), "dead")
		s.want(send("elsewhere", raced), "foreign")

		// Older than what is remembered, or than the first record: nobody can tell.
		for _, age := range []time.Duration{retention - slack + time.Minute, retention + time.Hour, life + time.Hour} {
			old := s.oldToken(n, "ann", "test:form:run", "old", age.String())
			s.want(send("old", old), "forgotten")
		}
		s.wantRuns("/form/old", 0)

		statement50Lost(s)
	}},

	{name: "Statement51_BuryingAndClaimingAtOnceHasOneWinner", play: func(s *scene) {
		// One server lives a quarter of an hour ago: for it the token is good.
		const life = 15 * time.Minute
		s.server(NodeOptions{Past: life + time.Hour}) // makes the card
		young, old := s.process(NodeOptions{Past: life + time.Minute}), s.process(NodeOptions{})
		verdicts := map[string]int{}
		for i := range 20 {
			path := fmt.Sprintf("/form/race%d", i)
			token := s.issue(young, "ann", "test:form:run", fmt.Sprintf("race%d", i))
			send := func(n Node) <-chan answer { return s.post(n, path).as("ann").token(token).form("a=1").start() }
			claims, buries := send(young), send(old)
			claimed, buried := s.await(claims), s.await(buries)
			both := claimed.verdict() + " and " + buried.verdict()
			verdicts[both]++
			switch both {
			case "executed and replayed", "executed and in-flight":
				s.wantRuns(path, 1)
			case "dead and dead":
				s.wantRuns(path, 0)
			default:
				s.errorf("%s: the claim ended %s", path, both)
			}
		}
		if len(verdicts) == 0 {
			s.errorf("nothing was raced")
		}
	}},
}

// unfinished announces ten megabytes and sends the first sixteen kilobytes (some
// servers read so far ahead): whoever waits for the body has no answer to give.
func (s *scene) unfinished(n Node, path, line string) answer {
	w := s.dial(n)
	defer w.close()
	w.write("POST "+path+" HTTP/1.1", "Host: localhost", "Content-Type: application/json",
		"Content-Length: 10485760", line, "", strings.Repeat("x", 16<<10))
	return w.answer(http.MethodPost)
}

// statement50Lost: the store has lost its data, and knows it: forgotten, loudly.
func statement50Lost(s *scene) {
	const life = 15 * time.Minute
	n := s.older(life + time.Minute + 2*time.Second)
	n = s.later(n, 2*time.Second)
	token := s.issue(n, "ann", "test:form:run", "lost")
	a := s.post(n, "/form/lost").as("ann").token(token).form("a=1").send()
	s.wantRan(a, "executed", 201)
	n = s.later(n, life+time.Minute) // it has read the card
	if err := s.shared.Flush(); err != nil {
		s.fatalf("flushing the store: %v", err)
	}
	s.want(s.post(n, "/form/lost").as("ann").token(token).form("a=1").send(), "forgotten")
	s.wantRuns("/form/lost", 1)
	if text := n.Log(); !loud(text, "lost its data") {
		s.errorf("the loss of the store's data was not said aloud: no warning or error in the log")
	}
}

// loud tells whether a log has a line of level warning or above with a word.
func loud(log, word string) bool {
	for _, line := range strings.Split(log, "\n") {
		if (strings.Contains(line, `"WARN"`) || strings.Contains(line, `"ERROR"`)) && strings.Contains(strings.ToLower(line), word) {
			return true
		}
	}
	return false
}

// wantState says what the status endpoint tells of a token.
func (s *scene) wantState(n Node, page, token, want string) {
	order, err := json.Marshal(map[string]string{"operation": "test:form:run", "context": page})
	if err != nil {
		s.fatalf("writing an order: %v", err)
	}
	var told struct{ State string }
	s.read(s.post(n, "/idempotency/status").as("ann").token(token).json(string(order)).send(), &told)
	if told.State != want {
		s.errorf("the status endpoint says %q of %s, want %s", told.State, page, want)
	}
}

// Rings: the keys behind the tokens and the names.
var ringStatements = []statement{
	{name: "Statement53_ARingRotatedInTwoStepsRefusesNothing", play: func(s *scene) {
		// Each row is a moment of the roll-out: the rings of the two servers.
		moments := [][2][]int{
			{{1}, {1}},
			{{1, 2}, {1}}, {{1, 2}, {1, 2}}, // first the new key verifies everywhere,
			{{2, 1}, {1, 2}}, {{2, 1}, {2, 1}}, // then it signs
		}
		var kept []string // tokens of every moment, used once each moment after it
		for m, rings := range moments {
			nodes := [2]Node{s.process(NodeOptions{Ring: rings[0]}), s.process(NodeOptions{Ring: rings[1]})}
			for i, issuer := range nodes {
				page := fmt.Sprintf("page%d%d", m, i)
				token := s.issue(issuer, "ann", "test:form:run", page)
				s.wantRan(s.post(nodes[1-i], "/form/"+page).as("ann").token(token).form("a=1").send(), "executed", 201)
				kept = append(kept, page+" "+token)
			}
			for _, old := range kept {
				page, token, _ := strings.Cut(old, " ")
				for _, n := range nodes {
					s.want(s.post(n, "/form/"+page).as("ann").token(token).form("a=1").send(), "replayed")
				}
				s.wantRuns("/form/"+page, 1)
			}
		}
		// The control: with the steps left out, tokens are refused.
		signed := s.issue(s.server(NodeOptions{Ring: []int{3}}), "ann", "test:form:run", "hasty")
		s.want(s.post(s.server(NodeOptions{Ring: []int{2, 1}}), "/form/hasty").as("ann").token(signed).form("a=1").send(), "foreign")

		// Another name key finds no record of ours: such a process does not start.
		if n, err := s.tryProcess(NodeOptions{NameKey: "another"}); err == nil {
			s.errorf("a process with another name key started at %s", n.URL())
		} else if !strings.Contains(strings.ToLower(err.Error()), "name key") && !strings.Contains(err.Error(), "NameKey") {
			s.errorf("the process with another name key does not say so: %v", err)
		}
	}},
}
