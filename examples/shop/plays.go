package main

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	idem "github.com/go-idem/idem/core"
)

// This file stages the troubles of trouble.go, one function each. The moments
// are those of the server: a stage tells when a request has arrived, has entered
// the order handler, or has its answer ready, and pauses are for the eye only.

func playDoubleClick(a *act) error {
	form, err := a.open()
	if err != nil {
		return err
	}
	hold, release := a.hold()
	x, first, err := a.enter(form, hold)
	if err != nil {
		return err
	}
	second := a.stage(nil)
	a.drop("First click. The browser drops its connection while the order is being written.", form, x)
	if x, err = a.send(form, second); err != nil {
		return err
	}
	if err := a.await(&second.arrived, "wait for the second press to arrive"); err != nil {
		return err
	}
	a.pause(humanPause)
	release()
	a.read("Second click, the same form.", form, x)
	return a.await(&first.finished, "wait until the first press is over, though nobody listens to it")
}

func playLostAnswer(a *act) error {
	form, err := a.open()
	if err != nil {
		return err
	}
	st := a.stage(nil)
	x, err := a.send(form, st)
	if err != nil {
		return err
	}
	if err := a.await(&st.finished, "wait until the shop has its answer ready"); err != nil {
		return err
	}
	a.drop("First press. The shop finished; the connection broke before its answer was read.", form, x)
	_, err = a.press("Second press, the same form.", form)
	return err
}

func playSlowShop(a *act) error {
	form, err := a.open()
	if err != nil {
		return err
	}
	hold, release := a.hold()
	x1, _, err := a.enter(form, hold)
	if err != nil {
		return err
	}
	second := a.stage(nil)
	x2, err := a.send(form, second)
	if err != nil {
		return err
	}
	if err := a.await(&second.arrived, "wait for the second press to arrive"); err != nil {
		return err
	}
	a.pause(2 * humanPause)
	release()
	a.read("First press; the shop is slow.", form, x1)
	a.read("Second press while the first still runs.", form, x2)
	return nil
}

// enter sends the form and waits until the order handler has begun, where it is
// held. Told that the store is away it sends the same again, as press does.
func (a *act) enter(form url.Values, hold chan struct{}) (*exchange, *stage, error) {
	for {
		st := a.stage(hold)
		x, err := a.send(form, st)
		if err != nil {
			return nil, nil, err
		}
		select {
		case <-st.entered.done:
			return x, st, nil
		case <-st.finished.done:
			select {
			case <-st.entered.done: // first, and it was not held for long
				return x, st, nil
			default:
			}
		case <-a.ctx.Done():
			x.drop()
			return nil, nil, fmt.Errorf("wait for the first press to reach the order handler: %w", a.ctx.Err())
		}
		got := a.read("A press that did not come to the order handler.", form, x)
		if got.verdict != idem.Unavailable.String() {
			return nil, nil, fmt.Errorf("the first press was answered %d %q before the order handler began", got.status, got.verdict)
		}
		a.result.Attempts[len(a.result.Attempts)-1].Again = true
		a.pause(max(got.wait, 100*time.Millisecond))
	}
}

func playStorm(a *act) error {
	form, err := a.open()
	if err != nil {
		return err
	}
	hold, release := a.hold()
	sent := make([]*exchange, a.result.Trouble.Storm)
	placed := make([]*stage, len(sent))
	for i := range sent {
		placed[i] = a.stage(hold)
		if sent[i], err = a.send(form, placed[i]); err != nil {
			return err
		}
		defer sent[i].drop()
	}
	for _, st := range placed {
		if err := a.await(&st.arrived, "wait for all presses to arrive"); err != nil {
			return err
		}
	}
	release()
	alike := map[string]attempt{}
	for _, x := range sent {
		got, err := x.read()
		if err != nil {
			got.verdict = lostWord.Verdict
		}
		before, sum := alike[got.verdict], a.attempt(form, got)
		sum.Count, sum.Took = before.Count+1, max(before.Took, got.took)
		sum.Did = fmt.Sprintf("%d of the %d presses; the longest time is shown.", sum.Count, len(sent))
		alike[got.verdict] = sum
	}
	for _, verdict := range slices.Sorted(maps.Keys(alike)) {
		a.result.Attempts = append(a.result.Attempts, alike[verdict])
	}
	return nil
}

