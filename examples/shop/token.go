package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	idem "github.com/go-idem/idem/core"
)

// givenToken is a token as idem.js expects it from a token endpoint.
type givenToken struct {
	Token     string `json:"token"`
	ExpiresIn int64  `json:"expiresIn"` // whole seconds
	ExpiresAt string `json:"expiresAt"` // RFC 3339, for people
	Retain    int64  `json:"retain"`    // whole seconds
	Degraded  bool   `json:"degraded"`
}

// giveToken is this shop's token endpoint. The library's own would do
// (stdhttp.Endpoints): it issues another token each time it is asked. This one
// gives a cart the one token it has, and another only where that one is buried.
// So one cart is one order, also for a page that has settled and is pressed
// again, and in however many tabs. The endpoints for status and discard are the
// library's.
func (s *shop) giveToken(r *request) reply {
	if strings.Contains(r.header("Sec-Purpose"), "prefetch") {
		return plain(http.StatusForbidden, "the person may never come: ask when the page is shown")
	}
	var want struct{ Operation, Context string }
	if json.Unmarshal(r.body, &want) != nil || want.Operation != orderOperation {
		return plain(http.StatusBadRequest, "this endpoint gives tokens for "+orderOperation)
	}
	v := visitorFrom(r.header("Cookie"))
	if v == "" {
		return plain(http.StatusUnauthorized, errNoVisitor.Error())
	}
	form, state, err := cartForm{}, idem.StateAbsent, error(nil)
	var cookies []*http.Cookie
	if kept, mine := readCartForm(r.cookie(formCookie)); mine && kept.cart == want.Context {
		form, state, err = s.inUse(r.ctx, v, kept)
		if form != kept {
			cookies = append(cookies, form.cookie())
		}
	} else if show := s.shows.ofCart(want.Context); show != nil && show.who == v {
		form, state, err = show.form(r.ctx, want.Context)
	}
	switch {
	case err != nil:
		return plain(http.StatusServiceUnavailable, "the shop cannot reach its store of records; try again in a moment")
	case form.cart != want.Context: // it is over, or somebody else's
		return plain(http.StatusForbidden, "this is not your cart: load the page again")
	}
	answer := tell(http.StatusOK, s.given(form, state))
	answer.cookies = cookies
	return answer
}

// given tells a form's token. A form that has begun an order is good for as long
// as that is remembered: pressing it finds the order.
func (s *shop) given(form cartForm, state idem.State) givenToken {
	left := form.token.ExpiresAt().Sub(s.guard.Now())
	if state != idem.StateAbsent {
		left = retention
	}
	return givenToken{
		Token: form.token.Reveal(), ExpiresIn: max(1, int64(left/time.Second)),
		ExpiresAt: form.token.ExpiresAt().UTC().Format(time.RFC3339),
		Retain:    int64(retention / time.Second), Degraded: s.guard.Degraded(orderOperation),
	}
}
