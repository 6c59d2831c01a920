package main

import (
	"context"
	"net/http"
	"net/url"
)

// opened is what a page is told when it begins a scene.
type opened struct {
	ID    string `json:"id"` // of the stage: its requests carry it
	Cart  string `json:"cart"`
	Body  string `json:"body"` // the order, as a form
	Title string `json:"title"`
	Story string `json:"story"`
}

// outcome is what came of a scene: what stands in the order table, not what the
// page believes.
type outcome struct {
	OK     bool        `json:"ok"`
	Says   string      `json:"says"` // one sentence
	Why    string      `json:"why"`  // one more, where it came out right
	Orders []orderLine `json:"orders"`
	Wire   []wireLine  `json:"wire"`
}

// orderLine is an order of a scene.
type orderLine struct {
	Number int    `json:"number"`
	Lines  string `json:"lines"`
	Total  string `json:"total"`
	Server string `json:"server"`
}

// openScene begins a scene for the page that asks.
func (s *shop) openScene(r *request) reply {
	sc, ok := sceneOf(r.param)
	if !ok {
		return plain(http.StatusNotFound, "there is no such scene")
	}
	v := visitorFrom(r.header("Cookie"))
	if v == "" {
		return plain(http.StatusUnauthorized, errNoVisitor.Error())
	}
	ctx, cancel := context.WithTimeout(r.ctx, playLimit)
	defer cancel()
	show, cart, err := s.openShowing(ctx, sc, v)
	if err != nil {
		return plain(http.StatusServiceUnavailable, "the scene cannot be set up: "+err.Error())
	}
	form := url.Values{"name": {"Ada Staged"}}
	for _, line := range emptyForm().Lines {
		form.Set(line.Field, line.Count)
	}
	return tell(http.StatusOK, opened{ID: show.stage.id, Cart: cart, Body: form.Encode(), Title: sc.Title, Story: sc.Story})
}

// playScene does what a page that plays a scene asks for: to look at what has
// reached the shop, to let go of what is held, to have another cart, to wait until
// the tokens have expired, or to end it and be told what came of it.
func (s *shop) playScene(r *request) reply {
	show := s.shows.find(r.param)
	if show == nil || show.who != visitorFrom(r.header("Cookie")) {
		return plain(http.StatusNotFound, "there is no such scene, or it is over")
	}
	switch do := r.form.Get("do"); do {
	case "look":
	case "release":
		show.release()
	case "cart":
		return tell(http.StatusOK, opened{Cart: show.addCart()})
	case "outlive":
		ctx, cancel := context.WithTimeout(r.ctx, showLimit)
		defer cancel()
		if err := show.outlive(ctx); err != nil {
			return plain(http.StatusServiceUnavailable, "the tokens did not expire: "+err.Error())
		}
	case "end":
		defer show.end()
		came, err := show.judge()
		if err != nil {
			return plain(http.StatusInternalServerError, "the order table cannot be read")
		}
		return tell(http.StatusOK, came)
	default:
		return plain(http.StatusBadRequest, "a scene can look, release, cart, outlive and end")
	}
	return tell(http.StatusOK, outcome{Wire: show.seen()})
}

// judge compares what came of the scene with what was promised.
func (show *showing) judge() (outcome, error) {
	came := outcome{Wire: show.seen(), Orders: []orderLine{}}
	rows, err := show.shop.table.all()
	if err != nil {
		return came, err
	}
	show.mu.Lock()
	defer show.mu.Unlock()
	owner := show.who.hash()
	for _, row := range rows {
		if _, ours := show.carts[row.Cart]; ours && row.Owner == owner {
			came.Orders = append(came.Orders, orderLine{Number: row.Number, Lines: row.Lines, Total: euros(row.Cents), Server: row.Server})
		}
	}
	sc, n := show.scene, len(came.Orders)
	last := ""
	if len(came.Wire) > 0 {
		last = came.Wire[len(came.Wire)-1].Verdict
	}
	came.OK = n == sc.Orders && last == sc.Last && (sc.Arrivals == 0 || len(came.Wire) == sc.Arrivals)
	came.Says, came.Why = verdictOn(came.OK, n, sc.Orders), sc.Why
	if !came.OK {
		came.Why = "Promised was: the last request that reached the shop is " + sc.Last + "."
	}
	return came, nil
}

// verdictOn says in one sentence how many orders there are, and should be.
func verdictOn(ok bool, have, want int) string {
	switch {
	case ok && have == 1:
		return "One order, as it should be."
	case ok:
		return orders(have) + ", as it should be."
	case have == want:
		return "The orders are right, the answers are not."
	}
	return orders(have) + " in the table. It should be " + orders(want) + "."
}