func playRefused(a *act) error {
	form, err := a.open()
	if err != nil {
		return err
	}
	form.Set("name", "")
	refused, err := a.press("The form without a name.", form)
	if err != nil {
		return err
	}
	// What is corrected is the form on the page that came back.
	if form, err = formIn(refused.body, "Ada Staged"); err != nil && refused.status == 422 {
		return err
	} else if err != nil { // without the guard there may be no such page
		if form, err = a.open(); err != nil {
			return err
		}
	}
	if _, err := a.press("The form that came back, with the name filled in.", form); err != nil {
		return err
	}
	_, err = a.press("The same once more.", form)
	return err
}

func playChangedCart(a *act) error {
	form, err := a.open()
	if err != nil {
		return err
	}
	if _, err := a.press("The form as it was filled in.", form); err != nil {
		return err
	}
	changed := maps.Clone(form)
	changed.Set(products[1].Field, "3")
	_, err = a.press("Back, three more teas in the cart, the same form again.", changed)
	return err
}

func playTwoTabs(a *act) error {
	one, err := a.open()
	if err != nil {
		return err
	}
	two, err := a.open()
	if err != nil {
		return err
	}
	hold, release := a.hold()
	x1, _, err := a.enter(one, hold)
	if err != nil {
		return err
	}
	second := a.stage(nil)
	x2, err := a.send(two, second)
	if err != nil {
		return err
	}
	if err := a.await(&second.arrived, "wait for the second tab to arrive"); err != nil {
		return err
	}
	release()
	a.read("Place order in the first tab.", one, x1)
	a.read("Place order in the second tab, which shows the same cart.", two, x2)
	if _, err := a.browser.visit(a.ctx, "/new-cart", url.Values{}); err != nil {
		return err
	}
	if two, err = a.open(); err != nil {
		return err
	}
	_, err = a.press("A new cart in the second tab.", two)
	return err
}

func playTeaBreak(a *act) error {
	form, err := a.openBrief()
	if err != nil {
		return err
	}
	if err := a.outlive(form); err != nil {
		return err
	}
	if _, err := a.press("The form, after it has expired unused.", form); err != nil {
		return err
	}
	if form, err = a.open(); err != nil {
		return err
	}
	_, err = a.press("The form of the page loaded again.", form)
	return err
}

func playLatePress(a *act) error {
	form, err := a.openBrief()
	if err != nil {
		return err
	}
	if _, err := a.press("The form in time.", form); err != nil {
		return err
	}
	if err := a.outlive(form); err != nil {
		return err
	}
	_, err = a.press("The same form, after it has expired.", form)
	return err
}

// openBrief opens the page, but with a form that expires after a second.
func (a *act) openBrief() (url.Values, error) {
	form, err := a.open()
	if err != nil {
		return nil, err
	}
	token, err := a.shop.issueBrief(a.ctx, a.who, form.Get("cart"))
	form.Set(idem.TokenField, token.Reveal())
	return form, err
}

// outlive waits until a form has expired by the guard's clock.
func (a *act) outlive(form url.Values) error {
	token, err := idem.ParseToken(form.Get(idem.TokenField))
	if err != nil {
		return err
	}
	return a.shop.outlive(a.ctx, token)
}

// playCrash sends the order to a second server that dies at the given moment,
// and then presses again at the first.
func playCrash(at moment) func(*act) error {
	return func(a *act) error {
		form, err := a.open()
		if err != nil {
			return err
		}
		doomed, err := a.spawn(a.ctx, at)
		if err != nil {
			return fmt.Errorf("start a second server: %w", err)
		}
		defer doomed.close()
		x, err := a.browser.send(a.ctx, doomed.url(), "/orders", form, nil)
		if err != nil {
			return err
		}
		a.read("First press, taken by a second server, which dies in the middle of it.", form, x)
		if err := doomed.dead(a.ctx); err != nil {
			return err
		}
		a.shop.log.add(logLine{At: time.Now(), Owner: a.who.hash(), Form: a.shop.formHash(a.who, form.Get(idem.TokenField)), Verdict: killedWord.Verdict})
		_, err = a.press("Second press, the same form, taken by this server.", form)
		return err
	}
}
