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
// none.
func (s *shop) formOf(r *request) (page shown, err error) {
	page.visitor = visitorFrom(r.header("Cookie"))
	if page.visitor == "" {
		page.visitor = visitor(rand.Text())
		page.cookies = append(page.cookies, shopCookie(visitorCookie, string(page.visitor)))
	}
	kept, have := readCartForm(r.cookie(formCookie))
	if have {
		page.form, page.state, err = s.inUse(r.ctx, page.visitor, kept)
	} else {
		page.form, err = s.newForm(r.ctx, page.visitor, newCart())
	}
	if err == nil && page.form != kept {
		page.cookies = append(page.cookies, page.form.cookie())
	}
	return page, err
}

// inUse returns the form that stands for a kept one: itself, or a new one. A
// form that expired is buried before another takes its place: only then is it
// certain that it did not order anything and never will. If it did order
// something it stays, so that pressing again still finds that order.
func (s *shop) inUse(ctx context.Context, v visitor, kept cartForm) (cartForm, idem.State, error) {
	other := func(cart string) (cartForm, idem.State, error) {
		form, err := s.newForm(ctx, v, cart)
		return form, idem.StateAbsent, err
	}
	intent, err := s.guard.Verify(ctx, kept.intent(v))
	if err != nil { // signed by another shop, or for somebody else
		return other(newCart())
	}
	status, err := s.guard.Status(ctx, intent)
	if err != nil {
		return kept, 0, fmt.Errorf("ask what became of the form: %w", err)
	}
	over := status.State == idem.StateBuried || status.State == idem.StateAbsent && kept.expired(s.guard.Now())
	if !over {
		return kept, status.State, nil
	}
	found, verdict, err := s.guard.Discard(ctx, intent)
	switch {
	case err != nil:
		return kept, 0, fmt.Errorf("bury the expired form: %w", err)
	case verdict == idem.Dead:
		return other(kept.cart)
	case verdict != 0: // nobody can tell: the person looks at the orders and begins anew
		return other(newCart())
	}
	return kept, found.State, nil
}

// expired says that a form can no longer begin an order. An order it has begun
// is found for as long as its record is kept.
func (f cartForm) expired(now time.Time) bool { return !now.Before(f.token.ExpiresAt()) }

// newForm makes a form with a new token.
func (s *shop) newForm(ctx context.Context, v visitor, cart string) (cartForm, error) {
	token, err := s.issue(ctx, s.guard, v, cart)
	return cartForm{cart: cart, token: token}, err
}

// issue makes a token for one visitor's cart.
func (s *shop) issue(ctx context.Context, g *idem.Guard, v visitor, cart string) (idem.Token, error) {
	token, err := g.Issue(ctx, idem.TokenRequest{Operation: orderOperation, Scope: string(v), Context: cart})
	if err != nil {
		return idem.Token{}, fmt.Errorf("issue a token for the form: %w", err)
	}
	return token, nil
}

// issueBrief makes a token that expires after a second. A token says its time in
// whole seconds, so one that was made late in a second has less than that to live:
// then the next second is waited for. And one that may be older than the shop's
// records proves nothing, so in the shop's first second it waits too.
func (s *shop) issueBrief(ctx context.Context, v visitor, cart string) (idem.Token, error) {
	for begin := s.opened.Add(time.Second); ; {
		if err := s.until(ctx, begin); err != nil {
			return idem.Token{}, err
		}
		token, err := s.issue(ctx, s.brief, v, cart)
		if err != nil || token.ExpiresAt().Sub(s.guard.Now()) > briefLife*2/3 {
			return token, err
		}
		begin = token.ExpiresAt()
	}
}

// outlive waits until a token has expired, if it does so soon.
func (s *shop) outlive(ctx context.Context, token idem.Token) error {
	if token.ExpiresAt().Sub(s.guard.Now()) > 2*briefLife {
		return errors.New("this form lives too long to be waited for")
	}
	return s.until(ctx, token.ExpiresAt().Add(10*time.Millisecond))
}

// until waits until a time by the guard's clock.
func (s *shop) until(ctx context.Context, t time.Time) error {
	for s.guard.Now().Before(t) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
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
