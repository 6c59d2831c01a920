package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	idem "github.com/go-idem/idem/core"
)

// The shop's cookies. None of them is ever written to the log.
const (
	visitorCookie = "shop-visitor" // who this browser is
	formCookie    = "shop-form"    // the cart it is filling, and the form's token
	paceCookie    = "shop-pace"    // "slow" if this visitor wants a slow shop
)

// visitor is who a browser is, and the scope of its tokens: nobody else's token
// works for it. A shop with accounts takes the account here; this one, like a
// sign-up form, gives every browser a name before there is a login.
type visitor string

// visitorFrom reads the visitor out of a Cookie header, "" if there is none.
func visitorFrom(cookieHeader string) visitor {
	v := cookieIn(cookieHeader, visitorCookie)
	if len(v) < 26 || len(v) > 64 {
		return ""
	}
	return visitor(v)
}

// hash is what tables and logs show of a visitor.
func (v visitor) hash() string {
	sum := sha256.Sum256([]byte("shop visitor " + v))
	return hex.EncodeToString(sum[:4])
}

// cartForm is what an order form carries besides what a person types: the cart
// it is about and the token that names this one order. It is kept in a cookie
// until the visitor begins a new cart. So Reload, Back and a second tab all show
// the same form with the same token, and whoever comes back after an answer got
// lost and presses again sends the same order again, not a second one. A form
// that took a new token at every look could not know that.
type cartForm struct {
	cart  string
	token idem.Token
}

func (f cartForm) cookie() *http.Cookie {
	return shopCookie(formCookie, f.cart+"."+f.token.Reveal())
}

// readCartForm reads a form cookie; ok is false if it holds none.
func readCartForm(cookie string) (f cartForm, ok bool) {
	cart, text, ok := strings.Cut(cookie, ".")
	token, err := idem.ParseToken(text)
	if !ok || err != nil || len(cart) != cartChars {
		return cartForm{}, false
	}
	return cartForm{cart: cart, token: token}, true
}

const cartChars = 10

func newCart() string { return strings.ToLower(rand.Text()[:cartChars]) }

// shopCookie is a session cookie that no script reads and no other site sends.
func shopCookie(name, value string) *http.Cookie {
	return &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
}

// forget removes a cookie.
func forget(name string) *http.Cookie {
	c := shopCookie(name, "")
	c.MaxAge = -1
	return c
}

// intent is the order this form stands for, as the guard names it.
func (f cartForm) intent(v visitor) idem.Intent {
	return idem.Intent{Operation: orderOperation, Scope: string(v), Token: f.token, Context: f.cart}
}

// shown is the form as a page shows it.
type shown struct {
	visitor visitor
	form    cartForm
	state   idem.State     // what became of it so far
	cookies []*http.Cookie // that make the browser keep it
}

// formOf returns the form that this browser is filling, or a new one if it has
// none. A form that expired is buried before another takes its place: only then
// is it certain that it did not order anything and never will. If it did order
// something it stays, so that pressing again still finds that order.
func (s *shop) formOf(r *request) (shown, error) {
	page := shown{visitor: visitorFrom(r.header("Cookie"))}
	if page.visitor == "" {
		page.visitor = visitor(rand.Text())
		page.cookies = append(page.cookies, shopCookie(visitorCookie, string(page.visitor)))
	}
	kept, have := readCartForm(r.cookie(formCookie))
	if !have {
		return s.freshForm(r.ctx, page, newCart())
	}
	intent, err := s.guard.Verify(r.ctx, kept.intent(page.visitor))
	if err != nil { // signed by another shop, or for somebody else
		return s.freshForm(r.ctx, page, newCart())
	}
	status, err := s.guard.Status(r.ctx, intent)
	if err != nil {
		return page, fmt.Errorf("ask what became of the form: %w", err)
	}
	if status.State == idem.StateAbsent && kept.expired(s.guard.Now()) {
		_, verdict, err := s.guard.Discard(r.ctx, intent)
		switch {
		case err != nil:
			return page, fmt.Errorf("bury the expired form: %w", err)
		case verdict == idem.Dead:
			return s.freshForm(r.ctx, page, kept.cart)
		case verdict != 0:
			return s.freshForm(r.ctx, page, newCart())
		}
	}
	page.form, page.state = kept, status.State
	return page, nil
}

// expired says that a form can no longer begin an order. An order it has begun
// is found for as long as its record is kept.
func (f cartForm) expired(now time.Time) bool { return !now.Before(f.token.ExpiresAt()) }

// freshForm puts a form with a new token on the page.
func (s *shop) freshForm(ctx context.Context, page shown, cart string) (shown, error) {
	token, err := s.issue(ctx, s.guard, page.visitor, cart)
	if err != nil {
		return page, err
	}
	page.form = cartForm{cart: cart, token: token}
	page.cookies = append(page.cookies, page.form.cookie())
	return page, nil
}

// issue makes a token for one visitor's cart.
func (s *shop) issue(ctx context.Context, g *idem.Guard, v visitor, cart string) (idem.Token, error) {
	token, err := g.Issue(ctx, idem.TokenRequest{Operation: orderOperation, Scope: string(v), Context: cart})
	if err != nil {
		return idem.Token{}, fmt.Errorf("issue a token for the form: %w", err)
	}
	return token, nil
}

// formHash is what logs and pages show of a form's token: the keyed hash that
// also stands in the guard's own logs and in its records' names, never the
// token itself. It is "" where the text is no token.
func (s *shop) formHash(v visitor, token string) string {
	hash := idem.KeyHash(idem.RecordName(s.keys.Name, s.keys.Prefix, orderOperation, string(v), idem.KindToken, token))
	return hash[:min(len(hash), 8)]
}

// errNoVisitor is what the scope function would say; it cannot happen on a
// page of this shop, which gives every browser a name.
var errNoVisitor = errors.New("this browser sent no visitor cookie: open the shop's page first, and allow its cookies")
