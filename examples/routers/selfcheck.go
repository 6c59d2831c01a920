package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/go-idem/idem/core/httpflow"
)

// step is one request, and what both routers have to make of it.
type step struct {
	says      string
	shop, end string
	key       string // an Idempotency-Key; "token:tea" is the token that was issued for the shop tea
	user      string
	want      string // status, verdict; two where either is right
	runs      int    // of the handler, from the first step on
}

var steps = []step{
	{"an order", "tea", "", "a", "ann", "201 executed", 1},
	{"the same again", "tea", "", "a", "ann", "201 replayed", 1},
	{"the same key for another shop", "books", "", "a", "ann", "422 conflict", 1},
	{"somebody else with the same key", "tea", "", "a", "eve", "201 executed", 2},
	{"nobody", "tea", "", "a", "", "401 foreign", 2},
	{"a refusal", "tea", "refuse", "b", "ann", "422 released", 3},
	{"a panic, answered by the router's recover", "tea", "panic", "c", "ann", "500 released", 4},
	{"a stream", "tea", "stream", "d", "ann", "200 executed", 5},
	{"the stream again", "tea", "stream", "d", "ann", "409 used", 5},
	{"a token of another shop", "books", "", "token:tea", "ann", "403 foreign or 410 forgotten", 5}, // a guard younger than a second cannot vouch for it,
	{"the token where it belongs, spelt in another way", "%74ea", "", "token:tea", "ann", "201 executed", 6},
	{"and again", "tea", "", "token:tea", "ann", "201 replayed", 6},
	{"no key at all", "tea", "", "", "ann", "201", 7},
}

func (s step) right(answer string) bool {
	return slices.Contains(strings.Split(s.want, " or "), answer)
}

// selfCheck sends the steps to both routers and prints a table.
func selfCheck(out io.Writer) (err error) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "request\tchi\tgin\truns\tas promised")
	answers, runs := map[string][]string{}, map[string][]int{}
	for name, routes := range routers {
		if answers[name], runs[name], err = play(routes); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for i, s := range steps {
		chi, gin, word := answers["chi"][i], answers["gin"][i], "yes"
		if !s.right(chi) || !s.right(gin) || runs["chi"][i] != s.runs || runs["gin"][i] != s.runs {
			word, err = "NO", errors.New("a request was not answered as promised")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d, %d\t%s\n", s.says, chi, gin, runs["chi"][i], runs["gin"][i], word)
	}
	return errors.Join(w.Flush(), err)
}

// play sends the steps to a router, and returns what each was answered and how
// often the handler had run by then.
func play(routes func(*shop) http.Handler) (answers []string, runs []int, err error) {
	s, err := newShop()
	if err != nil {
		return nil, nil, err
	}
	base, stop, err := started(routes(s))
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		http.DefaultClient.CloseIdleConnections() // one in reserve would be waited for
		err = errors.Join(err, stop(), s.guard.Close(context.Background()))
	}()
	token, err := issue(base, "tea")
	if err != nil {
		return nil, nil, err
	}
	for _, step := range steps {
		answer, err := send(base, step, token)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", step.says, err)
		}
		answers, runs = append(answers, answer), append(runs, len(s.runs))
	}
	return answers, runs, nil
}

// issue asks for a token for a shop.
func issue(base, shop string) (string, error) {
	r, err := http.NewRequest(http.MethodPost, base+"/idempotency/tokens", strings.NewReader(`{"operation":"`+operation+`","context":"`+shop+`"}`))
	if err != nil {
		return "", err
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "X-User": {"ann"}, "Sec-Fetch-Site": {"same-origin"}}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var issued struct{ Token string }
	return issued.Token, json.NewDecoder(res.Body).Decode(&issued)
}

func send(base string, s step, token string) (string, error) {
	r, err := http.NewRequest(http.MethodPost, base+"/shops/"+s.shop+"/orders?end="+s.end, nil)
	if err != nil {
		return "", err
	}
	if s.user != "" {
		r.Header.Set("X-User", s.user)
	}
	switch {
	case strings.HasPrefix(s.key, "token:"):
		r.Header.Set("Idempotency-Token", token)
	case s.key != "":
		r.Header.Set("Idempotency-Key", s.key)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return "", err
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", res.StatusCode, res.Header.Get(httpflow.StatusHeader))), nil
}
