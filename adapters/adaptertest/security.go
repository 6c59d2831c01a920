package adaptertest

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// Security: forged tokens, and secrets that must not get out.
var securityStatements = []statement{
	{name: "Statement45_ForgedTokensCostNoStoreCall", play: func(s *scene) {
		n := s.oldCard()
		good := s.issue(n, "ann", "test:form:run", "cart")
		other := s.issue(n, "ann", "test:retake:run", "")
		before := s.calls(n)
		for i, c := range []struct{ who, token, then string }{
			{"ann", flipped(good, 13), "foreign"},              // the first MAC
			{"ann", flipped(good, 8), "foreign"},               // the nonce
			{"ann", flipped(good, 3), "foreign"},               // the time
			{"ann", strings.Repeat("A", len(good)), "foreign"}, // made up
			{"ann", good[:len(good)-1], "malformed"},           // cut
			{"ann", good + "A", "malformed"},                   // grown
			{"ann", "=" + good[1:], "malformed"},               // not of the alphabet
			{"eve", good, "foreign"},                           // another scope
			{"ann", other, "foreign"},                          // another operation
		} {
			path := fmt.Sprintf("/form/forged%d", i)
			s.want(s.post(n, path).as(c.who).token(c.token).form("a=1").send(), c.then)
			s.wantRuns(path, 0)
		}
		if calls := s.calls(n) - before; calls != 0 {
			s.errorf("refusing them took %d store calls", calls)
		}
		// The control: the counter counts, and the token was good.
		first := s.post(n, "/form/cart").as("ann").token(good).form("a=1").send()
		s.wantRan(first, "executed", 201)
		if s.calls(n) == before {
			s.errorf("a run took no store call: the counter does not count")
		}

		// On another page it runs nothing, but a run it had is still answered.
		unused := s.issue(n, "ann", "test:form:run", "cart-2")
		s.want(s.post(n, "/form/elsewhere").as("ann").token(unused).form("a=1").send(), "foreign")
		s.wantRuns("/form/elsewhere", 0)
		damaged := flipped(good, 22) // the second MAC: what a wrong context does to it
		s.wantReplay(first, s.post(n, "/form/cart").as("ann").token(damaged).form("a=1").send())
		s.wantRuns("/form/cart", 1)
	}},

	{name: "Statement46_NoSecretInLogsNamesSpansOrErrors", play: func(s *scene) {
		n := s.server(NodeOptions{})
		token := s.issue(n, "ann", "test:form:run", "cart-of-ann")
		secrets := map[string]string{
			"the key": "key-of-ann-4711", "the token": token, "the body": "body-of-ann-0815",
			"the answer": "answer-for-ann-1234",
		}
		body := `{"card":"` + secrets["the body"] + `"}`
		keyed := func(path string) *request {
			return s.post(n, path).as("ann").key(secrets["the key"]).json(body).do("Body", secrets["the answer"])
		}
		tokened := func(who string) *request {
			return s.post(n, "/form/cart-of-ann").as(who).token(token).json(body)
		}
		type refused struct{ a answer }
		var refusals []refused
		note := func(a answer) answer { refusals = append(refusals, refused{a}); return a }

		s.wantRan(keyed("/do/secret").send(), "executed", 201)
		s.want(keyed("/do/secret").send(), "replayed")
		s.want(note(keyed("/do/secret").json(`{"card":"another"}`).send()), "conflict")
		s.wantRan(tokened("ann").send(), "executed", 201)
		s.want(note(tokened("eve").send()), "foreign")
		s.want(note(s.post(n, "/form/cart-of-ann").as("ann").token(token[:31]).json(body).send()), "malformed")
		s.want(note(s.post(n, "/do/secret").key(`"`+secrets["the key"]).json(body).send()), "malformed")
		keyed("/do/panicked").do("Panic", "no secret").send()
		keyed("/do/failed").do("Error", "no secret").send()
		s.wantRan(keyed("/pay/doubted").do("Status", "500").send(), "uncertain", 500)
		s.want(note(keyed("/pay/doubted").do("Status", "500").send()), "uncertain")
		for _, mode := range []string{"refuse", "lost-reply"} {
			s.fault(n, "claim", mode, -1, "")
			s.want(note(keyed("/do/outage-"+mode).send()), "unavailable")
			s.fault(n, "claim", "", 0, "")
		}
		s.fault(n, "settle", "refuse", 2, "")
		keyed("/do/unsettled").send()

		seen := s.seen(n)
		places := map[string]string{"the log": n.Log(), "a store name": strings.Join(seen.Names, "\n"), "a span": s.spans(n)}
		for i, r := range refusals {
			places[fmt.Sprintf("refusal %d (%s)", i, r.a.verdict())] = string(r.a.body)
		}
		for where, text := range places {
			if text == "" {
				s.errorf("%s is empty: nothing was looked at", where)
			}
			for what, secret := range secrets {
				if strings.Contains(text, secret) {
					s.errorf("%s stands in %s", what, where)
				}
			}
		}
	}},
}

// flipped returns the token with one bit of one of its bytes changed.
func flipped(token string, at int) string {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || at >= len(raw) {
		return ""
	}
	raw[at] ^= 1
	return base64.RawURLEncoding.EncodeToString(raw)
}

// spans are the steps of a server's guard as text.
func (s *scene) spans(n Node) string {
	var told struct{ Text string }
	s.order(n, "/control/spans", struct{}{}, &told)
	return told.Text
}
