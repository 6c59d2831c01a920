package bookshop

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// trouble is one thing that goes wrong, played over real connections. play
// returns what came of it in words, and whether that is what was promised.
type trouble struct {
	says string
	play func(*visitor, *Shop) (came string, right bool, err error)
}

var troubles = []trouble{
	{"the form is pressed twice at once", func(v *visitor, s *Shop) (string, bool, error) {
		token, err := v.open()
		if err != nil {
			return "", false, err
		}
		both, err := v.pressTwice(token, "Emma")
		if err != nil {
			return "", false, err
		}
		n := len(s.Orders.Of(v.customer()))
		same := both[0].to == both[1].to && both[0].status == http.StatusSeeOther
		return fmt.Sprintf("%s; the answers lead to %s and %s", count(n, "order"), both[0].to, both[1].to), n == 1 && same, nil
	}},
	{"the form is refused, corrected, and sent again", func(v *visitor, s *Shop) (string, bool, error) {
		token, err := v.open()
		if err != nil {
			return "", false, err
		}
		refused, err := v.press(token, " ")
		if err != nil {
			return "", false, err
		}
		after, err := v.press(tokenIn(refused.body), "Persuasion")
		if err != nil {
			return "", false, err
		}
		n := len(s.Orders.Of(v.customer()))
		kept := tokenIn(refused.body) == token
		return fmt.Sprintf("%d %s, then %d %s; %s", refused.status, refused.verdict, after.status, after.verdict, count(n, "order")),
			n == 1 && kept && refused.verdict == "released" && after.verdict == "executed", nil
	}},
	{"the page's script takes a token of its own and sends it twice", func(v *visitor, s *Shop) (string, bool, error) {
		token, err := v.script()
		if err != nil {
			return "", false, err
		}
		both, err := v.pressTwice(token, "Camilla")
		if err != nil {
			return "", false, err
		}
		n := len(s.Orders.Of(v.customer()))
		return fmt.Sprintf("%d and %d; %s", both[0].status, both[1].status, count(n, "order")), n == 1 && both[0].to == both[1].to, nil
	}},
	{"a program repeats its request, and then changes it", func(v *visitor, s *Shop) (string, bool, error) {
		const alike, other = `{"item":"Emma"}`, `{"item":"Evelina"}`
		return calls(v, s, "acme", 1, []string{"201 executed", "201 replayed", "422 conflict"},
			[]string{"key-of-acme", "a1", alike}, []string{"key-of-acme", "a1", alike}, []string{"key-of-acme", "a1", other})
	}},
	{"another program comes with the same key", func(v *visitor, s *Shop) (string, bool, error) {
		return calls(v, s, "zenith", 1, []string{"201 executed"}, []string{"key-of-zenith", "a1", `{"item":"Emma"}`})
	}},
	{"a program sends no key", func(v *visitor, s *Shop) (string, bool, error) {
		return calls(v, s, "zenith", 1, []string{"400 missing"}, []string{"key-of-zenith", "", `{"item":"Emma"}`})
	}},
	{"the provider calls back, loses patience, and calls again", func(v *visitor, s *Shop) (string, bool, error) {
		token, err := v.open()
		if err != nil {
			return "", false, err
		}
		if _, err := v.press(token, "Cecilia"); err != nil {
			return "", false, err
		}
		order := s.Orders.Of(v.customer())[0]
		heard := s.heard(order.Charge)
		n := s.Orders.parcels(v.customer())
		return fmt.Sprintf("it heard: %s; %s", strings.Join(heard, ", "), count(n, "parcel")),
			n == 1 && len(heard) >= 3 && heard[len(heard)-1] == "replayed", nil
	}},
	{"somebody else calls in the provider's name", func(v *visitor, s *Shop) (string, bool, error) {
		if _, err := v.open(); err != nil {
			return "", false, err
		}
		order := s.Orders.add(Order{Customer: v.customer(), Item: "Evelina", Charge: "ch-forged"})
		a, err := v.do(http.MethodPost, "/provider/events", string(s.provider.event(order.Charge)), map[string]string{"Provider-Signature": "of a stranger"})
		n := s.Orders.parcels(v.customer())
		return fmt.Sprintf("%d%s; %s", a.status, a.verdict, count(n, "parcel")), a.status == http.StatusUnauthorized && n == 0, err
	}},
}

// calls makes calls of the API, each {API key, key, body}, and compares what
// they were answered, and how many orders the tenant has then.
func calls(v *visitor, s *Shop, tenant string, orders int, want []string, each ...[]string) (string, bool, error) {
	var got []string
	for _, c := range each {
		a, err := v.call(c[0], c[1], c[2])
		if err != nil {
			return "", false, err
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%d %s", a.status, a.verdict)))
	}
	n := len(s.Orders.Of(tenant))
	return fmt.Sprintf("%s; %s of %s", strings.Join(got, ", "), count(n, "order"), tenant), n == orders && slices.Equal(got, want), nil
}

func tokenIn(page string) string {
	if field := tokenField.FindStringSubmatch(page); field != nil {
		return field[1]
	}
	return ""
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// heard waits until the provider has delivered for the last time, and returns
// what each delivery heard.
func (s *Shop) heard(charge string) []string {
	deadline := time.After(patient)
	for {
		heard := s.provider.deliveries(charge)
		if n := len(heard); n >= 2 && settled(heard[n-1]) && settled(heard[n-2]) {
			return heard
		}
		select {
		case <-deadline:
			return heard
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// settled tells whether a delivery heard a 2xx: then one more follows, the last.
func settled(heard string) bool {
	return heard == "executed" || heard == "replayed" || heard == "200"
}

// SelfCheck plays every trouble, each by a visitor of his own, and prints a
// table. Its error is an answer that did not come, or a row that is not as
// promised.
func SelfCheck(base string, shop *Shop, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "trouble\tas promised\twhat came of it")
	var broken error
	for _, t := range troubles {
		came, right, err := t.play(newVisitor(base), shop)
		if err != nil {
			return fmt.Errorf("%s: %w", t.says, err)
		}
		word := "yes"
		if !right {
			word, broken = "NO", errBroken
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", t.says, word, came)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return broken
}
