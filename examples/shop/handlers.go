package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	idem "github.com/go-idem/idem/core"
)

// routes lists the addresses of the shop. A worker, which has no player, only
// takes orders.
func (s *shop) routes() []route {
	list := []route{
		{method: "POST", path: "/orders", operation: orderOperation, serve: s.placeOrder},
	}
	if s.player == nil {
		return list
	}
	return append(list,
		route{method: "GET", path: "/", serve: s.showShop},
		route{method: "GET", path: "/orders/", param: "number", serve: s.showOrder},
		route{method: "GET", path: "/played/", param: "id", serve: s.showPlayed},
		route{method: "GET", path: "/shop.css", serve: s.showStyle},
		route{method: "POST", path: "/trouble/", param: "name", serve: ours(s.playTrouble)},
		route{method: "POST", path: "/new-cart", serve: ours(s.newCart)},
		route{method: "POST", path: "/pace", serve: ours(s.setPace)},
		route{method: "POST", path: "/reset", serve: ours(s.reset)},
		route{method: "POST", path: "/script", serve: ours(s.setScript)},
		route{method: "GET", path: "/lab", serve: s.showLab},
		route{method: "GET", path: "/health", serve: s.showHealth},
		route{method: "GET", path: "/metrics", serve: s.showMetrics},
		route{method: "GET", path: "/tables", serve: s.tellTables},
		route{method: "GET", path: "/js/", param: "file", serve: showScript},
		route{method: "POST", path: tokensPath, serve: ours(s.giveToken)},
		route{method: "POST", path: "/scenes/", param: "name", serve: ours(s.openScene)},
		route{method: "POST", path: "/showings/", param: "id", serve: ours(s.playScene)},
	)
}

// ours refuses a button that stands on another site's page.
func ours(serve func(*request) reply) func(*request) reply {
	return func(r *request) reply {
		if site := r.header("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
			return plain(http.StatusForbidden, "this button belongs on the shop's own page")
		}
		return serve(r)
	}
}

// placeOrder is the guarded action. Nothing in it knows about repeats: the
// guard lets it run once for a form, and it says by its status what became of
// it. 303 keeps the answer, 422 gives the form back for a correction.
func (s *shop) placeOrder(r *request) reply {
	v := visitorFrom(r.header("Cookie"))
	if v == "" {
		return plain(http.StatusUnauthorized, errNoVisitor.Error())
	}
	if err := s.takeTime(r); err != nil {
		return plain(http.StatusServiceUnavailable, "the shop closed while your order waited; nothing was written")
	}
	typed, ok := readForm(r.form)
	if !ok {
		return s.refuse(r, v, typed)
	}
	if s.doom.strike(beforeRow) {
		return nobody
	}
	if s.guarded {
		// The point of no return is written down before it is crossed.
		if err := idem.MarkEffects(r.ctx); err != nil {
			return plain(http.StatusServiceUnavailable, "the order could not be begun safely; nothing was written")
		}
	}
	o := typed.order()
	o.Owner, o.Cart, o.Server, o.At = v.hash(), r.form.Get("cart"), s.server, time.Now()
	number, err := s.table.insert(o)
	if err != nil {
		return plain(http.StatusInternalServerError, "the order table could not be written")
	}
	if s.doom.strike(afterRow) {
		return nobody
	}
	to := "/orders/" + strconv.Itoa(number)
	if r.wantsJSON() {
		// A script is told by the answer itself: fetch would follow a redirect and
		// hear what the next page says, which is no word about this order.
		placed := tell(http.StatusCreated, map[string]any{"number": number, "at": to})
		placed.to = to
		return placed
	}
	return seeOther(to)
}

// nobody is the answer of a server that is dead: it goes nowhere.
var nobody = plain(http.StatusInternalServerError, "dead")

// takeTime is what makes an order slow: the visitor's wish, or a stage. It
// stands for work that was handed to a database already, so it does not stop
// because a client leaves; whether the claim is still ours is asked afterwards,
// by the mark.
func (s *shop) takeTime(r *request) error {
	var hold <-chan struct{}
	if st := s.stages.find(r.header(stageHeader)); st != nil {
		st.entered.happen()
		hold = st.hold
	}
	if hold == nil && r.cookie(paceCookie) == "slow" {
		slow, cancel := context.WithTimeout(context.Background(), slowPace)
		defer cancel()
		hold = slow.Done()
	}
	if hold == nil {
		return nil
	}
	select {
	case <-hold:
		return nil
	case <-s.closed:
		return errors.New("the shop is closing")
	}
}

// refuse shows the form again, with what is wrong and with the same token: the
// refusal had no effect, so the corrected form is the same order's next try.
func (s *shop) refuse(r *request, v visitor, typed orderForm) reply {
	if r.wantsJSON() {
		return tell(http.StatusUnprocessableEntity, typed.wrong())
	}
	page := shown{visitor: v, form: cartForm{cart: r.form.Get("cart")}, state: idem.StateReleased}
	page.form.token, _ = idem.ParseToken(r.form.Get(idem.TokenField))
	return s.render(http.StatusUnprocessableEntity, r, page, view{typed: &typed})
}

func (s *shop) showShop(r *request) reply {
	return s.page(r, view{})
}

// showOrder is where a placed order leads: to the shop's page with the order on
// top. It is a page of its own so that loading it again sends nothing.
func (s *shop) showOrder(r *request) reply {
	number, err := strconv.Atoi(r.param)
	if err != nil {
		return plain(http.StatusNotFound, "there is no such order")
	}
	o, ok, err := s.table.find(number)
	switch {
	case err != nil:
		return plain(http.StatusInternalServerError, "the order table cannot be read")
	case !ok || o.Owner != visitorFrom(r.header("Cookie")).hash():
		return plain(http.StatusNotFound, "you have no order with this number")
	}
	return s.page(r, view{placed: &o})
}

func (s *shop) showPlayed(r *request) reply {
	result, ok := s.player.result(r.param)
	if !ok {
		return seeOther("/")
	}
	return s.page(r, view{played: result})
}

func (s *shop) showStyle(*request) reply {
	return reply{status: http.StatusOK, kind: "text/css; charset=utf-8", body: style}
}

// playTrouble stages a trouble and shows what came of it.
func (s *shop) playTrouble(r *request) reply {
	// Whoever pressed may leave; what was begun is played to its end.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), playLimit)
	defer cancel()
	t, ok := troubleOf(r.param)
	if !ok {
		return plain(http.StatusNotFound, "there is no such trouble")
	}
	return seeOther(fmt.Sprintf("/played/%s#played", s.player.play(ctx, t).ID))
}

// newCart is a person's decision to order something else.
func (s *shop) newCart(*request) reply { return seeOther("/#cart", forget(formCookie)) }

func (s *shop) setPace(r *request) reply {
	if r.form.Get("pace") == "slow" {
		return seeOther("/#cart", shopCookie(paceCookie, "slow"))
	}
	return seeOther("/#cart", forget(paceCookie))
}

// reset empties the table and the log, and gives this visitor a new cart. It
// waits for troubles that are being played.
func (s *shop) reset(*request) reply {
	if err := s.player.reset(); err != nil {
		return plain(http.StatusInternalServerError, "the order table could not be emptied")
	}
	return seeOther("/", forget(formCookie), forget(paceCookie))
}

// page shows the shop with the visitor's form.
func (s *shop) page(r *request, v view) reply {
	form, err := s.formOf(r)
	if err != nil {
		return plain(http.StatusServiceUnavailable, "the shop cannot reach its store of records; try again in a moment")
	}
	return s.render(http.StatusOK, r, form, v)
}
